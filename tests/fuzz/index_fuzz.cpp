// model.safetensors.index.json in a folder with two files and two links: what
// is accepted holds tensors of files of this folder.
#include <span>
#include <vector>

#include "quire/convert/detail/weight_files.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

constexpr std::string_view kAB =
    R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
    R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]}})";
constexpr std::string_view kC =
    R"({"c":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})";

// A safetensors file with 8 bytes of values.
std::string file_of(std::string_view header) {
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  return bytes + std::string(header) + std::string(8, '\1');
}

struct Folder : InputFolder {
  Folder() {
    std::filesystem::create_directory(path() + "/model");
    write("outside.safetensors", file_of(kAB));
    write("model/1.safetensors", file_of(kAB));
    write("model/2.safetensors", file_of(kC));
    write("model/both.safetensors", file_of(kAB));
    std::filesystem::create_symlink("../outside.safetensors",
                                    path() + "/model/link.safetensors");
    std::filesystem::create_directory(path() + "/model/folder.safetensors");
  }
  std::string model() const { return path() + "/model"; }
};

void check(const std::string& folder) {
  const convert::WeightFiles files(folder);
  for (const auto& [name, weight] : files.weights()) {
    require(weight.file->find(name) == weight.entry);
    const std::filesystem::path path(weight.file->path());
    require(std::filesystem::equivalent(path.parent_path(), folder));
    require(!std::filesystem::is_symlink(path));
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(weight.entry->end - weight.entry->begin));
    weight.file->read(*weight.entry, 0, weight.entry->numel, bytes);
  }
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  static const Folder folder;
  folder.write("model/model.safetensors.index.json", text_of(data, size));
  accept_or_refuse([&] { check(folder.model()); });
  return 0;
}
