#include "quire/engine/agreement.h"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "quire/core/error.h"
#include "quire/core/hash.h"

namespace quire::engine {
namespace {

std::string text_of(const nn::ParameterInfo& parameter,
                    const optim::GroupOptions& groups) {
  const optim::Group group =
      optim::group_of(parameter.name, groups, parameter.decay);
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
      "optimizer {} clip {} schedule {} warmup {} steps {} final ratio {}\n",
      agreement.optimizer->type(), o.clip_norm.value_or(0.0),
      static_cast<int>(schedule.type), schedule.warmup, schedule.steps,
      schedule.final_ratio);
  for (const nn::ParameterInfo& parameter : agreement.model->parameters())
    text += text_of(parameter, o.groups);
  return text;
}

std::string difference(const std::string& zero, const std::string& other,
                       int rank) {
  std::istringstream a(zero), b(other);
  std::string line_a, line_b;
  do {
    if (!std::getline(a, line_a)) line_a = "(nothing more)";
    if (!std::getline(b, line_b)) line_b = "(nothing more)";
  } while (line_a == line_b);
  return fmt::format(
      "ranks 0 and {} have different plans: rank 0 has \"{}\", rank {} has "
      "\"{}\"; start all ranks with "
      "the same model and configuration",
      rank, line_a, rank, line_b);
}

}  // namespace

comm::Communicator& agreed(const Agreement& agreement,
                           comm::Communicator& communicator, Stream& stream) {
  if (stream.scratch().device() == Device::kMeta) return communicator;
  const std::string text = text_of(agreement);
  const comm::Call call{
      .stream = &stream, .purpose = comm::Purpose::kControl, .unit = "plan"};
  communicator.locate({.step = -1, .phase = "start", .layer = ""});
  const std::vector<std::string> hashes =
      comm::gather_text(communicator, to_hex(hash64(text)), call);
  bool equal = true;
  for (const std::string& hash : hashes)
    equal = equal && hash == hashes.front();
  if (equal) return communicator;
  const std::vector<std::string> texts =
      comm::gather_text(communicator, text, call);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] != texts[0])
      throw UsageError(
          difference(texts[0], texts[rank], static_cast<int>(rank)));
  }
  return communicator;
}

}  // namespace quire::engine
