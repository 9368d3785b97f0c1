#include "quire/engine/stores/parameter_store.h"

#include <fmt/format.h>

#include "quire/core/error.h"
#include "quire/engine/stores/mapped_memory.h"
#include "quire/kernels/elementwise.h"

namespace quire::engine {
namespace {

// The operation index of a parameter's random key.
constexpr std::uint64_t kInitialValues = 0;

void copy_into(const Tensor& from, const Tensor& to, Stream& stream) {
  kernels::cast({.x = from, .y = to}, stream);
}

}  // namespace

ParameterStore::ParameterStore(const Setup& setup)
    : setup_(setup), unit_rows_(setup.structure->units.size()) {
  for (int u = 0; u < static_cast<int>(unit_rows_.size()); ++u) {
    const layout::Unit& unit = setup_.structure->unit(u);
    for (const layout::Row* row : {&unit.trainable, &unit.frozen}) {
      if (row->empty()) continue;
      unit_rows_[static_cast<std::size_t>(u)].push_back(
          static_cast<int>(rows_.size()));
      rows_.push_back(make_row(*row, u));
    }
  }
}

ParameterStore::RowState ParameterStore::make_row(const layout::Row& row,
                                                  int unit) {
  RowState state;
  state.row = &row;
  state.unit = unit;
  state.trainable = &row == &setup_.structure->unit(unit).trainable;
  place(state);
  if (state.trainable) {
    const bool separate = compute() != DType::kF32;
    state.master = separate ? setup_.allocator->zeros(DType::kF32,
                                                      {state.published.numel()},
                                                      Category::kParameters)
                            : state.published;
  }
  if (whole()) state.open = state.home;
  return state;
}

// Where the published values live: what stays is the slice at stage 3, the row
// below. A mapped row holds every rank's slice in one memory, except at stage
// 0, where every rank writes all of it.
void ParameterStore::place(RowState& state) {
  const layout::Row& row = *state.row;
  const int rank = setup_.communicator->rank();
  const Shape kept{whole() ? row.full() : row.slice()};
  if (setup_.communicator->mapped() && !replicated()) {
    state.home = mapped_tensor(*setup_.communicator, compute(), {row.full()});
    state.home_charge = setup_.allocator->charge(
        kept.numel() * size_of(compute()), Category::kParameters);
    state.published = state.home.range(rank * row.slice(), row.slice());
    return;
  }
  const Tensor kept_values =
      setup_.allocator->zeros(compute(), kept, Category::kParameters);
  if (whole()) state.home = kept_values;
  const bool slice_of_row = whole() && !replicated();
  state.published = slice_of_row
                        ? kept_values.range(rank * row.slice(), row.slice())
                        : kept_values;
}

void ParameterStore::initialise() {
  for (const HeldRange& range : held()) fill(range);
  publish();
}

void ParameterStore::fill(const HeldRange& range) {
  const nn::ParameterInfo& info = setup_.model->parameter(range.parameter);
  Stream& stream = *setup_.stream;
  Tensor target = range.master;
  if (!target.defined())
    target = setup_.allocator->allocate(DType::kF32, {range.published.numel()},
                                        Category::kWorkspace);
  if (info.init.kind == nn::Initializer::Kind::kConstant) {
    kernels::fill({.y = target, .value = info.init.a}, stream);
  } else {
    const bool uniform = info.init.kind == nn::Initializer::Kind::kUniform;
    kernels::fill_random(
        {.y = target,
         .kind = uniform ? kernels::FillRandom::Kind::kUniform
                         : kernels::FillRandom::Kind::kNormal,
         .a = info.init.a,
         .b = info.init.b,
         .key = random_key(setup_.options->seed, info.name, kInitialValues),
         .first = range.first},
        stream);
  }
  if (!range.master.defined()) copy_into(target, range.published, stream);
}

void ParameterStore::publish() {
  for (const RowState& state : rows_) {
    if (state.trainable && compute() != DType::kF32)
      copy_into(state.master, state.published, *setup_.stream);
  }
}

void ParameterStore::gather(int unit, comm::Communicator& communicator,
                            const comm::Call& call) {
  for (int index : unit_rows_[static_cast<std::size_t>(unit)]) {
    open(rows_[static_cast<std::size_t>(index)], communicator, call);
  }
}

void ParameterStore::open(RowState& state, comm::Communicator& communicator,
                          const comm::Call& call) {
  if (!whole()) {
    const std::int64_t bytes = state.row->full() * size_of(compute());
    if (state.home.defined()) {
      state.open_charge = setup_.allocator->charge(bytes, Category::kGathered);
      state.open = state.home;
    } else {
      state.open = setup_.allocator->allocate(compute(), {state.row->full()},
                                              Category::kGathered);
      copy_into(state.published,
                state.open.range(communicator.rank() * state.row->slice(),
                                 state.row->slice()),
                *call.stream);
    }
  }
  communicator.all_gather(state.open, call);
}

void ParameterStore::release(int unit) {
  for (int index : unit_rows_[static_cast<std::size_t>(unit)]) {
    RowState& state = rows_[static_cast<std::size_t>(index)];
    state.open = Tensor();
    state.open_charge = Charge();
  }
}

const ParameterStore::RowState& ParameterStore::row_of(int parameter) const {
  const nn::ParameterInfo& info = setup_.model->parameter(parameter);
  const int unit =
      setup_.structure->unit_of[static_cast<std::size_t>(parameter)];
  for (int index : unit_rows_[static_cast<std::size_t>(unit)]) {
    const RowState& state = rows_[static_cast<std::size_t>(index)];
    if (state.trainable == info.trainable) return state;
  }
  throw UsageError(
      fmt::format("parameter {} is in no row of its unit", info.name));
}

Tensor ParameterStore::value(int parameter) const {
  const nn::ParameterInfo& info = setup_.model->parameter(parameter);
  const RowState& state = row_of(parameter);
  if (!state.open.defined()) {
    throw UsageError(fmt::format(
        "parameter {} is read while its unit {} is closed; only a layer that "
        "declares a "
        "parameter may use it",
        info.name, setup_.structure->unit(state.unit).name));
  }
  return state.open.range(state.row->segment(parameter).begin, info.shape);
}

std::int64_t ParameterStore::held_elements(int unit) const {
  const layout::Row& row = setup_.structure->unit(unit).trainable;
  return replicated() ? row.full() : row.slice();
}

std::vector<HeldRange> ParameterStore::held() const {
  return ranges(Which::kHeld);
}

std::vector<HeldRange> ParameterStore::owned() const {
  return ranges(Which::kOwned);
}

std::vector<HeldRange> ParameterStore::ranges(Which which) const {
  std::vector<HeldRange> result;
  for (const RowState& state : rows_) append_ranges(state, which, result);
  return result;
}

void ParameterStore::append_ranges(const RowState& state, Which which,
                                   std::vector<HeldRange>& out) const {
  const bool all = which == Which::kHeld && replicated();
  const int rank = setup_.communicator->rank();
  for (int owner = all ? 0 : rank;
       owner < (all ? state.row->ranks() : rank + 1); ++owner) {
    const std::int64_t base = replicated() ? owner * state.row->slice() : 0;
    for (const layout::Range& range : state.row->ranges(owner)) {
      const std::int64_t offset = base + range.offset;
      HeldRange held{.parameter = range.parameter,
                     .unit = state.unit,
                     .trainable = state.trainable,
                     .first = range.first,
                     .offset = offset,
                     .published = state.published.range(offset, range.count),
                     .master = {}};
      if (state.master.defined()) {
        held.master = state.master.range(offset, range.count);
      } else if (compute() == DType::kF32) {
        held.master = held.published;
      }
      out.push_back(std::move(held));
    }
  }
}

}  // namespace quire::engine
