#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "quire/comm/detail/meeting_folder.h"
#include "quire/comm/launch.h"
#include "quire/comm/launcher/children.h"
#include "quire/comm/launcher/pipe.h"
#include "quire/comm/launcher/prefixed_output.h"
#include "quire/comm/run.h"
#include "quire/core/file_io.h"

namespace quire::comm {
namespace {

using Clock = std::chrono::steady_clock;

// Tells the parent why a child could not execute its command: closed by a
// successful exec.
class ExecReport {
 public:
  [[noreturn]] void fail_in_child() const {
    const int reason = errno;
    const ssize_t ignored =
        write(pipe_.writer.number(), &reason, sizeof(reason));
    _exit(ignored < 0 ? 126 : 127);
  }

  // In the parent: 0 once the command runs.
  int reason() {
    pipe_.writer.reset();
    int reason = 0;
    ssize_t got = 0;
    do {
      got = read(pipe_.reader.number(), &reason, sizeof(reason));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(reason) ? reason : 0;
  }

 private:
  Pipe pipe_;
};

// What a rank finds in its environment: torchrun's names.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables variables_of(int rank, int ranks, const std::string& run_id) {
  return {{"RANK", std::to_string(rank)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(ranks)},
          {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
          {"GROUP_RANK", "0"},
          {"TORCHELASTIC_RUN_ID", run_id}};
}

// Where its ranks meet; removed for those that died before they could.
class MeetingFolder {
 public:
  explicit MeetingFolder(const Variables& variables) {
    const Environment process = process_environment();
    const auto read =
        [&](const std::string& name) -> std::optional<std::string> {
      for (const auto& [key, value] : variables)
        if (key == name) return value;
      return process(name);
    };
    path_ = meeting_folder(detect_launch(read).run_id);
  }
  ~MeetingFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MeetingFolder(const MeetingFolder&) = delete;
  MeetingFolder& operator=(const MeetingFolder&) = delete;

 private:
  std::filesystem::path path_;
};

class CommandRun {
 public:
  explicit CommandRun(const CommandOptions& options)
      : options_(options),
        run_id_(fmt::format("quire-{}-{}", getpid(),
                            Clock::now().time_since_epoch().count())) {}

  RunResult run() {
    for (int rank = 0; rank < options_.ranks; ++rank) start(rank);
    while (children_.waiting()) wait_once();
    for (PrefixedOutput& output : outputs_) output.finish();
    return result_;
  }

 private:
  void start(int rank) {
    const std::size_t first = outputs_.size();
    if (options_.prefix) {
      const std::string prefix = fmt::format("[rank{}] ", rank);
      outputs_.emplace_back(prefix, STDOUT_FILENO);
      outputs_.emplace_back(prefix, STDERR_FILENO);
    }
    ExecReport report;
    children_.fork_one([&] { be(rank, first, report); });
    for (std::size_t i = first; i < outputs_.size(); ++i) {
      outputs_[i].close_writer();
    }
    if (const int reason = report.reason(); reason != 0) {
      throw UsageError(fmt::format("cannot run {}: {}", options_.command[0],
                                   reason_of(reason)));
    }
  }

  [[noreturn]] void be(int rank, std::size_t first, const ExecReport& report) {
    for (std::size_t i = first; i < outputs_.size(); ++i) {
      outputs_[i].connect_in_child();
    }
    const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    dup2(nothing.number(), STDIN_FILENO);
    set_environment(rank);
    std::vector<char*> words;
    for (const std::string& word : options_.command) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    report.fail_in_child();
  }

  void set_environment(int rank) const {
    for (const auto& [name, value] : variables(rank))
      setenv(name.c_str(), value.c_str(), 1);
  }

  Variables variables(int rank) const {
    return variables_of(rank, options_.ranks, run_id_);
  }

  void wait_once() {
    constexpr auto kSlice = std::chrono::milliseconds(200);
    std::vector<int> data;
    for (const PrefixedOutput& output : outputs_) {
      if (output.descriptor() >= 0) data.push_back(output.descriptor());
    }
    const auto ended = children_.wait(kSlice, data);
    for (PrefixedOutput& output : outputs_) output.pass_on();
    for (const Children::Ended& each : ended) take(each);
  }

  void take(const Children::Ended& ended) {
    const int code = ended.end.shell_code();
    if (code == 0 || result_.failure) return;
    result_.exit_code = code;
    result_.failure = Failure{.rank = ended.rank,
                              .message = ended.end.to_string(),
                              .exit_code = code};
    children_.signal_all(SIGTERM);
    begin_grace();
  }

  void begin_grace() {
    children_.end_within(
        std::chrono::duration<double>(std::max(0.0, options_.grace_s)));
  }

  const CommandOptions& options_;
  const std::string run_id_;
  const MeetingFolder meeting_{variables(0)};  // dies after the children
  std::vector<PrefixedOutput> outputs_;
  Children children_{Children::Signal::kGroup};
  RunResult result_;
};

}  // namespace

RunResult run_command(const CommandOptions& options) {
  if (options.ranks < 1 || options.ranks > 256 || options.command.empty()) {
    throw UsageError(fmt::format(
        "got {} ranks and a command of {} words; expected 1 to 256 ranks and a "
        "program to run",
        options.ranks, options.command.size()));
  }
  return CommandRun(options).run();
}

}  // namespace quire::comm
