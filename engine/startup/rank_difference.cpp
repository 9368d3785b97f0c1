#include "quire/engine/startup/rank_difference.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "quire/core/hash.h"

namespace quire::engine {
namespace {

RankDifference difference(const std::string& zero, const std::string& other,
                          int rank) {
  std::istringstream a(zero), b(other);
  RankDifference result{rank, {}, {}};
  do {
    if (!std::getline(a, result.zero)) result.zero = "(nothing more)";
    if (!std::getline(b, result.other)) result.other = "(nothing more)";
  } while (result.zero == result.other && (a || b));
  return result;
}

bool all_equal(const std::vector<std::string>& texts) {
  return std::ranges::all_of(
      texts, [&](const std::string& text) { return text == texts.front(); });
}

}  // namespace

std::optional<RankDifference> first_difference(comm::Communicator& communicator,
                                               const std::string& text,
                                               const comm::Call& call) {
  if (all_equal(comm::gather_text(communicator, to_hex(hash64(text)), call)))
    return std::nullopt;
  const std::vector<std::string> texts =
      comm::gather_text(communicator, text, call);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] != texts[0])
      return difference(texts[0], texts[rank], static_cast<int>(rank));
  }
  return std::nullopt;
}

}  // namespace quire::engine
