#include "quire/checkpoint/shard/rounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/comm/failure.h"
#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

// A report is one of these, then what work returned or why it failed.
constexpr char kBusy = 'b';
constexpr char kDone = 'd';
constexpr char kUsage = 'u';
constexpr char kSystem = 's';

// Every rank names the one that failed, whoever is heard first.
[[noreturn]] void throw_system(const comm::Communicator& communicator, int rank,
                               const std::string& message) {
  const comm::Location place = communicator.location();
  throw comm::PeerError({.rank = rank,
                         .step = place.step,
                         .phase = std::string(place.phase),
                         .message = message,
                         .exit_code = 3});
}

void throw_first_failure(const comm::Communicator& communicator,
                         const std::vector<std::string>& reports) {
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const std::string& report = reports[rank];
    if (report[0] != kUsage && report[0] != kSystem) continue;
    const std::string message = report.substr(1);
    if (report[0] == kUsage)
      throw UsageError(fmt::format("rank {}: {}", rank, message));
    throw_system(communicator, static_cast<int>(rank), message);
  }
}

}  // namespace

std::vector<std::string> Rounds::meet(const std::string& report) {
  ended_ = true;
  auto reports = comm::gather_text(communicator_, report, {.stream = &stream_});
  throw_first_failure(communicator_, reports);
  ended_ = false;
  last_ = Clock::now();
  return reports;
}

void Rounds::busy() {
  const std::chrono::duration<double> since = Clock::now() - last_;
  if (since.count() >= every_s_) meet({kBusy});
}

std::string Rounds::outcome_of(const std::function<std::string()>& work) {
  try {
    return kDone + work();
  } catch (const UsageError& error) {
    if (ended_) throw;
    return kUsage + std::string(error.what());
  } catch (const std::exception& error) {
    if (ended_) throw;
    return kSystem + std::string(error.what());
  }
}

std::vector<std::string> Rounds::run(const std::function<std::string()>& work) {
  const std::string outcome = outcome_of(work);
  for (;;) {
    auto reports = meet(outcome);
    const bool all = std::all_of(reports.begin(), reports.end(),
                                 [](const auto& r) { return r[0] == kDone; });
    if (!all) continue;
    for (auto& report : reports) report.erase(0, 1);
    return reports;
  }
}

}  // namespace quire::checkpoint
