// Every plan that differs from a proved one in a way that would harm is refused
// by the proof, whatever the model, the stage and the ranks.
#include <gtest/gtest.h>

#include <bitset>
#include <functional>
#include <iterator>
#include <numeric>
#include <ostream>

#include "tests/engine/plan_language.h"

namespace quire::engine {
namespace {

using test::Draw;
using test::move_op;
using test::Plans;
using test::put_in;
using test::take_out;

Op& op_of(Plan& plan, int i) { return plan.ops[static_cast<std::size_t>(i)]; }
int count_of(const Plan& plan) { return static_cast<int>(plan.ops.size()); }

// The first op behind `from` that fits, -1: none.
int next_op(const Plan& plan, int from,
            const std::function<bool(const Op&)>& fits) {
  const auto begin = plan.ops.begin() + from + 1;
  const auto found = std::find_if(begin, plan.ops.end(), fits);
  return found == plan.ops.end() ? -1
                                 : static_cast<int>(found - plan.ops.begin());
}

// The last op in front of `from` that fits, -1: none.
int last_op(const Plan& plan, int from,
            const std::function<bool(const Op&)>& fits) {
  while (--from >= 0) {
    if (fits(plan.ops[static_cast<std::size_t>(from)])) break;
  }
  return from;
}

bool is(const Op& op, OpKind kind) { return op.kind == kind; }
bool makes_gradients(const Op& op) {
  return is(op, OpKind::kTurn) || is(op, OpKind::kBackward);
}
bool same_use(const Op& a, const Op& b) {
  return a.segment == b.segment && a.unit == b.unit;
}
bool has_use(OpKind kind) {
  return kind == OpKind::kReduce || kind == OpKind::kRetire;
}

// Changes op `i`, and says whether it could.
struct Mutation {
  const char* name;
  std::function<bool(const Structure&, Plan&, int i)> change;
};
void PrintTo(const Mutation& mutation, std::ostream* out) {
  *out << mutation.name;
}

bool drop(const Structure&, Plan& plan, int i) {
  take_out(plan, i);
  return true;
}

bool repeat(const Structure&, Plan& plan, int i) {
  put_in(plan, i + 1, op_of(plan, i));
  return true;
}

// Op `i` takes the place of op `target`, which moves towards where `i` was.
bool move_to(Plan& plan, int i, int target) {
  if (target < 0) return false;
  move_op(plan, i, target);
  return true;
}

bool reads(const Structure& structure, const Op& op, int unit) {
  if (!op.runs_segment()) return false;
  const auto& units = structure.segment(op.segment).units;
  return std::ranges::find(units, unit) != units.end();
}

bool gather_late(const Structure& structure, Plan& plan, int i) {
  const Op gather = op_of(plan, i);
  if (!is(gather, OpKind::kGather)) return false;
  return move_to(plan, i, next_op(plan, i, [&](const Op& op) {
                   return reads(structure, op, gather.unit);
                 }));
}

bool release_early(const Structure& structure, Plan& plan, int i) {
  const Op release = op_of(plan, i);
  if (!is(release, OpKind::kRelease)) return false;
  return move_to(plan, i, last_op(plan, i, [&](const Op& op) {
                   return reads(structure, op, release.unit);
                 }));
}

bool reduce_early(const Structure&, Plan& plan, int i) {
  const Op reduce = op_of(plan, i);
  if (!is(reduce, OpKind::kReduce)) return false;
  return move_to(plan, i, last_op(plan, i, [&](const Op& op) {
                   return makes_gradients(op) && op.segment == reduce.segment;
                 }));
}

bool retire_early(const Structure&, Plan& plan, int i) {
  const Op retire = op_of(plan, i);
  if (!is(retire, OpKind::kRetire)) return false;
  return move_to(plan, i, last_op(plan, i, [&](const Op& op) {
                   return is(op, OpKind::kReduce) && same_use(op, retire);
                 }));
}

// Of a segment that trains something.
bool writes_gradients(const Structure& structure, const Op& op) {
  const auto trainable = [&](int u) {
    return !structure.unit(u).trainable.empty();
  };
  return makes_gradients(op) &&
         std::ranges::any_of(structure.segment(op.segment).units, trainable);
}

bool retire_after_the_slot_is_written_again(const Structure& structure,
                                            Plan& plan, int i) {
  const Op retire = op_of(plan, i);
  if (!is(retire, OpKind::kRetire)) return false;
  return move_to(plan, i, next_op(plan, i, [&](const Op& op) {
                   return writes_gradients(structure, op) &&
                          op.slot == retire.slot;
                 }));
}

bool retire_after_commit(const Structure&, Plan& plan, int i) {
  if (!is(op_of(plan, i), OpKind::kRetire)) return false;
  return move_to(plan, i, next_op(plan, i, [](const Op& op) {
                   return is(op, OpKind::kCommit);
                 }));
}

bool commit_early(const Structure&, Plan& plan, int i) {
  if (!is(op_of(plan, i), OpKind::kCommit)) return false;
  return move_to(plan, i, last_op(plan, i, [](const Op& op) {
                   return has_use(op.kind) || makes_gradients(op) ||
                          is(op, OpKind::kGatherGradients);
                 }));
}

bool update_early(const Structure&, Plan& plan, int i) {
  if (!is(op_of(plan, i), OpKind::kUpdate)) return false;
  return move_to(plan, i, last_op(plan, i, [](const Op& op) {
                   return is(op, OpKind::kGatherGradients) ||
                          is(op, OpKind::kCommit);
                 }));
}

// The reduces of what run `i` makes, which read its slot.
std::vector<int> reduces_of(const Plan& plan, int i) {
  std::vector<int> found;
  for (int k = i + 1; k < count_of(plan); ++k) {
    const Op& op = plan.ops[static_cast<std::size_t>(k)];
    if (makes_gradients(op) && op.slot == plan.ops[i].slot) break;
    if (is(op, OpKind::kReduce) && op.slot == plan.ops[i].slot)
      found.push_back(k);
  }
  return found;
}

// Run `i` takes the slot of the run before, whose rows may still be read.
bool slot_early(const Structure&, Plan& plan, int i) {
  if (!makes_gradients(op_of(plan, i)) || reduces_of(plan, i).empty())
    return false;
  const int before = last_op(plan, i, makes_gradients);
  if (before < 0 || op_of(plan, before).slot == op_of(plan, i).slot)
    return false;
  for (int reduce : reduces_of(plan, before)) {
    const int retire = next_op(plan, reduce, [&](const Op& op) {
      return is(op, OpKind::kRetire) && same_use(op, op_of(plan, reduce));
    });
    if (retire < i) continue;
    for (int own : reduces_of(plan, i))
      op_of(plan, own).slot = op_of(plan, before).slot;
    op_of(plan, i).slot = op_of(plan, before).slot;
    return true;
  }
  return false;
}

bool other_slot(const Structure&, Plan& plan, int i) {
  const bool read = makes_gradients(op_of(plan, i))
                        ? !reduces_of(plan, i).empty()
                        : is(op_of(plan, i), OpKind::kReduce);
  if (read) op_of(plan, i).slot ^= 1;
  return read;
}

bool other_unit(const Structure& structure, Plan& plan, int i) {
  const auto count = static_cast<int>(structure.units.size());
  Op& op = op_of(plan, i);
  if (op.unit < 0 || count == 1) return false;
  op.unit = (op.unit + 1) % count;
  return true;
}

bool other_segment(const Structure& structure, Plan& plan, int i) {
  Op& op = op_of(plan, i);
  if (op.segment < 0 || structure.last() == 0) return false;
  op.segment = (op.segment + 1) % (structure.last() + 1);
  return true;
}

bool other_wave(const Structure&, Plan& plan, int i) {
  return op_of(plan, i).wave >= 0 && (++op_of(plan, i).wave, true);
}

bool other_stream(const Structure&, Plan& plan, int i) {
  StreamId& stream = op_of(plan, i).stream;
  stream = static_cast<StreamId>((static_cast<int>(stream) + 1) % 3);
  return true;
}

bool fewer_lanes(const Structure&, Plan& plan, int i) {
  Op& op = op_of(plan, i);
  return !op.lanes.empty() && (--op.lanes.end, true);
}

bool later_lanes(const Structure&, Plan& plan, int i) {
  Op& op = op_of(plan, i);
  return !op.lanes.empty() && (++op.lanes.begin, true);
}

bool lanes_of_a_neighbour(const Structure&, Plan& plan, int i) {
  Op& op = op_of(plan, i);
  if (op.lanes.empty() || op.lanes.end == plan.shape.lanes) return false;
  ++op.lanes.begin;
  ++op.lanes.end;
  return true;
}

bool more_on_the_wire(const Structure&, Plan& plan, int i) {
  op_of(plan, i).wire_bytes += 64;
  return true;
}

bool larger_rows(const Structure&, Plan& plan, int i) {
  op_of(plan, i).collective_bytes += 64;
  return true;
}

bool one_more_call(const Structure&, Plan& plan, int i) {
  ++op_of(plan, i).collectives;
  return true;
}

bool wait_for_itself(const Structure&, Plan& plan, int i) {
  op_of(plan, i).waits.push_back(i);
  return true;
}

// A use's gradients are neither sent nor retired.
bool never_reduce(const Structure&, Plan& plan, int i) {
  const Op reduce = op_of(plan, i);
  if (!is(reduce, OpKind::kReduce)) return false;
  take_out(plan, next_op(plan, i, [&](const Op& op) {
             return is(op, OpKind::kRetire) && same_use(op, reduce);
           }));
  take_out(plan, i);
  return true;
}

// A unit is not opened for its next readers.
bool never_open(const Structure&, Plan& plan, int i) {
  const Op gather = op_of(plan, i);
  if (!is(gather, OpKind::kGather)) return false;
  const int release = next_op(plan, i, [&](const Op& op) {
    return is(op, OpKind::kRelease) && op.unit == gather.unit;
  });
  if (release >= 0) take_out(plan, release);
  take_out(plan, i);
  return true;
}

const Mutation kMutations[] = {{"Drop", drop},
                               {"Repeat", repeat},
                               {"GatherLate", gather_late},
                               {"ReleaseEarly", release_early},
                               {"ReduceEarly", reduce_early},
                               {"RetireEarly", retire_early},
                               {"RetireAfterTheSlotIsWrittenAgain",
                                retire_after_the_slot_is_written_again},
                               {"RetireAfterCommit", retire_after_commit},
                               {"CommitEarly", commit_early},
                               {"UpdateEarly", update_early},
                               {"SlotEarly", slot_early},
                               {"OtherSlot", other_slot},
                               {"OtherUnit", other_unit},
                               {"OtherSegment", other_segment},
                               {"OtherWave", other_wave},
                               {"OtherStream", other_stream},
                               {"FewerLanes", fewer_lanes},
                               {"LaterLanes", later_lanes},
                               {"LanesOfANeighbour", lanes_of_a_neighbour},
                               {"MoreOnTheWire", more_on_the_wire},
                               {"LargerRows", larger_rows},
                               {"OneMoreCall", one_more_call},
                               {"WaitForItself", wait_for_itself},
                               {"NeverReduce", never_reduce},
                               {"NeverOpen", never_open}};

// A proved step or evaluation of a drawn model.
Plans drawn_plans(Draw& draw) {
  const nn::Model model = test::drawn_model(draw);
  return test::plans_of(model, test::drawn_shape(draw), draw.chance(80));
}

::testing::AssertionResult refused(const Plans& bad) {
  if (!bad.findings().empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << bad.to_string();
}

std::vector<int> shuffled(Draw& draw, int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int i = count - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(draw.between(0, i))]);
  return order;
}

class Mutated : public ::testing::TestWithParam<Mutation> {
 protected:
  // False if it changes nothing there.
  static bool mutate(Plans& plans, int rank, int i) {
    return GetParam().change(plans.structure, plans.rank(rank), i);
  }

  // A builder's mistake is in every rank's plan; a rank's is in one.
  static bool expect_refused(const Plans& good, Draw& draw, int i) {
    Plans one = good;
    const int rank = draw.between(0, good.ranks() - 1);
    if (!mutate(one, rank, i)) return false;
    EXPECT_TRUE(refused(one)) << "rank " << rank << " op " << i;
    Plans all = good;
    bool every = true;
    for (int r = 0; r < good.ranks(); ++r) every = mutate(all, r, i) && every;
    EXPECT_TRUE(!every || refused(all)) << "all ranks, op " << i;
    return true;
  }
};

TEST_P(Mutated, PlansAreRefused) {
  constexpr int kSites = 6;  // of every plan
  Draw draw(11);
  int seen = 0;
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const Plans good = drawn_plans(draw);
    int left = kSites;
    for (int site : shuffled(draw, count_of(good.of_rank.front()))) {
      if (expect_refused(good, draw, site) && --left == 0) break;
    }
    seen += kSites - left;
  }
  EXPECT_GT(seen, 10);
}

INSTANTIATE_TEST_SUITE_P(Plans, Mutated, ::testing::ValuesIn(kMutations),
                         [](const auto& info) { return info.param.name; });

// By plain reachability: what has finished before each op starts.
using Before = std::vector<std::bitset<1024>>;
Before order_of(const Plan& plan) {
  Before before(plan.ops.size());
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const auto follow = [&](std::size_t earlier) {
      before[i] |= before[earlier];
      before[i].set(earlier);
    };
    for (int wait : plan.ops[i].waits) follow(static_cast<std::size_t>(wait));
    for (std::size_t k = 0; k < i; ++k) {
      if (plan.ops[k].stream == plan.ops[i].stream) follow(k);
    }
  }
  return before;
}

// Every wait is needed, or implied by others: then nothing is lost with it.
TEST(Mutation, ADroppedWaitIsRefusedUnlessTheOrderStaysAsItWas) {
  Draw draw(3);
  int refused_waits = 0;
  for (int n = 0; n < 40; ++n) {
    const Plans good = drawn_plans(draw);
    const Before order = order_of(good.of_rank.front());
    for (int i = 0; i < count_of(good.of_rank.front()); ++i) {
      for (int wait : good.of_rank.front().ops[i].waits) {
        Plans bad = good;
        std::erase(op_of(bad.rank(0), i).waits, wait);
        const bool harmless = order_of(bad.rank(0)) == order;
        ASSERT_EQ(bad.findings().empty(), harmless)
            << "op " << i << " without its wait for " << wait << "\n"
            << good.to_string();
        refused_waits += harmless ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused_waits, 100);
}

TEST(Mutation, TwoCollectivesThatChangePlacesOnOneRankAreRefused) {
  Draw draw(4);
  int seen = 0;
  while (seen < 200) {
    Plans bad = drawn_plans(draw);
    if (bad.ranks() == 1) continue;
    Plan& plan = bad.rank(draw.between(0, bad.ranks() - 1));
    const auto calls = [](const Op& op) { return op.collectives > 0; };
    const int first =
        next_op(plan, draw.between(-1, count_of(plan) / 2), calls);
    const int second = next_op(plan, first, calls);
    if (second < 0) continue;
    move_op(plan, second, first);
    EXPECT_TRUE(refused(bad)) << "ops " << first << " and " << second;
    ++seen;
  }
}

TEST(Mutation, RanksThatChangeTheirLanesAreRefused) {
  Draw draw(5);
  int seen = 0;
  while (seen < 30) {
    Plans bad = drawn_plans(draw);
    if (bad.ranks() == 1) continue;
    Plan& zero = bad.rank(0);
    Plan& one = bad.rank(1);
    const bool differ = !std::ranges::equal(
        zero.ops, one.ops, {}, [](const Op& op) { return op.lanes.begin; },
        [](const Op& op) { return op.lanes.begin; });
    if (!differ) continue;
    std::swap(zero, one);
    std::swap(zero.shape.rank, one.shape.rank);
    EXPECT_TRUE(refused(bad));
    ++seen;
  }
}

TEST(Mutation, APlanThatClaimsAnotherStageIsRefused) {
  const std::pair<Stage, Stage> claims[] = {
      {Stage::kParameters, Stage::kGradients},
      {Stage::kGradients, Stage::kParameters},
      {Stage::kOptimizer, Stage::kNone},
      {Stage::kNone, Stage::kOptimizer}};
  Draw draw(6);
  for (const auto& [built, claimed] : claims) {
    for (int i = 0; i < 20; ++i) {
      PlanShape shape = test::drawn_shape(draw);
      shape.options.stage = built;
      Plans bad =
          test::plans_of(test::drawn_model(draw), shape, draw.chance(80));
      for (Plan& plan : bad.of_rank) plan.shape.options.stage = claimed;
      EXPECT_TRUE(refused(bad))
          << static_cast<int>(built) << " as " << static_cast<int>(claimed);
    }
  }
}

}  // namespace
}  // namespace quire::engine
