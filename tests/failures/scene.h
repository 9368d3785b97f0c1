// Scenes: each is played in a process of its own, several at once, and finds
// out what went wrong and what was left behind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_folder.h"

namespace quire::failures {

// What a scene got wrong, told to the process that plays the scenes. Memory
// that all processes of the scene see.
struct Findings {
  char text[2048];

  void add(const std::string& what);
};

// Where a scene is played: TMPDIR is in its folder, and whatever of its
// processes outlives its parent becomes a child of this process.
class Place {
 public:
  explicit Place(Findings& findings);

  std::string path(const std::string& name) const { return folder_ / name; }
  void problem(const std::string& what) const { findings_->add(what); }
  void expect(bool holds, const std::string& what) const {
    if (!holds) problem(what);
  }
  // The child's exit code, or 128 + the signal that killed it; it is killed
  // itself if it does not end.
  int end_of(int child) const;
  // No process, no mapping, no temporary file is left.
  void expect_nothing_left() const;
  // Nothing in `folder` has a name that begins with a dot.
  void expect_nothing_hidden(const std::string& folder) const;

 private:
  Findings* findings_;
  testing::TempFolder folder_;
};

// Into text of a fixed size, which processes share; cut if it is longer.
template <std::size_t kBytes>
void store(char (&to)[kBytes], std::string_view text) {
  const std::size_t count = text.copy(to, kBytes - 1);
  to[count] = 0;
}

struct Scene {
  std::string name;
  bool waits = false;  // rather than computes
  std::function<void(const Place&)> play;
};

// Leaves those whose names hold all the words.
void keep(std::vector<Scene>& scenes, const std::vector<std::string>& words);

// Plays `jobs` scenes at once, and of those that wait four times as many; tells
// of each what it got wrong, "" if nothing, in any order.
using Tell =
    std::function<void(const std::string& scene, const std::string& problem)>;
void play(const std::vector<Scene>& scenes, int jobs, const Tell& tell);

// The same with a line for every scene that got something wrong, and "N passed,
// M failed" as the last; returns a program's exit code.
int play_and_count(const std::vector<Scene>& scenes, int jobs);

// An object in memory that child processes share.
void* shared_memory(std::size_t bytes);
template <class T>
class Shared {
 public:
  Shared() : value_(new (shared_memory(sizeof(T))) T{}) {}
  ~Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};
void free_shared(void* memory, std::size_t bytes);
template <class T>
Shared<T>::~Shared() {
  free_shared(value_, sizeof(T));
}

std::int64_t now_ns();  // steady clock
// Seconds since; of 0, very many.
double seconds_since(std::int64_t ns);

}  // namespace quire::failures
