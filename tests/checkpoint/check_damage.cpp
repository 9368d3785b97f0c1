// Single bytes of a checkpoint of three ranks, changed in turn over all regions
// of all files. Prints what nobody noticed or named, and "N passed, M failed"
// as its last line.
//
//   check_damage [COUNT [SEED]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "quire/checkpoint/safetensors.h"
#include "quire/checkpoint/verify.h"
#include "tests/checkpoint/checkpoint_language.h"
#include "tests/support/tally.h"

namespace quire::checkpoint {
namespace {

using testing::Model;
namespace fs = std::filesystem;

constexpr int kRanks = 3;
const Model kModel{{{7, 3, 5}, {600, 300}, {1000, 1}, {5000}}};

// Bytes [begin, end) of a file, and what a message says that is about them.
struct Region {
  std::string file;
  std::string name;
  std::int64_t begin, end;
  std::vector<std::string> named;
  // Of a tensor's values: which elements these are.
  std::optional<std::int64_t> first_element = {};
  bool is_read = true;  // by loading
};

struct Flip {
  const Region* region;
  std::int64_t at;  // byte of the file
  char mask;

  std::string to_string() const {
    return region->file + ", " + region->name + ", byte " + std::to_string(at);
  }
};

std::int64_t size_of_file(const std::string& path) {
  return static_cast<std::int64_t>(fs::file_size(path));
}

// ---- the regions of a checkpoint

void add_header(const std::string& path, std::int64_t buffer,
                std::vector<Region>& regions) {
  const std::string file = fs::path(path).filename();
  const std::string text = read_text(path, 1 << 24);
  const auto padding = static_cast<std::int64_t>(
      text.find_last_not_of(' ', static_cast<std::size_t>(buffer) - 1) + 1);
  const std::vector<std::string> named = {file, "header"};
  regions.push_back({file, "length of the header", 0, 8, named});
  regions.push_back({file, "header", 8, padding, named});
  if (padding < buffer)
    regions.push_back({file, "padding of the header", padding, buffer, named});
}

void add_shard(const std::string& path, std::vector<Region>& regions) {
  const SafetensorsFile file(path);
  const std::string name = fs::path(path).filename();
  const std::int64_t buffer = file.bytes() - file.entries().back().end;
  add_header(path, buffer, regions);
  for (const auto& entry : file.entries()) {
    Region region{.file = name,
                  .name = entry.name,
                  .begin = buffer + entry.begin,
                  .end = buffer + entry.end,
                  .named = {name, entry.name}};
    constexpr std::string_view kTiles = "tiles:";
    if (entry.name.starts_with(kTiles))
      region.named = {name, entry.name.substr(kTiles.size()), "hashes"};
    else
      region.first_element =
          std::stoll(file.metadata().at("first:" + entry.name));
    regions.push_back(std::move(region));
  }
}

std::vector<Region> regions_of(const std::string& step) {
  constexpr std::int64_t kEnding = 34;  // of a manifest: its checksum
  std::vector<Region> regions;
  for (const auto& entry : fs::directory_iterator(step)) {
    const std::string file = entry.path().filename();
    const std::int64_t size = size_of_file(entry.path());
    if (file == kManifestName) {
      regions.push_back({file, "text", 0, size - kEnding, {file, "checksum"}});
      regions.push_back(
          {file, "checksum", size - kEnding, size, {file, "checksum"}});
    } else if (file == kConfigName) {
      regions.push_back({.file = file,
                         .name = "text",
                         .begin = 0,
                         .end = size,
                         .named = {file},
                         .is_read = false});
    } else {
      add_shard(entry.path(), regions);
    }
  }
  return regions;
}

// ---- what is said of a changed byte

// Opens and loads everything; the first error.
std::string error_of_loading(const std::string& step) {
  try {
    const auto checkpoint = Checkpoint::open(step);
    for (const auto& parameter : checkpoint.manifest().parameters)
      for (const auto& state : parameter.states)
        checkpoint.load(state.kind, parameter.name, 0,
                        quire::testing::zeros(parameter.shape));
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// "... [256, 512) ..." holds the element.
bool says_range_of(const std::string& message, std::int64_t element) {
  for (auto at = message.find('['); at != std::string::npos;
       at = message.find('[', at + 1)) {
    long long begin = 0, end = 0;
    const bool range =
        std::sscanf(message.c_str() + at, "[%lld, %lld)", &begin, &end) == 2;
    if (range && begin <= element && element < end) return true;
  }
  return false;
}

bool names(const std::string& message, const Flip& flip) {
  const Region& region = *flip.region;
  const bool all = std::ranges::all_of(region.named, [&](const auto& part) {
    return message.find(part) != std::string::npos;
  });
  if (!all || !region.first_element) return all;
  const std::int64_t element =
      *region.first_element + (flip.at - region.begin) / 4;
  return says_range_of(message, element);
}

std::string problem_of_verify(const std::string& step, const Flip& flip) {
  const auto damage = verify(step);
  if (damage.empty()) return "verify did not notice";
  std::string said;
  for (const auto& one : damage) {
    if (names(one.message, flip)) return "";
    said += "\n  " + one.message;
  }
  return "verify did not name it:" + said;
}

std::string problem_of_loading(const std::string& step, const Flip& flip) {
  const std::string error = error_of_loading(step);
  if (!flip.region->is_read)
    return error.empty() ? "" : "loading minded what it does not read";
  if (error.empty()) return "loading did not notice";
  return names(error, flip) ? "" : "loading did not name it:\n  " + error;
}

void change_byte(const std::string& path, const Flip& flip) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(flip.at);
  const char old = static_cast<char>(file.get());
  file.seekp(flip.at);
  file.put(static_cast<char>(old ^ flip.mask));
}

// Regions in turn, so that small ones are not missed.
int run(int count, std::uint64_t seed) {
  const testing::TempFolder folder;
  testing::save_world(folder.path(), kModel, {.step = 3}, kRanks);
  const std::string step = folder / "step-00000003";
  const auto regions = regions_of(step);
  std::fprintf(stderr, "%d bytes of %zu regions, seed %llu\n", count,
               regions.size(), static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  test::Tally tally;
  for (int i = 0; i < count; ++i) {
    const Region& region =
        regions[static_cast<std::size_t>(i) % regions.size()];
    const auto offset = static_cast<std::int64_t>(
        random() % static_cast<std::uint64_t>(region.end - region.begin));
    const Flip flip{.region = &region,
                    .at = region.begin + offset,
                    .mask = static_cast<char>(1 + random() % 255)};
    change_byte(step + "/" + region.file, flip);
    tally.check(flip.to_string(), [&](std::string& why) {
      why = problem_of_verify(step, flip) + problem_of_loading(step, flip);
      return why.empty();
    });
    change_byte(step + "/" + region.file, flip);
  }
  if (!verify(step).empty()) std::printf("FAILED to be whole again\n");
  return tally.finish();
}

}  // namespace
}  // namespace quire::checkpoint

int main(int argc, char** argv) {
  return quire::test::run_check([&] {
    return quire::checkpoint::run(
        argc > 1 ? std::atoi(argv[1]) : 10'000,
        argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  });
}
