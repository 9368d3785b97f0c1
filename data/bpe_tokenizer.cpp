#include "quire/data/bpe_tokenizer.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "quire/core/error.h"
#include "quire/data/detail/bpe.h"
#include "quire/data/detail/gpt2_merges.h"
#include "quire/data/detail/merges_text.h"
#include "quire/data/detail/tokenizer_config.h"
#include "quire/data/detail/tokenizer_file.h"
#include "quire/data/detail/tokenizer_json.h"

namespace quire::data {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Tokenizer> made(BpeParts parts) {
  return std::make_unique<BpeTokenizer>(std::move(parts));
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

BpeParts parts_of_json(const std::string& path) {
  const std::string text = read_tokenizer_file(path);
  return tokenizer_json_parts({.text = text, .source = path});
}

BpeParts parts_of_pair(const std::string& vocabulary,
                       const std::string& merges) {
  const std::string ids = read_tokenizer_file(vocabulary);
  const std::string ranks = read_tokenizer_file(merges);
  return vocabulary_parts({.text = ids, .source = vocabulary},
                          {.text = ranks, .source = merges});
}

[[noreturn]] void refuse_folder(const fs::path& folder) {
  const fs::path model = folder / "tokenizer.model";
  if (is_there(model.string())) {
    throw UsageError(fmt::format(
        "{} is a sentencepiece model, which is not read; tokenize with the "
        "model's own tools and write token files",
        model.string()));
  }
  throw UsageError(
      fmt::format("{} has no tokenizer; expected tokenizer.json, vocab.json "
                  "and merges.txt, "
                  "or encoder.json and vocab.bpe: save the tokenizer into it",
                  folder.string()));
}

void read_frame(const std::string& path, BpeParts& parts) {
  if (!is_there(path)) return;
  const std::string text = read_tokenizer_file(path);
  parts.frame = config_frame({.text = text, .source = path}, parts);
}

BpeParts parts_of_folder(const fs::path& folder) {
  const std::string json = (folder / "tokenizer.json").string();
  if (is_there(json)) return parts_of_json(json);
  constexpr std::array<std::array<const char*, 2>, 2> kPairs = {
      {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};
  for (const auto& [vocabulary, merges] : kPairs) {
    const std::string ids = (folder / vocabulary).string();
    const std::string ranks = (folder / merges).string();
    if (!is_there(ids) || !is_there(ranks)) continue;
    BpeParts parts = parts_of_pair(ids, ranks);
    read_frame((folder / "tokenizer_config.json").string(), parts);
    return parts;
  }
  refuse_folder(folder);
}

}  // namespace

std::unique_ptr<Tokenizer> gpt2_tokenizer() {
  return made(gpt2_parts({.text = kGpt2Merges, .source = "GPT-2's merges"}));
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& folder) {
  BpeParts parts = parts_of_folder(folder);
  parts.name = folder;
  return made(std::move(parts));
}

std::unique_ptr<Tokenizer> parse_tokenizer_json(const TokenizerText& file) {
  return made(tokenizer_json_parts(file));
}

std::unique_ptr<Tokenizer> parse_vocabulary_and_merges(
    const TokenizerText& vocabulary, const TokenizerText& merges) {
  return made(vocabulary_parts(vocabulary, merges));
}

}  // namespace quire::data
