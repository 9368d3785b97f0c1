// Saving and loading beside plain files of the same bytes on the same disk, all
// measured in turn in one run:
//
//   bench/checkpoint [124m|small] [rounds] [FOLDER]
//
// GPT-2 with the states of AdamW on two ranks (processes, one thread each,
// stage 3); FOLDER is on the disk to measure (default: that of temporary files)
// and is left as it was.
//   save   checkpoint::save: from the call to the renamed folder
//   load   checkpoint::load of all that the rank holds
//   write  each rank writes a file of its shard's length from the same memory,
//          8 MiB at a time, and syncs it
//   read   each rank reads that file, 8 MiB at a time
//   checksums  of all tiles, in a save: what they add to a copy of the parts
//          when each MiB is hashed before it is copied, as a save does before
//          it writes it; in a load: of bytes that are in the cache, as they
//          have just been read
//   copy   of the rank's parts to memory that was touched before
//   pause  BackgroundSave::start: what a save that goes on beside the steps
//          takes from them
// Nothing that is read is in the page cache: all was synced and dropped from it
// (fadvise). A time is from one meeting of the ranks to the next. What is
// printed are medians over the rounds; a ratio is the median of the rounds'
// own, so that a disk whose speed drifts is compared with itself.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/trainee.h"
#include "quire/checkpoint/background_save.h"
#include "quire/checkpoint/load.h"
#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/save.h"
#include "quire/checkpoint/tile_hash.h"
#include "quire/comm/run.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"
#include "quire/engine/exchange.h"

namespace {

using namespace quire;
using bench::ModelCase;
using bench::Trainee;
namespace fs = std::filesystem;

constexpr int kRanks = 2;
constexpr double kTimeoutS = 600.0;  // of a disk that is slow
constexpr std::size_t kHashedBlock = std::size_t{1} << 20;  // as load does
constexpr std::size_t kBlock = std::size_t{8} << 20;

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.raw(), static_cast<std::size_t>(tensor.bytes())};
}

Descriptor opened(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!file.is_open()) throw_system_error(path, "opened", errno);
  return file;
}

// Seconds of a round, of the ranks together.
struct Round {
  double save, load, write, read, hash, hash_read, copy, pause;
};

// One rank's part in the rounds.
class Bench {
 public:
  Bench(const ModelCase& c, comm::Communicator& world, std::string folder)
      : world_(world),
        exchange_(world, sizeof(double)),
        stream_(Stream::Kind::kInline, "bench", pool_, scratch_),
        trainee_(c, {.samples = c.samples / kRanks, .threads = 1}, world),
        model_(models::gpt2(c.model)),
        folder_(std::move(folder)) {
    for (const auto& info : model_.parameters()) {
      request_.parameters.push_back({info.name, info.shape, info.trainable});
      wanted_.parameters.push_back({info.name, info.shape, {}});
    }
    wanted_.states = checkpoint::Checkpoint::States::kNamed;
    for (const auto& range : trainee_.engine().owned_state())
      request_.parts.push_back(part_of(range));
    for (const auto& range : trainee_.engine().held_state())
      wanted_.parts.push_back(part_of(range));
    request_.progress.step = 1;
    background_.emplace(
        checkpoint::BackgroundSave::Setup{.parts = request_.parts,
                                          .communicator = savers_.get(),
                                          .allocator = &scratch_});
  }

  // Each pair as the other: a disk that slows down after some gigabytes does so
  // for both.
  void disk_round(Round& round) {
    round.save = seconds([&] { save(); });
    drop_from_cache(shard());
    round.load = seconds([&] { load(); });
    clear();
    round.write = seconds([&] { write_plain(); });
    drop_from_cache(plain());
    round.read = seconds([&] { read_plain(); });
    clear();
  }
  void memory_round(Round& round) {
    round.hash_read = seconds([&] { hash_block(); });
    round.copy = seconds([&] { copy(); });
    round.hash = seconds([&] { copy_hashed(); }) - round.copy;
    round.pause = seconds([&] { start(); });
    background_->wait();
    clear();
  }

  // Of all ranks.
  double bytes() {
    double mine = 0.0;
    for (const auto& part : request_.parts)
      mine += static_cast<double>(part.data.bytes());
    double sum = 0.0;
    for (const double one : exchange_.all(mine, call())) sum += one;
    return sum;
  }

 private:
  comm::Call call() { return {.stream = &stream_}; }
  checkpoint::Part part_of(const engine::StateRange& range) const {
    return {.kind = range.kind,
            .parameter = model_.parameter(range.parameter).name,
            .first = range.first,
            .data = range.data};
  }
  std::string step() const { return folder_ + "/" + checkpoint::step_name(1); }
  std::string plain() const {
    return folder_ + "/plain-" + std::to_string(world_.rank());
  }
  std::string shard() const {
    const auto files = checkpoint::read_manifest(step()).files;
    return checkpoint::joined(
        step(), files.at(static_cast<std::size_t>(world_.rank())).name);
  }

  double seconds(const std::function<void()>& work) {
    world_.barrier(call());
    const double begin = bench::seconds_now();
    work();
    world_.barrier(call());
    return bench::seconds_now() - begin;
  }

  void clear() {
    world_.barrier(call());
    if (world_.rank() == 0) fs::remove_all(step());
    fs::remove(plain());
    world_.barrier(call());
  }

  void save() { checkpoint::save(folder_, request_, world_, stream_); }

  void start() { background_->start(folder_, request_, pool_); }

  // As many bytes as the shard's file will have, or nearly.
  void write_plain() {
    const Descriptor file = opened(plain(), O_WRONLY | O_CREAT | O_EXCL);
    const std::int64_t all = bytes_of_shard();
    std::int64_t at = 0;
    while (at < all)
      for (const auto& part : request_.parts)
        at = write_blocks(file, at,
                          bytes_of(part.data).first(static_cast<std::size_t>(
                              std::min(all - at, part.data.bytes()))));
    if (fsync(file.number()) != 0) throw_system_error(plain(), "synced", errno);
  }
  std::int64_t bytes_of_shard() const {
    std::int64_t bytes = 0;
    for (const auto& part : request_.parts)
      bytes += part.data.bytes() + 8 * tiles_of(part.data.numel());
    return bytes;
  }
  std::int64_t write_blocks(const Descriptor& file, std::int64_t at,
                            std::span<const std::byte> bytes) const {
    for (std::size_t done = 0; done < bytes.size(); done += kBlock) {
      const auto block =
          bytes.subspan(done, std::min(kBlock, bytes.size() - done));
      write_at(file, plain(), at, block);
      at += static_cast<std::int64_t>(block.size());
    }
    return at;
  }

  void drop_from_cache(const std::string& path) const {
    const Descriptor file = opened(path, O_RDONLY);
    if (posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED) != 0)
      throw SystemError(path + " stays in the page cache");
  }

  void load() {
    const auto loaded = checkpoint::load(step(), wanted_, world_, stream_);
    if (loaded.damage) checkpoint::throw_damage(*loaded.damage, world_);
  }

  void read_plain() {
    const Descriptor file = opened(plain(), O_RDONLY);
    block_.resize(kBlock);
    std::int64_t at = 0;
    while (const std::size_t count = read_at(file, plain(), at, block_))
      at += static_cast<std::int64_t>(count);
  }

  // As many bytes as the parts have, in cache.
  void hash_block() {
    block_.resize(kHashedBlock);
    for (std::int64_t done = 0; done < bytes_of_shard();
         done += static_cast<std::int64_t>(kHashedBlock))
      hashes_ += checkpoint::tile_hashes(block_, sizeof(float)).size();
  }

  void copy() {
    std::size_t at = 0;
    for (const auto& part : request_.parts) {
      const auto bytes = bytes_of(part.data);
      if (copies_.size() < at + bytes.size()) copies_.resize(at + bytes.size());
      std::memcpy(copies_.data() + at, bytes.data(), bytes.size());
      at += bytes.size();
    }
  }

  // Into the same memory. REQUIRES: copy() was called.
  void copy_hashed() {
    std::size_t at = 0;
    for (const auto& part : request_.parts) {
      const auto bytes = bytes_of(part.data);
      for (std::size_t done = 0; done < bytes.size(); done += kHashedBlock) {
        const auto block =
            bytes.subspan(done, std::min(kHashedBlock, bytes.size() - done));
        hashes_ +=
            checkpoint::tile_hashes(block, size_of(part.data.dtype())).size();
        std::memcpy(copies_.data() + at, block.data(), block.size());
        at += block.size();
      }
    }
  }

  comm::Communicator& world_;
  engine::Exchange exchange_;
  Allocator scratch_{{}};
  ThreadPool pool_{1};
  Stream stream_;
  Trainee trainee_;
  nn::Model model_;
  std::string folder_;
  checkpoint::SaveRequest request_;
  checkpoint::LoadRequest wanted_;
  std::unique_ptr<comm::Communicator> savers_ = world_.split("savers");
  std::optional<checkpoint::BackgroundSave> background_;
  std::vector<std::byte> block_, copies_;
  std::size_t hashes_ = 0;
};

template <class Fn>
double median_of(const std::vector<Round>& rounds, Fn fn) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(fn(round));
  return bench::median(values);
}

// Ratios of times, in the name of what is divided by what.
void print_ratio(const char* name, const std::vector<Round>& rounds,
                 double Round::*over, double Round::*under) {
  const auto ratio = [&](const Round& r) { return r.*over / r.*under; };
  const auto [least, most] = std::ranges::minmax(rounds, {}, ratio);
  std::printf("%-28s %6.3f (%.3f to %.3f)\n", name, median_of(rounds, ratio),
              ratio(least), ratio(most));
}

void report(const ModelCase& c, double bytes,
            const std::vector<Round>& rounds) {
  std::printf("%s, %.2f GB of %d ranks, medians of %zu rounds\n", c.title,
              bytes * 1e-9, kRanks, rounds.size());
  const auto line = [&](const char* name, double Round::*time) {
    const double seconds =
        median_of(rounds, [&](const Round& r) { return r.*time; });
    std::printf("%-28s %6.3f s  %6.2f GB/s\n", name, seconds,
                bytes * 1e-9 / seconds);
  };
  line("save", &Round::save);
  line("write of plain files", &Round::write);
  line("load", &Round::load);
  line("read of plain files", &Round::read);
  line("checksums in a save", &Round::hash);
  line("checksums in a load", &Round::hash_read);
  line("copy", &Round::copy);
  line("pause of a background save", &Round::pause);
  print_ratio("speed of save / write", rounds, &Round::write, &Round::save);
  print_ratio("speed of load / read", rounds, &Round::read, &Round::load);
  print_ratio("checksums / save", rounds, &Round::hash, &Round::save);
  print_ratio("checksums / load", rounds, &Round::hash_read, &Round::load);
  print_ratio("pause / copy", rounds, &Round::pause, &Round::copy);
}

int measure(const ModelCase& c, int count, const std::string& folder,
            comm::Communicator& world) {
  Bench bench(c, world, folder);
  Round first{};  // takes memory
  bench.disk_round(first);
  bench.memory_round(first);
  std::vector<Round> rounds(static_cast<std::size_t>(count));
  for (Round& round : rounds) bench.disk_round(round);
  for (Round& round : rounds) bench.memory_round(round);
  const double bytes = bench.bytes();
  if (world.rank() == 0) report(c, bytes, rounds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const ModelCase* c = bench::model_case(argc > 1 ? argv[1] : "124m");
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const fs::path disk =
      argc > 3 ? fs::path(argv[3]) : fs::temp_directory_path();
  if (c == nullptr || rounds < 1) {
    std::fprintf(stderr, "usage: checkpoint [124m|small] [rounds] [FOLDER]\n");
    return 2;
  }
  const std::string folder = disk / ("quire-bench-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const comm::RunResult result = comm::run_processes(
      kRanks, {.timeout_s = kTimeoutS}, [&](comm::Communicator& world) {
        return measure(*c, rounds, folder, world);
      });
  fs::remove_all(folder);
  if (result.failure)
    std::fprintf(stderr, "error: %s\n", result.failure->to_string().c_str());
  return result.exit_code;
}
