#include "quire/engine/agreement.h"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "quire/core/error.h"
#include "quire/core/hash.h"

namespace quire::engine {
namespace {

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

comm::Communicator& agreed(const Plan& plan, const Structure& structure,
                           comm::Communicator& communicator, Stream& stream) {
  if (stream.scratch().device() == Device::kMeta) return communicator;
  const std::string text = plan.agreement(structure);
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
