// Whether every lane of a rank runs everywhere, once and in order, and whether
// an op's lanes are those that peers take it to have.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "quire/engine/proof/case.h"

namespace quire::engine {
namespace {

class Lanes {
 public:
  explicit Lanes(ProofCase& proof)
      : proof_(proof), waves_(waves_of(proof.plan().shape)) {
    lay_out();
  }

  void replay() {
    for (int i = 0; i < proof_.count(); ++i) {
      const Op& op = proof_.op(i);
      require_wave(i);
      require_layout(i);
      if (!op.runs_segment()) continue;
      if (is_start(op)) require_idle(i);
      for (int lane = op.lanes.begin; lane < op.lanes.end; ++lane) run(i, lane);
    }
    for (const auto& [lane, progress] : lanes_) {
      if (progress.visits < path_.size())
        proof_.found(fmt::format("lane {} ends before {} of {}", lane,
                                 name_of(path_[progress.visits].kind),
                                 name_of(path_[progress.visits])));
    }
  }

 private:
  struct Visit {
    OpKind kind;
    int segment;
  };
  struct Progress {
    std::size_t visits = 0;
    int wave = -1;
  };

  // What every lane goes through.
  void lay_out() {
    const int last = proof_.structure().last();
    for (int s = 0; s < last; ++s) path_.push_back({OpKind::kForward, s});
    path_.push_back({OpKind::kTurn, last});
    if (!proof_.plan().training) return;
    for (int s = last - 1; s >= proof_.structure().first_trainable; --s)
      path_.push_back({OpKind::kBackward, s});
  }

  std::string name_of(const Visit& visit) const {
    return proof_.segment(visit.segment).name;
  }
  static std::string name_of(OpKind kind) {
    return std::string(engine::name_of(kind));
  }

  // A reduce is named by the wave of the run before it, a retire by that of its
  // reduce.
  void require_wave(int i) {
    const Op& op = proof_.op(i);
    if (op.runs_segment()) ran_in_[op.segment] = op.wave;
    if (op.kind == OpKind::kReduce) {
      require_wave(i, ran_in_[op.segment]);
      reduced_in_[{op.segment, op.unit}] = op.wave;
    }
    if (op.kind == OpKind::kRetire)
      require_wave(i, reduced_in_[{op.segment, op.unit}]);
  }
  void require_wave(int i, int wave) {
    if (proof_.op(i).wave != wave)
      proof_.found(i, fmt::format("is of wave {}; expected {}",
                                  proof_.op(i).wave, wave));
  }

  // Peers work out from the wave which lanes arrive.
  void require_layout(int i) {
    const Op& op = proof_.op(i);
    const bool reduces = op.kind == OpKind::kReduce;
    if (!reduces && !op.runs_segment()) return require_none(i);
    if (op.wave < 0 || op.wave >= waves_.count())
      return proof_.found(
          i, fmt::format("is of wave {} of {}", op.wave, waves_.count()));
    const int rank = proof_.plan().shape.rank;
    const layout::Run own =
        reduces ? reduced_lanes(waves_, proof_.stage(), op.wave, rank)
                : waves_.run(op.wave, rank);
    if (op.lanes != own)
      proof_.found(
          i, fmt::format("has lanes [{}, {}); expected [{}, {})",
                         op.lanes.begin, op.lanes.end, own.begin, own.end));
  }
  void require_none(int i) {
    if (!proof_.op(i).lanes.empty())
      proof_.found(i, "has lanes; expected none");
  }

  bool is_start(const Op& op) const {
    return op.segment == 0 && op.kind != OpKind::kBackward;
  }

  void require_idle(int i) {
    if (running_ > 0)
      proof_.found(i, fmt::format("begins a wave while {} lanes of the one "
                                  "before are on their way",
                                  running_));
  }

  void run(int i, int lane) {
    const Op& op = proof_.op(i);
    Progress& progress = lanes_[lane];
    if (progress.visits == path_.size()) {
      return proof_.found(i, fmt::format("runs lane {}, which is done", lane));
    }
    const Visit& due = path_[progress.visits];
    if (due.kind != op.kind || due.segment != op.segment) {
      return proof_.found(i,
                          fmt::format("runs lane {}, for which {} of {} is "
                                      "due",
                                      lane, name_of(due.kind), name_of(due)));
    }
    if (progress.visits == 0) {
      ++running_;
      progress.wave = op.wave;
    }
    if (progress.wave != op.wave)
      proof_.found(i, fmt::format("runs lane {} of wave {} in wave {}", lane,
                                  progress.wave, op.wave));
    if (++progress.visits == path_.size()) --running_;
  }

  ProofCase& proof_;
  layout::Waves waves_;
  std::vector<Visit> path_;
  std::map<int, Progress> lanes_;  // that have begun
  int running_ = 0;                // of them, not done
  std::map<int, int> ran_in_;      // wave of a segment's latest run
  std::map<std::pair<int, int>, int> reduced_in_;  // and of a use's reduce
};

}  // namespace

void prove_lanes(ProofCase& proof) { Lanes(proof).replay(); }

}  // namespace quire::engine
