// The system calls of this program that change the files of one folder: told
// before and after they are made, made to fail, recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quire::test {

struct DiskCall {
  enum class Kind : std::uint8_t {
    kMakeFolder,
    kCreate,
    kWrite,
    kSync,
    kSyncFolder,
    kRename,
    kExchange,
    kRemove,
  };
  Kind kind;
  std::string path;     // below the folder; "": the folder itself
  std::string to = {};  // of a rename or an exchange
  std::int64_t offset = 0;
  std::string data = {};  // written at the offset
  int rank = 0;
};
// "write step-00000002/manifest.json".
std::string to_string(const DiskCall& call);

// Told by all threads of the process.
class DiskWatcher {
 public:
  virtual ~DiskWatcher() = default;
  // Returns 0, or the errno that the call fails with instead of being made.
  virtual int before(const DiskCall& call) = 0;
  // It was made.
  virtual void after(const DiskCall& call) = 0;
};

// While it lives, the watcher is told of all calls below `folder`.
// What C++ streams write is not seen.
class DiskWatch {
 public:
  DiskWatch(const std::string& folder, DiskWatcher& watcher);
  ~DiskWatch();
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;
};

// The calls of all processes that are forked later and of their threads, in an
// order in which they could have been made.
class DiskLog {
 public:
  DiskLog();
  ~DiskLog();
  DiskLog(const DiskLog&) = delete;
  DiskLog& operator=(const DiskLog&) = delete;

  void add(const DiskCall& call);
  // REQUIRES: nobody adds any more.
  std::vector<DiskCall> calls() const;

 private:
  struct Memory;
  Memory* memory_;
};

// Records what one rank does.
class DiskRecorder final : public DiskWatcher {
 public:
  DiskRecorder(DiskLog& log, int rank) : log_(&log), rank_(rank) {}
  int before(const DiskCall& /*call*/) override { return 0; }
  void after(const DiskCall& call) override {
    DiskCall mine = call;
    mine.rank = rank_;
    log_->add(mine);
  }

 private:
  DiskLog* log_;
  int rank_;
};

}  // namespace quire::test
