// A safetensors file: whatever is accepted adds up and can be read whole.
#include <vector>

#include "quire/checkpoint/safetensors.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

using checkpoint::SafetensorsEntry;
using checkpoint::SafetensorsFile;

void read_all(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(entry.end - entry.begin));
  accept_or_refuse([&] { file.read(entry, 0, entry.numel, bytes); });
}

void check(const SafetensorsFile& file) {
  std::int64_t end = 0;
  for (const auto& entry : file.entries()) {
    require(entry.begin == end && entry.end >= end && entry.numel >= 0);
    require(file.find(entry.name) == &entry);
    end = entry.end;
    read_all(file, entry);
  }
  require(end <= file.bytes());
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  const InputFile input(text_of(data, size));
  accept_or_refuse([&] { check(SafetensorsFile(input.path())); });
  return 0;
}
