// manifest.json as it is, and with an ending whose checksum fits: what is
// accepted keeps the rules, and is the same after it was written again.
#include "quire/checkpoint/manifest.h"
#include "quire/core/hash.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

using checkpoint::parse_manifest;

void check(std::string_view text) {
  const auto manifest = parse_manifest(text, "manifest.json");
  checkpoint::check(manifest, "manifest.json");
  const std::string again = to_text(manifest);
  require(to_text(parse_manifest(again, "again")) == again);
}

std::string with_checksum(std::string_view text) {
  std::string whole(text.substr(0, text.rfind(" \"checksum\": ")));
  const auto checksum = to_hex(hash64(whole));
  return whole + " \"checksum\": \"" + checksum + "\"\n}\n";
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  const auto text = text_of(data, size);
  accept_or_refuse([&] { check(text); });
  accept_or_refuse([&] { check(with_checksum(text)); });
  return 0;
}
