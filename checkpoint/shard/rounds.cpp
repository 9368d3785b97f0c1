#include "quire/checkpoint/shard/rounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

// A report is one of these, then what work returned or why it failed.
constexpr char kBusy = 'b';
constexpr char kDone = 'd';
constexpr char kUsage = 'u';
constexpr char kSystem = 's';

void throw_first_failure(const std::vector<std::string>& reports) {
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const std::string& report = reports[rank];
    if (report[0] != kUsage && report[0] != kSystem) continue;
    const auto message = fmt::format("rank {}: {}", rank, report.substr(1));
    if (report[0] == kUsage) throw UsageError(message);
    throw SystemError(message);
  }
}

}  // namespace

std::vector<std::string> Rounds::meet(const std::string& report) {
  ended_ = true;
  auto reports = comm::gather_text(communicator_, report, {.stream = &stream_});
  throw_first_failure(reports);
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
