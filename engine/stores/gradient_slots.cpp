#include "quire/engine/stores/gradient_slots.h"

#include <algorithm>

#include "quire/engine/stores/mapped_memory.h"
#include "quire/layout/lanes.h"

namespace quire::engine {
namespace {

// The most nodes that are on the stack at once while `lanes` of a run are
// pushed one by one, the newest included.
int deepest(const layout::Run& run, int lanes) {
  std::size_t deepest = 0;
  for (int end = run.begin; end < run.end; ++end) {
    deepest = std::max(deepest,
                       layout::whole_nodes({run.begin, end}, lanes).size() + 1);
  }
  return static_cast<int>(deepest);
}

int deepest_of(const PlanShape& shape) {
  const layout::Waves waves = waves_of(shape);
  int result = 1;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int wave = 0; wave < waves.count(); ++wave) {
      const layout::Run kept =
          reduced_lanes(waves, shape.options.stage, wave, rank);
      result = std::max(result, deepest(kept, shape.lanes));
    }
  }
  return result;
}

}  // namespace

GradientSlots::GradientSlots(const Setup& setup)
    : setup_(setup), depth_(deepest_of(setup.shape)) {
  lay_out();
  const engine::Options& options = setup_.shape.options;
  rank_bytes_ =
      slot_bytes_ *
      (reduces_every_wave(options.stage) ? gradient_slots(options) : 1);
}

void GradientSlots::allocate() {
  if (!setup_.communicator->mapped()) return;
  memory_ = mapped_tensor(*setup_.communicator, DType::kU8,
                          {rank_bytes_ * setup_.shape.ranks});
}

// Stages 2 and 3: a slot holds the uses of one segment, and every segment
// starts it anew. Else one slot holds all uses.
void GradientSlots::lay_out() {
  const Structure& structure = *setup_.structure;
  const bool at_once = reduces_every_wave(setup_.shape.options.stage);
  use_base_.assign(structure.segments.size() * structure.units.size(), 0);
  std::int64_t next = 0;
  int segment = -1;
  for (const Use& use : structure.uses()) {
    if (at_once && use.segment != segment) next = 0;
    segment = use.segment;
    use_base_[static_cast<std::size_t>(use.segment) * structure.units.size() +
              static_cast<std::size_t>(use.unit)] = next;
    next += bytes_of(use.unit);
    slot_bytes_ = std::max(slot_bytes_, next);
  }
}

std::int64_t GradientSlots::row_elements(int unit) const {
  return setup_.structure->unit(unit).trainable.full();
}

// fp32 rows for all depths, then rows of the wire type if it is another.
std::int64_t GradientSlots::bytes_of(int unit) const {
  const DType wire = setup_.shape.options.precision.wire;
  const std::int64_t per_element =
      size_of(DType::kF32) + (wire == DType::kF32 ? 0 : size_of(wire));
  return row_elements(unit) * depth_ * per_element;
}

std::int64_t GradientSlots::offset(const Place& place) const {
  const std::size_t units = setup_.structure->units.size();
  const bool in_turn = reduces_every_wave(setup_.shape.options.stage);
  const std::int64_t row = row_elements(place.use.unit);
  std::int64_t result =
      use_base_[static_cast<std::size_t>(place.use.segment) * units +
                static_cast<std::size_t>(place.use.unit)];
  if (in_turn) result += place.slot * slot_bytes_;
  if (place.dtype != DType::kF32) result += row * depth_ * size_of(DType::kF32);
  return result + place.depth * row * size_of(place.dtype);
}

Tensor GradientSlots::row_at(const Place& place, int rank) const {
  return {memory_.storage(),
          place.dtype,
          {row_elements(place.use.unit)},
          rank * rank_bytes_ + offset(place)};
}

GradientRow GradientSlots::take(const Place& place) {
  const std::int64_t elements = row_elements(place.use.unit);
  if (!memory_.defined()) {
    return {setup_.allocator->allocate(place.dtype, {elements},
                                       Category::kGradients),
            Charge()};
  }
  return {row_at(place, setup_.shape.rank),
          setup_.allocator->charge(elements * size_of(place.dtype),
                                   Category::kGradients)};
}

GradientRow GradientSlots::arrival(const Place& place, int rank) {
  const std::int64_t slice = row_elements(place.use.unit) / setup_.shape.ranks;
  if (!memory_.defined()) {
    return {setup_.allocator->allocate(place.dtype, {slice},
                                       Category::kCommunication),
            Charge()};
  }
  return {row_at(place, rank).range(setup_.shape.rank * slice, slice),
          setup_.allocator->charge(slice * size_of(place.dtype),
                                   Category::kCommunication)};
}

}  // namespace quire::engine
