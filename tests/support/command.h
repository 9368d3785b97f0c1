// The built quire command, run as people run it. Needs QUIRE_COMMAND, its path.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace quire::testing {

using Words = std::vector<std::string>;

inline std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The command while it runs.
class Started {
 public:
  explicit Started(const Words& words, const Words& environment = {},
                   std::string program = QUIRE_COMMAND)
      : Started(words, environment, std::move(program), 60) {}
  // Whatever still runs after `most_s` seconds is ended.
  Started(const Words& words, const Words& environment, std::string program,
          unsigned most_s) {
    std::fflush(nullptr);  // or the child would write it, too
    pid_ = fork();
    if (pid_ != 0) return;
    alarm(most_s);
    ::signal(SIGINT, SIG_DFL);  // ignored by what a shell has put behind it
    become(words, environment, std::move(program));
  }
  ~Started() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    wait();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }
  bool is_running() const {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
  }
  // Its children, in the order in which they were started.
  std::vector<pid_t> children() const {
    const std::string id = std::to_string(pid_);
    std::istringstream list(
        text_of("/proc/" + id + "/task/" + id + "/children"));
    std::vector<pid_t> children;
    for (pid_t child = 0; list >> child;) children.push_back(child);
    return children;
  }
  // Returns the exit code, or 128 + the signal that killed it.
  int wait() {
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_) {
      pid_ = -1;
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return code_;
  }
  std::string out() const { return text_of(folder_ / "out"); }
  std::string err() const { return text_of(folder_ / "err"); }

 private:
  [[noreturn]] void become(Words words, const Words& environment,
                           std::string program) const {
    const auto redirect = [](const std::string& path, int to) {
      dup2(open(path.c_str(), O_CREAT | O_WRONLY, 0600), to);
    };
    redirect(folder_ / "out", STDOUT_FILENO);
    redirect(folder_ / "err", STDERR_FILENO);
    for (const std::string& entry : environment) {
      const auto equals = entry.find('=');
      setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
    words.insert(words.begin(), std::move(program));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  TempFolder folder_;
  pid_t pid_ = -1;
  int code_ = -1;
};

struct Ended {
  int code;
  std::string out, err;

  // The last line of stdout.
  nlohmann::json json() const {
    const auto end = out.find_last_not_of('\n');
    const auto begin = out.rfind('\n', end);
    return nlohmann::json::parse(
        out.substr(begin == std::string::npos ? 0 : begin + 1));
  }
};

inline Ended quire_command(const Words& words, const Words& environment = {}) {
  Started started(words, environment);
  const int code = started.wait();
  return {.code = code, .out = started.out(), .err = started.err()};
}

// Another program, which starts the command.
inline Ended run_program(const std::string& program, const Words& words) {
  Started started(words, {}, program);
  const int code = started.wait();
  return {.code = code, .out = started.out(), .err = started.err()};
}

// A small run on text of its own: CONFIG trains 6 steps on 4 lanes and saves
// every third.
class RunFolder {
 public:
  RunFolder() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "In the beginning was the word. ";
    write_text(path("text"), text);
    const Ended ended =
        quire_command({"tokenize", path("text"), "--tokenizer", "bytes",
                       "--out", path("tokens"), "--validation", "0.1"});
    if (ended.code != 0) throw std::runtime_error(ended.err);
    write_text(path("config.json"), config());
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  // quire train config.json --out NAME --json, and `more`.
  Ended train(const std::string& name, const Words& more = {}) const {
    return quire_command(train_words(name, more));
  }
  Words train_words(const std::string& name, const Words& more = {}) const {
    Words words = {"train", path("config.json"), "--out", path(name), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

 private:
  std::string config() const {
    const nlohmann::json json = {
        {"steps", 6},
        {"model",
         {{"type", "gpt2"},
          {"layers", 2},
          {"width", 16},
          {"heads", 2},
          {"context", 16},
          {"vocab", 256}}},
        {"data",
         {{"train", path("tokens/train.bin")},
          {"validation", path("tokens/validation.bin")},
          {"sequence", 16}}},
        {"batch", {{"lanes", 4}, {"lane_samples", 1}}},
        {"optimizer", {{"type", "adamw"}, {"lr", 1e-3}}},
        {"checkpoint", {{"every", 3}}}};
    return json.dump();
  }

  TempFolder folder_;
};

}  // namespace quire::testing
