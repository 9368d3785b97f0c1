#include "tests/failures/scene.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace quire::failures {
namespace {

namespace fs = std::filesystem;

constexpr int kLongestScene = 120;  // s, of one child of it

class Players {
 public:
  explicit Players(const Tell& tell) : tell_(tell) {}

  void play(std::deque<const Scene*> scenes, int jobs) {
    while (!scenes.empty() || !playing_.empty()) {
      while (!scenes.empty() && static_cast<int>(playing_.size()) < jobs) {
        begin(*scenes.front());
        scenes.pop_front();
      }
      end_one();
    }
  }

 private:
  struct Playing {
    const Scene* scene;
    std::unique_ptr<Shared<Findings>> findings;
  };

  void begin(const Scene& scene) {
    auto findings = std::make_unique<Shared<Findings>>();
    std::fflush(nullptr);  // or the child would write it, too
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("cannot start a process");
    if (pid == 0) be(scene, **findings);
    playing_[pid] = {&scene, std::move(findings)};
  }

  [[noreturn]] static void be(const Scene& scene, Findings& findings) {
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    try {
      scene.play(Place(findings));
    } catch (const std::exception& error) {
      findings.add(error.what());
    }
    _exit(0);
  }

  void end_one() {
    int status = 0;
    const auto found = playing_.find(waitpid(-1, &status, 0));
    if (found == playing_.end()) return;
    Findings& findings = **found->second.findings;
    if (status != 0) findings.add("the process of the scene died");
    tell_(found->second.scene->name, findings.text);
    playing_.erase(found);
  }

  const Tell& tell_;
  std::map<pid_t, Playing> playing_;
};

}  // namespace

void Findings::add(const std::string& what) {
  store(text, text[0] == 0 ? what : std::string(text) + "; " + what);
}

Place::Place(Findings& findings) : findings_(&findings) {
  fs::create_directory(path("tmp"));
  setenv("TMPDIR", path("tmp").c_str(), 1);
}

int Place::end_of(int child) const {
  const std::int64_t begin = now_ns();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (seconds_since(begin) > kLongestScene) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      throw std::runtime_error("it did not end");
    }
    usleep(2000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Place::expect_nothing_left() const {
  expect(waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD,
         "a child is left");
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == getpid() || getsid(pid) != getsid(0)) continue;
    problem("process " + std::to_string(pid) + " is left");
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    expect(line.find("memfd:quire") == std::string::npos, "a mapping is left");
  for (const auto& entry : fs::directory_iterator(path("tmp"))) {
    const std::string name = entry.path().filename();
    const bool ours = name.starts_with("quire-test-");  // of the scene itself
    expect(ours, "left behind: " + entry.path().string());
  }
}

void Place::expect_nothing_hidden(const std::string& folder) const {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    expect(!entry.path().filename().string().starts_with('.'),
           "left behind: " + entry.path().string());
}

void keep(std::vector<Scene>& scenes, const std::vector<std::string>& words) {
  std::erase_if(scenes, [&](const Scene& scene) {
    return std::ranges::any_of(words, [&](const std::string& word) {
      return scene.name.find(word) == std::string::npos;
    });
  });
}

void play(const std::vector<Scene>& scenes, int jobs, const Tell& tell) {
  constexpr int kWaiting = 4;
  std::deque<const Scene*> waiting, others;
  for (const Scene& scene : scenes)
    (scene.waits ? waiting : others).push_back(&scene);
  Players players(tell);
  players.play(std::move(waiting), kWaiting * jobs);
  players.play(std::move(others), jobs);
}

int play_and_count(const std::vector<Scene>& scenes, int jobs) {
  std::size_t passed = 0, failed = 0;
  play(scenes, jobs, [&](const std::string& scene, const std::string& problem) {
    ++(problem.empty() ? passed : failed);
    if (!problem.empty())
      std::printf("FAILED %s: %s\n", scene.c_str(), problem.c_str());
    if ((passed + failed) % 40 == 0)
      std::fprintf(stderr, "%zu of %zu done, %zu failed\n", passed + failed,
                   scenes.size(), failed);
  });
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

void* shared_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  return memory;
}

void free_shared(void* memory, std::size_t bytes) { munmap(memory, bytes); }

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

double seconds_since(std::int64_t ns) {
  return 1e-9 * static_cast<double>(now_ns() - ns);
}

}  // namespace quire::failures
