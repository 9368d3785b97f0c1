#include "quire/checkpoint/save.h"

#include <fmt/format.h>

#include "quire/checkpoint/json.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/shard/collect.h"
#include "quire/checkpoint/shard/rounds.h"
#include "quire/checkpoint/shard/shard_writer.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"
#include "quire/core/tile.h"

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
  add(fmt::format("{} {} {} {} {} {} {}", at.step, at.updates, at.position,
                  at.seed, request.kernels, request.keep.newest,
                  request.keep.every));
  add(request.config);
  for (const auto& [key, note] : request.notes) {
    add(key);
    add(note);
  }
  return to_hex(hasher.digest());
}

// What the ranks tell one another before anything is written.
struct Prepared {
  std::string digest;
  std::int64_t bytes;     // that this rank will write
  std::string temporary;  // rank 0's

  std::string text() const {
    return digest + to_hex(static_cast<std::uint64_t>(bytes)) + temporary;
  }
  static Prepared parse(std::string_view text) {
    return {.digest = std::string(text.substr(0, kHexDigits)),
            .bytes = static_cast<std::int64_t>(
                parse_hex(text.substr(kHexDigits, kHexDigits))),
            .temporary = std::string(text.substr(2 * kHexDigits))};
  }
};

// No less than a rank's file, and its share of the manifest, will have.
std::int64_t bytes_to_write(const SaveRequest& request) {
  constexpr std::int64_t kOfTensor = 512;  // of a header, and of the manifest
  std::int64_t bytes = 2 * static_cast<std::int64_t>(request.config.size());
  for (const auto& part : request.parts) {
    const auto name = static_cast<std::int64_t>(part.parameter.size());
    bytes += part.data.bytes() + 8 * tiles_of(part.data.numel()) + kOfTensor +
             4 * name;
  }
  return bytes;
}

void require_same(const std::vector<Prepared>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank)
    if (ranks[rank].digest != ranks[0].digest)
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
    begin();
    const auto written = rounds_.run([&] { return write(); });
    const auto published = rounds_.run([&] { return publish(written); });
    if (request_.keep.newest > 0) rounds_.run([&] { return prune_older(); });
    return parse_hex(published[0]);
  }

 private:
  bool first() const { return communicator_.rank() == 0; }

  void begin() {
    std::vector<Prepared> ranks;
    for (const auto& text : rounds_.run([&] { return prepare().text(); }))
      ranks.push_back(Prepared::parse(text));
    require_same(ranks);
    temporary_ = ranks[0].temporary;
    std::int64_t bytes = 0;
    for (const auto& rank : ranks) bytes += rank.bytes;
    rounds_.run([&] {
      if (first()) require_space(folder_, bytes, request_.free);
      return "";
    });
  }

  Prepared prepare() {
    if (request_.progress.step < 0)
      throw UsageError(fmt::format("got step {}; expected at least 0",
                                   request_.progress.step));
    Json::parse(request_.config, "the configuration to save").members();
    check_parts(request_);
    Prepared own{.digest = digest_of(request_),
                 .bytes = bytes_to_write(request_),
                 .temporary = ""};
    if (first()) own.temporary = own_.make(folder_, request_.progress.step);
    return own;
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
    const auto file = write_shard(joined(temporary_, name), request_, observer);
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
    write_text(joined(temporary_, kConfigName), config_text(request_.config),
               observer);
    write_text(joined(temporary_, kManifestName), to_text(manifest), observer);
    sync_folder(temporary_, observer);
    publish_folder(temporary_,
                   joined(folder_, step_name(request_.progress.step)),
                   observer);
    sync_folder(folder_, observer);
    return to_hex(manifest.fingerprint());
  }

  std::string prune_older() {
    if (first() && newest_step(folder_) == request_.progress.step)
      prune(folder_, request_.keep, request_.observer);
    return "";
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
