// Which rank of which world this process is, by the environment of its
// launcher, and how it meets the others.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "quire/comm/communicator.h"
#include "quire/comm/local.h"

namespace quire::comm {

struct Launch {
  enum class By { kNone, kFlags, kTorchrun, kOpenMpi, kSlurm };
  By by = By::kNone;
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  int node = 0;
  // The same for all ranks of one start, different for the next: names the
  // rendezvous.
  std::string run_id;
};

struct LaunchFlags {  // explicit flags beat every environment
  std::optional<int> rank;
  std::optional<int> size;
  std::optional<std::string> run_id;
};

// Reads, in this order: flags; torchrun (RANK, WORLD_SIZE and LOCAL_RANK all
// set); Open MPI; a Slurm step (SLURM_PROCID and SLURM_STEP_ID; a batch script
// without a step is no world); none. The first complete set wins. Numbers are
// checked (rank < size, ...): UsageError naming the variable, what it holds and
// what is expected. RANK and WORLD_SIZE without LOCAL_RANK (a pod's index and
// count), and one of the two alone in no other launcher's world, are refused
// with what to set.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;
Launch detect_launch(const Environment& environment,
                     const LaunchFlags& flags = {});
Environment process_environment();

// Meets the other ranks of a launcher's world on this host: rank 0 makes the
// world and publishes its address in a file store named by the run id; blocks
// at most the time-out. REQUIRES: local_size == size (one host), else
// UsageError.
std::unique_ptr<Communicator> join(const Launch& launch,
                                   const LocalOptions& options);

}  // namespace quire::comm
