#include "quire/comm/launcher/rank_main.h"

#include <algorithm>

namespace quire::comm {
namespace {

// A rank of a world, joined or not yet.
class Rank {
 public:
  Rank(LocalWorld& world, int rank) : world_(world), rank_(rank) {}

  int run(const RankMain& main) {
    try {
      communicator_ = world_.join(rank_);
      return main(*communicator_);
    } catch (const PeerError& error) {
      return fail(error.failure());  // known by now
    } catch (const UsageError& error) {
      return fail(error.what(), kUsageExit);
    } catch (const std::exception& error) {
      return fail(error.what(), kSystemExit);
    } catch (...) {
      return fail("an exception of an unknown type", kSystemExit);
    }
  }

 private:
  int fail(const std::string& message, int exit_code) {
    if (communicator_ != nullptr)
      return fail(failure_at(*communicator_, message, exit_code));
    return fail({.rank = rank_, .message = message, .exit_code = exit_code});
  }

  // The communicator still lives: with its death the rank leaves.
  int fail(const Failure& failure) {
    if (communicator_ != nullptr) {
      communicator_->abort(failure);
    } else {
      world_.report_death(failure.rank, failure.message, failure.exit_code);
    }
    return failure.exit_code;
  }

  LocalWorld& world_;
  int rank_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace

int run_rank(LocalWorld& world, int rank, const RankMain& main) {
  return Rank(world, rank).run(main);
}

RunResult result_of(const LocalWorld& world, const std::vector<int>& codes) {
  RunResult result;
  result.failure = world.failure();
  if (result.failure) {
    result.exit_code = result.failure->exit_code;
    return result;
  }
  const auto bad = std::find_if(codes.begin(), codes.end(),
                                [](int code) { return code != 0; });
  if (bad != codes.end()) result.exit_code = *bad;
  return result;
}

}  // namespace quire::comm
