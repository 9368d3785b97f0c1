#include "tests/failures/strike.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "quire/core/error.h"
#include "tests/failures/scene.h"

namespace quire::failures {
namespace {

// Guards what a location says against the threads that read files.
std::mutex mutex;

thread_local Striker* of_thread = nullptr;
std::atomic<Striker*> of_process = nullptr;

Striker* here() { return of_thread != nullptr ? of_thread : of_process.load(); }

std::string path_of(int descriptor) {
  char path[512];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t count = readlink(link.c_str(), path, sizeof(path));
  return count > 0 ? std::string(path, static_cast<std::size_t>(count)) : "";
}

bool is_named(const std::string& path, std::string_view part) {
  return path.find(part) != std::string::npos;
}

bool fail(bool fails) {
  if (fails) errno = EIO;
  return fails;
}

bool read_fails(int descriptor) {
  Striker* striker = here();
  return striker != nullptr && fail(striker->at_read(path_of(descriptor)));
}

bool write_fails(int descriptor) {
  Striker* striker = here();
  return striker != nullptr && fail(striker->at_write(path_of(descriptor)));
}

}  // namespace

std::string file_of(const Cell& cell) {
  const bool second =
      cell.phase == Phase::kSave && cell.victim == 0 && !cell.mapped;
  return second ? "manifest.json" : "shard-";
}

void Striker::at_location(const comm::Location& location) {
  {
    const std::lock_guard lock(mutex);
    step_ = location.step;
    phase_ = location.phase;
    layer_ = location.layer;
  }
  if (armed() && is_place_to_strike()) strike();
}

// Phases that are not here strike at a call or at a file.
bool Striker::is_place_to_strike() const {
  const bool in_step = step_ == kStruckStep;
  const bool budget = cell_.harm == Harm::kRunsOutOfBudget;
  switch (cell_.phase) {
    case Phase::kForward:
      return in_step && layer_ == "h.1" && phase_ == "forward";
    case Phase::kBackward:
      return in_step && layer_ == "h.1" && phase_ == "backward";
    case Phase::kReduce:
      return in_step && budget && phase_ == "reduce";
    case Phase::kUpdate:
      return in_step && phase_ == "update";
    case Phase::kEvaluation:
      return step_ == kStruckSave && budget && phase_ == "evaluate";
    case Phase::kData:  // a process is struck while it reads ahead
      return in_step && !cell_.processes && phase_ == "data";
    default:
      return false;
  }
}

// On the call's stream, where the failure of a collective happens.
void Striker::at_call(const comm::Call& call) {
  if (call.purpose == comm::Purpose::kWeights)
    allocator_ = &call.stream->scratch();
  if (!armed() || !is_call_to_strike(call)) return;
  call.stream->submit([this] {
    if (armed()) strike();
  });
}

bool Striker::is_call_to_strike(const comm::Call& call) const {
  using comm::Purpose;
  const bool in_step = step_ == kStruckStep;
  switch (cell_.phase) {
    case Phase::kReduce:
      return in_step && call.purpose == Purpose::kReduce &&
             cell_.harm != Harm::kRunsOutOfBudget;
    case Phase::kCommit:
      return in_step && call.purpose == Purpose::kCommit;
    case Phase::kGeneration:
      return call.unit == "barrier" && phase_ == "generate";
    default:
      return false;
  }
}

bool Striker::is_read_to_strike(const std::string& path) const {
  const std::lock_guard lock(mutex);
  switch (cell_.phase) {
    case Phase::kData:  // reads for the struck step, ahead or when it begins
      return cell_.processes && phase_ != "save" &&
             (step_ == kStruckStep - 1 || step_ == kStruckStep) &&
             is_named(path, "train.bin");
    case Phase::kLoad:
      return phase_ == "load" && is_named(layer_, "shard-");
    case Phase::kEvaluation:
      return phase_ == "evaluate" && step_ == kStruckSave &&
             is_named(path, "validation.bin");
    default:
      return false;
  }
}

bool Striker::at_read(const std::string& path) {
  const bool strikes = armed() && cell_.harm != Harm::kRunsOutOfBudget &&
                       is_read_to_strike(path);
  return strikes && strike_file();
}

// A disk fills up once there was seen to be room on it.
bool Striker::at_write(const std::string& path) {
  const bool strikes =
      armed() && cell_.phase == Phase::kSave && is_named(path, file_of(cell_));
  if (!strikes) return false;
  {
    const std::lock_guard lock(mutex);
    if (step_ != kStruckSave) return false;
  }
  return strike_file();
}

// What throws is the product, over a system call that fails.
bool Striker::strike_file() {
  if (cell_.harm != Harm::kThrows) {
    strike();
    return false;
  }
  page_->struck_ns = now_ns();
  return true;
}

void Striker::strike() {
  page_->struck_ns = now_ns();
  switch (cell_.harm) {
    case Harm::kThrows:
      throw SystemError("it was struck");
    case Harm::kIsKilled:
      kill(getpid(), SIGKILL);
      break;
    case Harm::kEndsEarly:
      if (cell_.processes) _exit(0);
      throw EndsEarly();
    case Harm::kStalls:
      if (cell_.processes) kill(getpid(), SIGSTOP);
      for (;;) pause();
    case Harm::kRunsOutOfBudget:
      return take_budget();
    case Harm::kRunsOutOfDisk:
      return take_disk();
  }
}

// What is left, so that the next allocation is beyond it.
void Striker::take_budget() {
  const std::int64_t left =
      *allocator_->budget_bytes() - allocator_->report().total_current;
  ballast_ = allocator_->charge(left / 64 * 64, Category::kWorkspace);
}

// Fills the disk if the run has one of its own, small one; else this process
// may write no large file any more.
void Striker::take_disk() const {
  const std::string ballast = folder_ + "/../ballast";
  const int file = open(ballast.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file >= 0) {
    const std::string block(4096, 'x');
    while (syscall(SYS_write, file, block.data(), block.size()) > 0) continue;
    close(file);
    return;
  }
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 64, .rlim_max = 64};
  setrlimit(RLIMIT_FSIZE, &limit);
}

FileStrikes::FileStrikes(Striker& striker, bool of_whole_process) {
  of_thread = &striker;
  if (of_whole_process) of_process = &striker;
}

FileStrikes::~FileStrikes() {
  of_thread = nullptr;
  of_process = nullptr;
}

}  // namespace quire::failures

// In the place of the C library's in this program: the calls by which runs read
// and write their files.
extern "C" {

ssize_t pread(int descriptor, void* to, size_t bytes, off_t offset) {
  if (quire::failures::read_fails(descriptor)) return -1;
  return syscall(SYS_pread64, descriptor, to, bytes, offset);
}

ssize_t write(int descriptor, const void* from, size_t bytes) {
  if (quire::failures::write_fails(descriptor)) return -1;
  return syscall(SYS_write, descriptor, from, bytes);
}

ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t offset) {
  if (quire::failures::write_fails(descriptor)) return -1;
  return syscall(SYS_pwrite64, descriptor, from, bytes, offset);
}
}
