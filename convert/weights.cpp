#include "quire/convert/weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/convert/detail/sources.h"
#include "quire/convert/detail/values.h"
#include "quire/core/error.h"
#include "quire/core/text.h"

namespace quire::convert {

std::string_view name_of(Format format) {
  switch (format) {
    case Format::kHuggingFace:
      return "hf";
    case Format::kQuire:
      return "quire";
    case Format::kDcp:
      return "dcp";
    case Format::kLlmc:
      return "llmc";
    case Format::kGguf:
      return "gguf";
  }
  return "unknown";
}

namespace {

// Of a format whose tensors have no names.
void require_no_names(const std::string& path, const OpenOptions& options) {
  if (options.rename.empty()) return;
  throw UsageError(
      fmt::format("{}: holds no tensor \"{}\" to rename; a model of llm.c has "
                  "no names in it",
                  path, options.rename.begin()->first));
}

}  // namespace

std::unique_ptr<const Weights> open_weights(const std::string& path,
                                            const OpenOptions& options) {
  switch (format_of(path)) {
    case Format::kHuggingFace:
      return open_hugging_face(path, options);
    case Format::kQuire:
      return open_quire(path, options);
    case Format::kDcp:
      return open_dcp(path, options);
    case Format::kLlmc:
      require_no_names(path, options);
      return open_llmc(path);
    case Format::kGguf:
      break;
  }
  throw UsageError(
      fmt::format("{} is a GGUF file, which is written and not read; name the "
                  "model that it was made of",
                  path));
}

void read_floats(const Weights& weights, std::string_view parameter,
                 std::int64_t first, std::span<float> out) {
  const DType dtype = stored(weights, parameter).dtype;
  if (dtype == DType::kF32) {
    weights.read(parameter, first, std::as_writable_bytes(out));
    return;
  }
  const std::size_t width = static_cast<std::size_t>(size_of(dtype));
  constexpr auto kMost = static_cast<std::size_t>(kBlock);
  std::vector<std::byte> bytes(std::min(out.size(), kMost) * width);
  for (std::size_t at = 0; at < out.size(); at += kMost) {
    const auto part = out.subspan(at, std::min(kMost, out.size() - at));
    const auto raw = std::span(bytes).first(part.size() * width);
    weights.read(parameter, first + static_cast<std::int64_t>(at), raw);
    cast({dtype, raw}, DType::kF32, std::as_writable_bytes(part));
  }
}

const StoredParameter& stored(const Weights& weights,
                              std::string_view parameter) {
  const auto all = weights.parameters();
  const auto found = std::ranges::find(all, parameter, &StoredParameter::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const auto& entry : all) names.push_back(entry.name);
  throw UsageError(
      fmt::format("{} has no parameter \"{}\"; the nearest is \"{}\"",
                  weights.path(), parameter, nearest(parameter, names)));
}

}  // namespace quire::convert
