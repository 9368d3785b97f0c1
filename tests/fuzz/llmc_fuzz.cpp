// The header of llm.c's GPT-2: what is accepted is the same when it is written
// again, and its sizes add up without overflow.
#include <algorithm>
#include <cstring>

#include "quire/convert/llmc/layout.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

using convert::LlmcHeader;

// As many layers as are worth listing.
constexpr std::int64_t kFewLayers = 100;

LlmcHeader header_of(std::string_view bytes) {
  LlmcHeader header{};
  std::memcpy(header.data(), bytes.data(),
              std::min(bytes.size(), sizeof(header)));
  return header;
}

void check(const LlmcHeader& header) {
  const auto model = convert::read_llmc_header(header, "model.bin");
  const LlmcHeader again = convert::llmc_header_of(model, "again");
  require(std::equal(again.begin(), again.begin() + 8, header.begin()));
  const std::int64_t elements = convert::llmc_elements(model);
  require(elements > 0 && elements < INT64_MAX / 8);
  if (model.options.layers > kFewLayers) return;
  std::int64_t sum = 0;
  for (const auto& tensor : convert::llmc_tensors(model)) {
    require(tensor.numel > 0 && tensor.padding >= 0);
    sum += tensor.numel + tensor.padding;
  }
  require(sum == elements);
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  accept_or_refuse([&] { check(header_of(text_of(data, size))); });
  return 0;
}
