#include "quire/comm/launch.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace quire::comm {
namespace {

struct Range {
  int low, high;  // both allowed
};

constexpr int kMostRanks = 1 << 20;

// Reads one launcher's variables.
class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  bool has(const char* name) const { return environment_(name).has_value(); }
  std::string text(const char* name) const {
    return environment_(name).value_or("");
  }

  int number(const char* name, const Range& range) const {
    const std::string value = text(name);
    int number = 0;
    const char* end = value.data() + value.size();
    const auto result = std::from_chars(value.data(), end, number);
    if (result.ec == std::errc() && result.ptr == end && number >= range.low &&
        number <= range.high) {
      return number;
    }
    throw UsageError(fmt::format(
        "the environment's {} is \"{}\"; expected a number from {} to {}: set "
        "all of the launcher's variables or none, or give --rank and "
        "--world-size",
        name, value, range.low, range.high));
  }
  int number_or(const char* name, const Range& range, int otherwise) const {
    return has(name) ? number(name, range) : otherwise;
  }

 private:
  const Environment& environment_;
};

// The names of one launcher's variables.
struct Names {
  const char *rank, *size, *local_rank, *local_size, *node;
};

Launch read(const Reader& reader, const Names& names) {
  Launch launch;
  launch.size = reader.number(names.size, {1, kMostRanks});
  launch.rank = reader.number(names.rank, {0, launch.size - 1});
  launch.local_size =
      reader.number_or(names.local_size, {1, launch.size}, launch.size);
  launch.local_rank = reader.number_or(names.local_rank,
                                       {0, launch.local_size - 1}, launch.rank);
  const bool one_host = launch.local_size == launch.size;
  if (one_host && launch.local_rank != launch.rank) {
    throw UsageError(fmt::format(
        "the environment's {} is {} and its {} is {} in a world of one host; "
        "expected the same number: set all of the launcher's variables or "
        "none, or give --rank and --world-size",
        names.rank, launch.rank, names.local_rank, launch.local_rank));
  }
  if (names.node != nullptr) {
    launch.node = reader.number_or(names.node, {0, launch.size - 1}, 0);
  }
  return launch;
}

// Empty unless one of the variables is set.
std::string run_id(std::string_view launcher, const Reader& reader,
                   std::initializer_list<const char*> names) {
  std::string id;
  for (const char* name : names) {
    if (reader.has(name)) id.append(1, '-').append(reader.text(name));
  }
  return id.empty() ? id : std::string(launcher) + id;
}

std::optional<Launch> by_torchrun(const Reader& reader) {
  const bool rank = reader.has("RANK"), size = reader.has("WORLD_SIZE"),
             local = reader.has("LOCAL_RANK");
  if (rank && size && !local) {
    throw UsageError(fmt::format(
        "the environment has RANK={} and WORLD_SIZE={} but no LOCAL_RANK: a "
        "pod's index and number, not a process's; expected all three: start "
        "the processes with torchrun or quire run, or give --rank and "
        "--world-size",
        reader.text("RANK"), reader.text("WORLD_SIZE")));
  }
  if (!rank || !size || !local) return std::nullopt;
  Launch launch = read(reader, {.rank = "RANK",
                                .size = "WORLD_SIZE",
                                .local_rank = "LOCAL_RANK",
                                .local_size = "LOCAL_WORLD_SIZE",
                                .node = "GROUP_RANK"});
  launch.by = Launch::By::kTorchrun;
  launch.run_id = run_id(
      "torchrun", reader,
      {"TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"});
  return launch;
}

std::optional<Launch> by_open_mpi(const Reader& reader) {
  if (!reader.has("OMPI_COMM_WORLD_RANK") ||
      !reader.has("OMPI_COMM_WORLD_SIZE")) {
    return std::nullopt;
  }
  // Its NODE_RANK is no node's number.
  Launch launch = read(reader, {.rank = "OMPI_COMM_WORLD_RANK",
                                .size = "OMPI_COMM_WORLD_SIZE",
                                .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                                .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
                                .node = nullptr});
  launch.by = Launch::By::kOpenMpi;
  launch.run_id =
      run_id("openmpi", reader, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"});
  return launch;
}

// A number from 1 on at the front of `text`, which is taken off it; else 0.
int take_number(std::string_view& text) {
  int number = 0;
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || number < 1) return 0;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The tasks on a node by Slurm's "2(x3),1".
int tasks_on_node(const std::string& tasks_per_node, int node) {
  std::string_view left = tasks_per_node;
  std::int64_t first = 0;  // node of the entry
  do {
    const int tasks = take_number(left);
    const bool repeated = take(left, "(x");
    const int nodes = repeated ? take_number(left) : 1;
    if (tasks == 0 || nodes == 0 || (repeated && !take(left, ")"))) break;
    if (node - first < nodes) return tasks;
    first += nodes;
  } while (take(left, ","));
  throw UsageError(fmt::format(
      "the environment's SLURM_STEP_TASKS_PER_NODE is \"{}\"; expected the "
      "tasks of node {} in a form such as 2(x3),1",
      tasks_per_node, node));
}

// The batch script and other special steps have numbers from here on; they are
// one process, whatever the job's size.
bool is_step(const std::string& id) {
  constexpr std::uint32_t kSpecial = 0xfffffff0;
  std::uint32_t number = 0;
  const char* end = id.data() + id.size();
  const auto result = std::from_chars(id.data(), end, number);
  return result.ec == std::errc() && result.ptr == end && number < kSpecial;
}

const char* slurm_size(const Reader& reader) {
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
    if (reader.has(name)) return name;
  }
  return "SLURM_NPROCS";
}

// A batch script has SLURM_PROCID too, but is no step.
std::optional<Launch> by_slurm(const Reader& reader) {
  if (!reader.has("SLURM_PROCID") || !is_step(reader.text("SLURM_STEP_ID"))) {
    return std::nullopt;
  }
  Launch launch;
  launch.by = Launch::By::kSlurm;
  launch.size = reader.number(slurm_size(reader), {1, kMostRanks});
  launch.rank = reader.number("SLURM_PROCID", {0, launch.size - 1});
  launch.node = reader.number_or("SLURM_NODEID", {0, launch.size - 1}, 0);
  launch.local_size = launch.size;
  if (reader.has("SLURM_STEP_TASKS_PER_NODE")) {
    launch.local_size =
        tasks_on_node(reader.text("SLURM_STEP_TASKS_PER_NODE"), launch.node);
  }
  launch.local_rank =
      reader.number_or("SLURM_LOCALID", {0, launch.local_size - 1},
                       launch.rank % launch.local_size);
  launch.run_id =
      run_id("slurm", reader,
             {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
  return launch;
}

std::optional<Launch> by_flags(const LaunchFlags& flags) {
  if (!flags.rank && !flags.size) return std::nullopt;
  if (!flags.rank || !flags.size || *flags.size < 1 ||
      *flags.size > kMostRanks || *flags.rank < 0 ||
      *flags.rank >= *flags.size) {
    const auto shown = [](const std::optional<int>& flag) {
      return flag ? std::to_string(*flag) : "nothing";
    };
    throw UsageError(fmt::format(
        "got --rank {} and --world-size {}; expected both, with 0 <= rank < "
        "world size",
        shown(flags.rank), shown(flags.size)));
  }
  Launch launch;
  launch.by = Launch::By::kFlags;
  launch.rank = launch.local_rank = *flags.rank;
  launch.size = launch.local_size = *flags.size;
  return launch;
}

// Half of a torchrun's names: as many worlds of one rank would write into one
// folder.
Launch by_nobody(const Reader& reader) {
  const bool rank = reader.has("RANK");
  if (rank == reader.has("WORLD_SIZE")) return {};
  const char* set = rank ? "RANK" : "WORLD_SIZE";
  throw UsageError(fmt::format(
      "the environment has {}={} but no {}; expected both and LOCAL_RANK, or "
      "none: unset it for a world of one rank, or start the processes with "
      "torchrun or quire run",
      set, reader.text(set), rank ? "WORLD_SIZE" : "RANK"));
}

}  // namespace

Launch detect_launch(const Environment& environment, const LaunchFlags& flags) {
  const Reader reader(environment);
  std::optional<Launch> launch = by_flags(flags);
  if (!launch) launch = by_torchrun(reader);
  if (!launch) launch = by_open_mpi(reader);
  if (!launch) launch = by_slurm(reader);
  if (!launch) launch = by_nobody(reader);
  if (flags.run_id) launch->run_id = *flags.run_id;
  return *launch;
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == 0) return std::nullopt;
    return value;
  };
}

}  // namespace quire::comm
