#include "quire/train/detail/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/core/error.h"

namespace quire::train {
namespace {

namespace fs = std::filesystem;
using checkpoint::Json;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;
constexpr std::int64_t kBytes = 256;  // the vocabulary of the bytes tokenizer
constexpr const char* kEnd = "eos_token_id";

// "": none of them has the name.
std::string file_named(const std::vector<std::string>& files,
                       std::string_view name) {
  const auto found = std::ranges::find_if(files, [&](const std::string& file) {
    return fs::path(file).filename() == name;
  });
  return found == files.end() ? std::string() : *found;
}

// The folder whose files are a tokenizer's; "": there is none.
std::string tokenizer_folder(const std::vector<std::string>& files) {
  for (const char* name : {"tokenizer.json", "vocab.json", "encoder.json"}) {
    const std::string file = file_named(files, name);
    if (!file.empty()) return fs::path(file).parent_path().string();
  }
  return {};
}

std::unique_ptr<data::Tokenizer> tokenizer_of(
    const convert::Description& description, const std::string& path) {
  const std::string folder = tokenizer_folder(description.side_files);
  if (!folder.empty()) return data::make_tokenizer(folder);
  const std::int64_t vocab = models::vocab_of(description.options);
  if (vocab == kBytes) return data::make_tokenizer("bytes");
  throw UsageError(fmt::format(
      "{} has a vocabulary of {} and no tokenizer's files; expected "
      "tokenizer.json, or vocab.json and merges.txt, beside it or in its "
      "model.from, or a vocabulary of {}, which is bytes",
      path, vocab, kBytes));
}

std::vector<std::int32_t> ids_of(const Json& value) {
  const auto id = [](const Json& number) {
    return static_cast<std::int32_t>(
        number.integer(0, std::numeric_limits<std::int32_t>::max()));
  };
  if (value.is_null()) return {};
  if (value.kind() != Json::Kind::kArray) return {id(value)};
  std::vector<std::int32_t> ids;
  for (const Json& item : value.items()) ids.push_back(id(item));
  return ids;
}

std::vector<std::int32_t> ends_of(const convert::Description& description,
                                  const std::string& path) {
  const std::string file =
      file_named(description.side_files, "generation_config.json");
  if (!file.empty()) {
    const Json json =
        Json::parse(checkpoint::read_text(file, kMostBytes), file);
    if (const auto end = json.find(kEnd)) return ids_of(*end);
  }
  const auto key = description.other_keys.find(kEnd);
  if (key == description.other_keys.end()) return {};
  return ids_of(Json::parse(key->second, path + ": " + kEnd));
}

}  // namespace

Language language_of(const convert::Description& description,
                     const std::string& path) {
  return {.tokenizer = tokenizer_of(description, path),
          .ends = ends_of(description, path)};
}

}  // namespace quire::train
