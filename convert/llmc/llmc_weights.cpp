#include <fmt/format.h>

#include <unordered_map>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/sources.h"
#include "quire/convert/llmc/layout.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

using checkpoint::File;

LlmcHeader header_of(const File& file) {
  if (file.bytes() < kLlmcHeaderBytes)
    throw UsageError(
        fmt::format("{} has {} bytes; a model of llm.c begins with {}",
                    file.path(), file.bytes(), kLlmcHeaderBytes));
  LlmcHeader header;
  file.read(0, std::as_writable_bytes(std::span(header)));
  return header;
}

class LlmcWeights final : public Weights {
 public:
  explicit LlmcWeights(const std::string& path)
      : file_(File::open(path, File::Links::kFollow)),
        model_(read_llmc_header(header_of(file_), path)) {
    check_size();
    description_ = {.options = model_.options,
                    .family = "gpt2",
                    .other_keys = {},
                    .side_files = {}};
    place();
  }

  Format format() const override { return Format::kLlmc; }
  const std::string& path() const override { return file_.path(); }
  const Description& description() const override { return description_; }
  std::span<const StoredParameter> parameters() const override {
    return parameters_;
  }
  std::span<const std::string> warnings() const override { return {}; }

  void read(std::string_view parameter, std::int64_t first,
            std::span<std::byte> out) const override {
    const StoredParameter& held = stored(*this, parameter);
    const std::int64_t element = size_of(model_.dtype);
    const auto bytes = static_cast<std::int64_t>(out.size());
    const std::int64_t numel = held.shape.numel();
    if (first < 0 || first > numel || bytes % element != 0 ||
        bytes / element > numel - first)
      throw UsageError(fmt::format("{}: got {} bytes from element {} of {}",
                                   parameter, bytes, first, numel));
    file_.read(places_.at(held.name) + first * element, out);
  }

 private:
  // Before anything is made of what the header says.
  void check_size() const {
    const std::int64_t wanted =
        kLlmcHeaderBytes + llmc_elements(model_) * size_of(model_.dtype);
    if (file_.bytes() != wanted)
      throw UsageError(fmt::format(
          "{} has {} bytes; a model of its header has {}: it was cut short or "
          "written by another program; copy or write it again",
          file_.path(), file_.bytes(), wanted));
  }

  void place() {
    std::int64_t at = kLlmcHeaderBytes;
    for (const auto& tensor : llmc_tensors(model_)) {
      places_[tensor.name] = at;
      at += (tensor.numel + tensor.padding) * size_of(model_.dtype);
    }
    const nn::Model model = models::gpt2(model_.options);
    for (const auto& parameter : model.parameters())
      parameters_.push_back({.name = parameter.name,
                             .shape = parameter.shape,
                             .dtype = model_.dtype});
  }

  File file_;
  LlmcModel model_;
  Description description_;
  std::vector<StoredParameter> parameters_;
  std::unordered_map<std::string, std::int64_t> places_;  // bytes in the file
};

}  // namespace

std::unique_ptr<const Weights> open_llmc(const std::string& file) {
  return std::make_unique<LlmcWeights>(file);
}

}  // namespace quire::convert
