#include "tests/support/lane_memory.h"

#include "tests/support/lane.h"
#include "tests/support/parameters.h"

namespace quire::testing {

MemoryReport lane_memory(const nn::Model& model, std::int64_t vocab,
                         Device device) {
  Cpu cpu(1, device);
  PlainParameters parameters = initial_parameters(model, cpu);
  const auto ids = [&](std::uint64_t key) {
    const Tensor values = random_ids({4, 33}, vocab, key);
    return device == Device::kMeta ? cpu.empty(DType::kI32, values.shape())
                                   : values;
  };
  const Batch batch{.inputs = {{"tokens", ids(1)}},
                    .targets = {{"targets", ids(2)}}};
  cpu.allocator.reset_peak();
  const MemoryReport before = cpu.allocator.report();
  run_lane({.model = model,
            .loss = nn::CrossEntropy(),
            .batch = batch,
            .context = {.stream = &cpu.stream,
                        .allocator = &cpu.allocator,
                        .parameters = &parameters}});
  MemoryReport report = cpu.allocator.report();
  for (std::size_t i = 0; i < report.peak.size(); ++i)
    report.peak[i] -= before.current[i];
  return report;
}

}  // namespace quire::testing
