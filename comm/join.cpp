#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "quire/comm/detail/meeting_folder.h"
#include "quire/comm/launch.h"
#include "quire/comm/store.h"

namespace quire::comm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kWorld = "world";

// A folder that a dead run of the same name left may hold its address: then
// rank 0's is still to come.
LocalWorld open_world(Store& store, double timeout_s) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(timeout_s));
  for (;;) {
    const std::string address = store.get(kWorld, timeout_s);
    try {
      return LocalWorld::open(address);
    } catch (const SystemError&) {
      if (Clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Rank 0's: removed when all have met, or could not.
struct MeetingPlace {
  explicit MeetingPlace(std::filesystem::path folder)
      : folder(std::move(folder)) {}
  ~MeetingPlace() {
    std::error_code ignored;  // what is left harms nobody
    std::filesystem::remove_all(folder, ignored);
  }
  const std::filesystem::path folder;
};

std::unique_ptr<Communicator> join_first(const Launch& launch,
                                         const LocalOptions& options) {
  const MeetingPlace place(meeting_folder(launch.run_id));
  LocalWorld world(launch.size, options);
  file_store(place.folder)->set(kWorld, world.address());
  return world.join(0);  // all have opened it
}

std::unique_ptr<Communicator> join_next(const Launch& launch,
                                        const LocalOptions& options) {
  const auto store = file_store(meeting_folder(launch.run_id));
  LocalWorld world = open_world(*store, options.timeout_s);
  if (world.size() == launch.size) return world.join(launch.rank);
  throw UsageError(
      fmt::format("rank {} was started for {} ranks, but the run {} has {}",
                  launch.rank, launch.size, launch.run_id, world.size()));
}

}  // namespace

std::unique_ptr<Communicator> join(const Launch& launch,
                                   const LocalOptions& options) {
  if (launch.local_size != launch.size) {
    throw UsageError(fmt::format(
        "got {} ranks, {} of them on this host; expected all on one host: "
        "start as many ranks as the host holds",
        launch.size, launch.local_size));
  }
  if (launch.size > 1 && launch.run_id.empty()) {
    throw UsageError(
        "the launcher gave no run id; expected one that all ranks of this "
        "start share and no other start has: give --run-id");
  }
  if (launch.size == 1) return LocalWorld(1, options).join(0);
  return launch.rank == 0 ? join_first(launch, options)
                          : join_next(launch, options);
}

}  // namespace quire::comm
