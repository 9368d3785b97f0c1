#include "quire/checkpoint/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "quire/checkpoint/shard/rounds.h"
#include "quire/comm/failure.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"
#include "quire/core/hash.h"

namespace quire::checkpoint {
namespace {

// What a rank tells the others: a letter, then the checkpoint's fingerprint, or
// the file, a line's end and the message.
constexpr char kRead = 'r';
constexpr char kFormat = 'f';
constexpr char kHash = 'h';
constexpr char kUnread = 'u';

// Elements that are read between two looks at the other ranks: even a slow disk
// has them in time. Whole tiles, as parts begin with one.
constexpr std::int64_t kBlock = std::int64_t{1} << 20;

Damage::Kind kind_of(char letter) {
  if (letter == kFormat) return Damage::Kind::kFormat;
  return letter == kHash ? Damage::Kind::kHash : Damage::Kind::kUnread;
}

LoadDamage parse_damage(const std::string& report, int rank) {
  const auto end = report.find('\n');
  return {
      .damage = {.kind = kind_of(report[0]), .message = report.substr(end + 1)},
      .rank = rank,
      .file = report.substr(1, end - 1)};
}

std::optional<LoadDamage> first_damage(
    const std::vector<std::string>& reports) {
  for (std::size_t rank = 0; rank < reports.size(); ++rank)
    if (reports[rank][0] != kRead)
      return parse_damage(reports[rank], static_cast<int>(rank));
  for (std::size_t rank = 1; rank < reports.size(); ++rank)
    if (reports[rank] != reports[0])
      return LoadDamage{
          .damage = {.kind = Damage::Kind::kFormat,
                     .message = "it is another checkpoint than rank 0 finds in "
                                "the same place; give all ranks one folder"},
          .rank = static_cast<int>(rank),
          .file = ""};
  return std::nullopt;
}

// One call of load on one rank.
class Loader {
 public:
  Loader(const std::string& folder, const LoadRequest& request,
         comm::Communicator& communicator, Stream& stream)
      : folder_(folder),
        request_(request),
        communicator_(communicator),
        rounds_(communicator, stream, request.report_every_s) {}

  Loaded run() {
    Loaded result;
    const auto reports = rounds_.run([&] { return read(result.progress); });
    result.damage = first_damage(reports);
    return result;
  }

 private:
  // "" or a report of damage. What does not fit is thrown by others.
  template <class Fn>
  std::string damage_of(const std::string& file, const Fn& fn) const {
    try {
      fn();
      return "";
    } catch (const UsageError& error) {
      return kFormat + file + "\n" + error.what();
    } catch (const FileError& error) {
      return kUnread + file + "\n" + error.what();
    } catch (const SystemError& error) {
      return kHash + file + "\n" + error.what();
    }
  }

  std::string read(Progress& progress) {
    std::optional<Checkpoint> saved;
    std::string damage =
        damage_of("", [&] { saved = Checkpoint::open(folder_); });
    if (!damage.empty()) return damage;
    progress = saved->manifest().progress;
    saved->expect(request_.parameters, request_.states);
    const auto parts = in_order();
    for (const Part* part : parts) announce(*saved, *part);
    for (const Part* part : parts) {
      damage = read(*saved, *part);
      if (!damage.empty()) return damage;
    }
    communicator_.enter("load");
    return kRead + to_hex(saved->manifest().fingerprint());
  }

  // As they lie in the files, so that a disk reads on ahead.
  std::vector<const Part*> in_order() const {
    std::vector<const Part*> parts;
    for (const Part& part : request_.parts) parts.push_back(&part);
    std::ranges::sort(parts, {}, [](const Part* part) {
      return std::tie(part->kind, part->parameter, part->first);
    });
    return parts;
  }

  // What is wrong is found when it is read.
  void announce(const Checkpoint& saved, const Part& part) const {
    damage_of("", [&] {
      saved.will_load(part.kind, part.parameter, part.first, part.data.numel());
    });
  }

  std::string read(const Checkpoint& saved, const Part& part) {
    const std::int64_t count = part.data.numel();
    for (std::int64_t done = 0; done < count; done += kBlock) {
      const Tensor block =
          part.data.range(done, std::min(kBlock, count - done));
      const std::string damage = read_block(saved, {.kind = part.kind,
                                                    .parameter = part.parameter,
                                                    .first = part.first + done,
                                                    .data = block});
      if (!damage.empty()) return damage;
      rounds_.busy();
    }
    return "";
  }

  std::string read_block(const Checkpoint& saved, const Part& block) {
    const std::string file =
        saved.file_of(block.kind, block.parameter, block.first);
    communicator_.enter("load", file);
    return damage_of(file, [&] {
      saved.load(block.kind, block.parameter, block.first, block.data);
    });
  }

  const std::string& folder_;
  const LoadRequest& request_;
  comm::Communicator& communicator_;
  Rounds rounds_;
};

}  // namespace

Loaded load(const std::string& folder, const LoadRequest& request,
            comm::Communicator& communicator, Stream& stream) {
  stream.synchronize();
  communicator.enter("load");
  return Loader(folder, request, communicator, stream).run();
}

void throw_damage(const LoadDamage& damage,
                  const comm::Communicator& communicator) {
  const auto& [kind, message] = damage.damage;
  if (kind == Damage::Kind::kFormat)
    throw UsageError(fmt::format("rank {}: {}", damage.rank, message));
  throw comm::PeerError({.rank = damage.rank,
                         .step = communicator.location().step,
                         .phase = "load",
                         .layer = damage.file,
                         .message = message});
}

}  // namespace quire::checkpoint
