// config.json of Hugging Face: what is accepted can be written, and is the same
// when it is read again.
#include <vector>

#include "quire/convert/huggingface/config.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

using convert::config_text;
using convert::parse_config;

void check(std::string_view text) {
  std::vector<std::string> warnings;
  const auto description = parse_config(text, "config.json", warnings);
  const std::string again = config_text(description, DType::kF32);
  require(config_text(parse_config(again, "again", warnings), DType::kF32) ==
          again);
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  accept_or_refuse([&] { check(text_of(data, size)); });
  return 0;
}
