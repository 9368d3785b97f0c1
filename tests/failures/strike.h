// Makes a failure happen to one rank of a real run, where the run itself says
// that it is: at a location, at a collective, at a read or a write of a file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "quire/comm/communicator.h"
#include "quire/core/allocator.h"
#include "tests/failures/cell.h"
#include "tests/support/wrapped_communicator.h"

namespace quire::failures {

// The steps in which it happens, as locations count them.
inline constexpr std::int64_t kStruckStep = 3;
inline constexpr std::int64_t kSavedStep = 2;  // the checkpoint before
inline constexpr std::int64_t kStruckSave = 4;

// Shared by all processes of a cell.
struct Page {
  std::atomic<std::int64_t> struck_ns;  // steady clock; 0: not yet
  int exit_code;
  bool failed;
  int rank;
  std::int64_t step;
  std::uint64_t fingerprint;
  char message[2048];  // with its place
};

// The file whose reading or writing strikes: rank 0 writes two.
std::string file_of(const Cell& cell);

// Thrown by a thread that ends early; no std::exception, so nobody stops it.
struct EndsEarly {};

// The failure of one rank, waiting to happen.
class Striker {
 public:
  // `folder`: the run's, which a full disk is filled through.
  Striker(const Cell& cell, Page& page, std::string folder)
      : cell_(cell), page_(&page), folder_(std::move(folder)) {}

  void at_location(const comm::Location& location);
  void at_call(const comm::Call& call);
  // Of the file at `path`; true: it fails.
  bool at_read(const std::string& path);
  bool at_write(const std::string& path);

 private:
  bool armed() const { return page_->struck_ns == 0; }
  // Where the run is far enough.
  bool is_place_to_strike() const;
  bool is_call_to_strike(const comm::Call& call) const;
  bool is_read_to_strike(const std::string& path) const;
  void strike();
  bool strike_file();
  void take_budget();
  void take_disk() const;

  Cell cell_;
  Page* page_;
  std::string folder_;
  std::string phase_, layer_;
  std::int64_t step_ = -1;
  Allocator* allocator_ = nullptr;  // the engine's
  Charge ballast_;
};

// Tells a striker of calls and places.
class StrikingCommunicator final : public test::WrappedCommunicator {
 public:
  // What is wrapped is `inner`, borrowed or owned.
  template <class Inner>
  StrikingCommunicator(Inner&& inner, Striker& striker)
      : WrappedCommunicator(std::forward<Inner>(inner)), striker_(&striker) {}

  void all_gather(const Tensor& row, const comm::Call& call) override {
    striker_->at_call(call);
    inner().all_gather(row, call);
  }
  void all_to_all(std::span<const Tensor> rows,
                  std::span<const comm::Arrival> arrivals,
                  const comm::Call& call) override {
    striker_->at_call(call);
    inner().all_to_all(rows, arrivals, call);
  }
  void barrier(const comm::Call& call) override {
    striker_->at_call(call);
    inner().barrier(call);
  }
  std::unique_ptr<comm::Communicator> split(std::string_view channel) override {
    return std::make_unique<StrikingCommunicator>(inner().split(channel),
                                                  *striker_);
  }
  void locate(const comm::Location& location) override {
    inner().locate(location);
    striker_->at_location(location);
  }

 private:
  Striker* striker_;
};

// While it lives, reads and writes of this thread are told to the striker;
// those of all threads if the rank is a process.
class FileStrikes {
 public:
  FileStrikes(Striker& striker, bool of_process);
  ~FileStrikes();
  FileStrikes(const FileStrikes&) = delete;
  FileStrikes& operator=(const FileStrikes&) = delete;
};

}  // namespace quire::failures
