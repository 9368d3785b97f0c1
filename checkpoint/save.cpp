#include "quire/checkpoint/save.h"

#include <fmt/format.h>

#include "quire/checkpoint/json.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/shard/collect.h"
#include "quire/checkpoint/shard/rounds.h"
#include "quire/checkpoint/shard/shard_writer.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"

namespace quire::checkpoint {
namespace {

constexpr std::size_t kHexDigits = 16;

// What all ranks must say alike.
std::string digest_of(const SaveRequest& request) {
  Hasher hasher;
  const auto add = [&](std::string_view text) {
    hasher.add(static_cast<std::uint64_t>(text.size()));
    hasher.add(text);
  };
  for (const auto& parameter : request.parameters) {
    add(parameter.name);
    add(parameter.shape.to_string());
    add(parameter.trainable ? "trainable" : "frozen");
  }
  const Progress& at = request.progress;
  add(fmt::format("{} {} {} {} {}", at.step, at.updates, at.position, at.seed,
                  request.kernels));
  add(request.config);
  for (const auto& [key, note] : request.notes) {
    add(key);
    add(note);
  }
  return to_hex(hasher.digest());
}

void require_same(const std::vector<std::string>& digests) {
  for (std::size_t rank = 1; rank < digests.size(); ++rank)
    if (digests[rank] != digests[0].substr(0, kHexDigits))
      throw UsageError(fmt::format(
          "rank {} saves other parameters, another step, configuration or "
          "notes than rank 0; all ranks call save with the same",
          rank));
}

// Rank 0's; what is left of it goes with it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const FileObserver& observer)
      : observer_(observer) {}
  ~TemporaryFolder() {
    if (path_.empty()) return;
    try {
      remove_folder(path_, observer_);
    } catch (const std::exception&) {
      // The next save removes it.
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& make(const std::string& folder, std::int64_t step) {
    make_folders(folder, observer_);
    remove_leftovers(folder, observer_);
    path_ = make_temporary_folder(folder, step_name(step), observer_);
    return path_;
  }

 private:
  const FileObserver& observer_;
  std::string path_;
};

// One call of save on one rank.
class Saver {
 public:
  Saver(const std::string& folder, const SaveRequest& request,
        comm::Communicator& communicator, Stream& stream)
      : folder_(folder),
        request_(request),
        communicator_(communicator),
        rounds_(communicator, stream, request.report_every_s),
        own_(request.observer) {}

  std::uint64_t run() {
    const auto prepared = rounds_.run([&] { return prepare(); });
    require_same(prepared);
    temporary_ = prepared[0].substr(kHexDigits);
    const auto written = rounds_.run([&] { return write(); });
    const auto published = rounds_.run([&] { return publish(written); });
    return parse_hex(published[0]);
  }

 private:
  bool first() const { return communicator_.rank() == 0; }

  std::string prepare() {
    if (request_.progress.step < 0)
      throw UsageError(fmt::format("got step {}; expected at least 0",
                                   request_.progress.step));
    Json::parse(request_.config, "the configuration to save").members();
    check_parts(request_);
    std::string report = digest_of(request_);
    if (first()) report += own_.make(folder_, request_.progress.step);
    return report;
  }

  // What this rank writes now, named if it dies over it.
  void locate(std::string_view file) {
    communicator_.locate(
        {.step = request_.progress.step, .phase = "save", .layer = file});
  }

  // "BYTES CHECKSUM"
  std::string write() {
    const std::string name = name_of_rank(communicator_.rank());
    locate(name);
    const auto observer = [&](std::string_view operation,
                              const std::string& path) {
      if (request_.observer) request_.observer(operation, path);
      if (operation == "write") rounds_.busy();
    };
    const auto file = write_shard(temporary_, name, request_, observer);
    locate("");
    return fmt::format("{}{}", to_hex(file.header_checksum), file.bytes);
  }

  std::string name_of_rank(int rank) const {
    return shard_name(rank, communicator_.size());
  }

  std::string publish(const std::vector<std::string>& written) {
    if (!first()) return "";
    locate(kManifestName);
    std::vector<ShardFile> files;
    for (const auto& report : written)
      files.push_back({.name = name_of_rank(static_cast<int>(files.size())),
                       .bytes = std::stoll(report.substr(kHexDigits)),
                       .header_checksum = parse_hex(
                           std::string_view(report).substr(0, kHexDigits))});
    const Manifest manifest = collect(temporary_, std::move(files), request_,
                                      [&] { rounds_.busy(); });
    const auto& observer = request_.observer;
    write_text(joined(temporary_, kConfigName), request_.config, observer);
    write_text(joined(temporary_, kManifestName), to_text(manifest), observer);
    sync_folder(temporary_, observer);
    publish_folder(temporary_,
                   joined(folder_, step_name(request_.progress.step)),
                   observer);
    sync_folder(folder_, observer);
    return to_hex(manifest.fingerprint());
  }

  const std::string& folder_;
  const SaveRequest& request_;
  comm::Communicator& communicator_;
  Rounds rounds_;
  TemporaryFolder own_;
  std::string temporary_;
};

}  // namespace

std::uint64_t save(const std::string& folder, const SaveRequest& request,
                   comm::Communicator& communicator, Stream& stream) {
  stream.synchronize();
  communicator.locate({.step = request.progress.step, .phase = "save"});
  return Saver(folder, request, communicator, stream).run();
}

}  // namespace quire::checkpoint
