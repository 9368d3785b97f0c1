#include "quire/engine/startup/agreement.h"

#include <fmt/format.h>

#include <string>

#include "quire/core/error.h"
#include "quire/engine/startup/rank_difference.h"

namespace quire::engine {
namespace {

std::string text_of(const nn::ParameterInfo& parameter,
                    const optim::GroupOptions& groups) {
  const optim::Group group =
      optim::group_of({parameter.name, parameter.decay}, groups);
  return fmt::format(
      "parameter {} {}{} initialiser {} {} {} lr {} weight decay {}\n",
      parameter.name, parameter.shape.to_string(),
      parameter.trainable ? "" : " frozen",
      static_cast<int>(parameter.init.kind), parameter.init.a, parameter.init.b,
      group.lr, group.weight_decay);
}

std::string text_of(const Agreement& agreement) {
  const Options& o = agreement.plan->shape.options;
  const optim::Schedule& schedule = o.schedule;
  std::string text = agreement.plan->agreement(*agreement.structure);
  text += fmt::format(
      "optimizer {} {} clip {} schedule {} warmup {} steps {} final ratio {}\n",
      agreement.optimizer->type(), agreement.optimizer->settings(),
      o.clip_norm.value_or(0.0), static_cast<int>(schedule.type),
      schedule.warmup, schedule.steps, schedule.final_ratio);
  for (const nn::ParameterInfo& parameter : agreement.model->parameters())
    text += text_of(parameter, o.groups);
  return text;
}

}  // namespace

comm::Communicator& agreed(const Agreement& agreement,
                           comm::Communicator& communicator, Stream& stream) {
  if (stream.scratch().device() == Device::kMeta) return communicator;
  const std::string text = text_of(agreement);
  const comm::Call call{
      .stream = &stream, .purpose = comm::Purpose::kControl, .unit = "plan"};
  communicator.enter("start");
  const auto difference = first_difference(communicator, text, call);
  if (!difference) return communicator;
  throw UsageError(fmt::format(
      "ranks 0 and {} have different plans: rank 0 has \"{}\", rank {} has "
      "\"{}\"; start all ranks with the same model and configuration",
      difference->rank, difference->zero, difference->rank, difference->other));
}

}  // namespace quire::engine
