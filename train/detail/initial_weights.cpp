#include "quire/train/detail/initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quire/convert/describe.h"
#include "quire/core/error.h"
#include "quire/core/text.h"
#include "quire/train/detail/origin.h"
#include "quire/train/load_values.h"

namespace quire::train {
namespace {

std::vector<std::string> lines_of(const LoadReport& report,
                                  const convert::Weights& weights) {
  std::vector<std::string> lines(weights.warnings().begin(),
                                 weights.warnings().end());
  std::string line = fmt::format(
      "{} taken from {}", counted(report.loaded, "parameter"), weights.path());
  if (!report.fresh.empty())
    line += fmt::format("; drawn anew: {}", fmt::join(report.fresh, ", "));
  if (!report.ignored.empty())
    line += fmt::format("; left out: {}", fmt::join(report.ignored, ", "));
  lines.push_back(std::move(line));
  return lines;
}

}  // namespace

InitialWeights load_initial(const RankState& state, const RunConfig& config) {
  const OriginConfig& origin = config.origin;
  state.together->communicator().enter("load", origin.from);
  const auto weights = open_origin(origin);
  // A resolved configuration was parsed without a look at the files.
  if (const auto other = disagreement(config, weights->description().options))
    throw UsageError(other->problem);
  const LoadReport report =
      load_values(*state.engine, *state.model, *weights,
                  {.fresh = origin.fresh, .ignore = origin.ignore});
  return {.lines = lines_of(report, *weights),
          .notes = convert::describe(weights->description()).notes};
}

}  // namespace quire::train
