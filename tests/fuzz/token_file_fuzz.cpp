// A token file: every token of what is accepted can be read, or is refused.
#include <vector>

#include "quire/data/token_file.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

void check(const data::TokenFile& file) {
  require(file.size() >= 1);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(file.size()));
  file.copy(0, file.size(), tokens.data());
  for (const auto token : tokens) require(token >= 0);
  Hasher hasher;
  file.add_to(hasher);
  file.check_ids(50257);
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  const InputFile input(text_of(data, size));
  accept_or_refuse([&] { check(quire::data::TokenFile(input.path())); });
  return 0;
}
