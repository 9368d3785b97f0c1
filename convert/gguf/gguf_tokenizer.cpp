#include "quire/convert/gguf/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

using checkpoint::Json;

constexpr std::int64_t kMostText = std::int64_t{256} << 20;
constexpr int kMostNested = 4;  // as the tokenizer of `data` takes them
constexpr const char* kEnd = "<|endoftext|>";

enum TokenType : std::int32_t {
  kNormal = 1,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5
};

// By id; an id that no token has is unused.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  std::vector<std::string> merges;
  std::string pre;                    // how text is split before the merges
  std::string problem;                // why it is not written
  std::optional<std::int64_t> first;  // the id that stands before a text

  explicit Vocabulary(std::int64_t vocab) {
    for (std::int64_t id = 0; id < vocab; ++id)
      tokens.push_back(fmt::format("[PAD{}]", id));
    types.assign(tokens.size(), kUnused);
  }
  void put(const std::string& token, std::int64_t id, TokenType type) {
    if (id >= std::ssize(tokens)) {
      problem = fmt::format("token {} has the id {}, the model's vocab is {}",
                            token, id, tokens.size());
      return;
    }
    tokens[static_cast<std::size_t>(id)] = token;
    types[static_cast<std::size_t>(id)] = type;
  }
  std::optional<std::int64_t> id_of(const std::string& token) const {
    const auto found = std::ranges::find(tokens, token);
    if (found == tokens.end()) return std::nullopt;
    return found - tokens.begin();
  }
  void put_all(const Json& vocab) {
    for (const auto& [token, id] : vocab.members())
      put(token, id.integer(0, INT32_MAX), kNormal);
  }
};

std::optional<std::string> find(const Description& description,
                                std::string_view name) {
  const auto& files = description.side_files;
  const auto found = std::ranges::find_if(files, [&](const auto& file) {
    return std::filesystem::path(file).filename() == name;
  });
  if (found == files.end()) return std::nullopt;
  return *found;
}

Json parsed(const std::string& path) {
  return Json::parse(checkpoint::read_text(path, kMostText), path);
}

// Older files have "a b", newer ones ["a", "b"].
std::string merge_of(const Json& merge) {
  if (merge.kind() == Json::Kind::kString) return merge.string();
  const auto halves = merge.items();
  if (halves.size() != 2) merge.refuse("a pair of tokens");
  return halves[0].string() + " " + halves[1].string();
}

// Llama 3 takes up to three digits at a time, Qwen one, GPT-2 all.
std::string pre_of(const Json& file) {
  const auto splitter = file.find("pre_tokenizer");
  const std::string text = splitter ? splitter->text() : "";
  const auto has = [&](std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  if (!has("ByteLevel")) return "";
  if (has(R"(\\p{N}{1,3})")) return "llama-bpe";
  if (has(R"(\\p{N})") && has("(?i:")) return "qwen2";
  return has("Split") ? "default" : "gpt-2";
}

void read_added(const Json& file, Vocabulary& vocabulary) {
  const auto added = file.find("added_tokens");
  if (!added || added->is_null()) return;
  for (const Json& token : added->items()) {
    const auto special = token.find("special");
    vocabulary.put(token.at("content").string(),
                   token.at("id").integer(0, INT32_MAX),
                   special && special->boolean() ? kControl : kUserDefined);
  }
}

// null as if it were not there.
std::optional<Json> value_of(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found && !found->is_null() ? found : std::nullopt;
}

// Of a TemplateProcessing: {single: [{SpecialToken: {id: NAME}}, ...],
// special_tokens: {NAME: {ids}}}.
std::optional<std::int64_t> first_of_template(const Json& processor) {
  const auto pieces = processor.at("single").items();
  if (pieces.empty()) return std::nullopt;
  const auto special = value_of(pieces[0], "SpecialToken");
  if (!special) return std::nullopt;
  const Json entry =
      processor.at("special_tokens").at(special->at("id").string());
  const auto ids = entry.at("ids").items();
  if (ids.empty()) return std::nullopt;
  return ids[0].integer();
}

std::optional<std::int64_t> first_of(const Json& processor, int nested) {
  const Json type = processor.at("type");
  if (type.string() == "TemplateProcessing")
    return first_of_template(processor);
  if (type.string() != "Sequence") return std::nullopt;
  if (nested == kMostNested)
    type.refuse(
        fmt::format("a \"Sequence\" in at most {} others", kMostNested - 1));
  for (const Json& one : processor.at("processors").items())
    if (const auto first = first_of(one, nested + 1)) return first;
  return std::nullopt;
}

std::optional<std::int64_t> first_of_config(const std::string& path,
                                            const Vocabulary& vocabulary) {
  const Json file = parsed(path);
  const auto adds = value_of(file, "add_bos_token");
  if (!adds || !adds->boolean()) return std::nullopt;
  const auto token = file.find("bos_token");
  if (!token) return vocabulary.id_of(kEnd);
  if (token->is_null()) return std::nullopt;
  const bool is_object = token->kind() == Json::Kind::kObject;
  return vocabulary.id_of((is_object ? token->at("content") : *token).string());
}

// What is wrong there is no reason to refuse the model.
template <class Find>
void put_first(const Find& find, Vocabulary& vocabulary) {
  if (!vocabulary.problem.empty()) return;
  try {
    vocabulary.first = find();
  } catch (const UsageError& error) {
    vocabulary.problem = error.what();
  }
}

void read_tokenizer_json(const std::string& path, Vocabulary& vocabulary) {
  const Json file = parsed(path);
  const Json model = file.at("model");
  const auto type = model.find("type");
  vocabulary.pre = pre_of(file);
  if ((type && type->string() != "BPE") || vocabulary.pre.empty()) {
    vocabulary.problem = path + " is no byte-level BPE tokenizer";
    return;
  }
  vocabulary.put_all(model.at("vocab"));
  for (const Json& merge : model.at("merges").items())
    vocabulary.merges.push_back(merge_of(merge));
  read_added(file, vocabulary);
  if (const auto processor = value_of(file, "post_processor"))
    put_first([&] { return first_of(*processor, 0); }, vocabulary);
}

void read_merges(const std::string& path, Vocabulary& vocabulary) {
  const std::string text = checkpoint::read_text(path, kMostText);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#version"))
      vocabulary.merges.push_back(std::move(line));
    at = end + 1;
  }
}

void read_pair(const std::string& vocab, const std::string& merges,
               Vocabulary& vocabulary) {
  vocabulary.pre = "gpt-2";
  vocabulary.put_all(parsed(vocab));
  if (const auto end = vocabulary.id_of(kEnd))
    vocabulary.types[static_cast<std::size_t>(*end)] = kControl;
  read_merges(merges, vocabulary);
}

void read(const Description& description, Vocabulary& vocabulary) {
  const auto whole = find(description, "tokenizer.json");
  const auto vocab = find(description, "vocab.json");
  const auto merges = find(description, "merges.txt");
  const auto config = find(description, "tokenizer_config.json");
  if (whole) return read_tokenizer_json(*whole, vocabulary);
  if (!vocab || !merges) {
    vocabulary.problem =
        "the model has neither tokenizer.json nor vocab.json with merges.txt";
    return;
  }
  read_pair(*vocab, *merges, vocabulary);
  if (config)
    put_first([&] { return first_of_config(*config, vocabulary); }, vocabulary);
}

// Some models have several ids that end a text; the first is the chief one.
std::optional<std::int64_t> put_id(const Description& description,
                                   const std::string& name, GgufKeys& keys) {
  const auto found = description.other_keys.find(name);
  if (found == description.other_keys.end()) return std::nullopt;
  Json value = Json::parse(found->second, name);
  if (value.kind() == Json::Kind::kArray && !value.items().empty())
    value = value.items()[0];
  if (value.kind() != Json::Kind::kInteger) return std::nullopt;
  const std::int64_t id = value.integer(0, UINT32_MAX);
  keys.put("tokenizer.ggml." + name, static_cast<std::uint32_t>(id));
  return id;
}

// Readers that are not told go by `pre`.
void put_bos(const Description& description, const Vocabulary& vocabulary,
             GgufKeys& keys) {
  const auto bos = put_id(description, "bos_token_id", keys);
  if (!bos) return;
  keys.put("tokenizer.ggml.add_bos_token",
           bos == vocabulary.first ? GgufBool::kTrue : GgufBool::kFalse);
}

void put(const Vocabulary& vocabulary, GgufKeys& keys) {
  keys.put("tokenizer.ggml.model", "gpt2");
  keys.put("tokenizer.ggml.pre", vocabulary.pre);
  keys.put("tokenizer.ggml.tokens", vocabulary.tokens);
  keys.put("tokenizer.ggml.token_type", vocabulary.types);
  keys.put("tokenizer.ggml.merges", vocabulary.merges);
}

}  // namespace

std::vector<std::string> put_tokenizer_keys(const Description& description,
                                            GgufKeys& keys) {
  Vocabulary vocabulary(models::vocab_of(description.options));
  read(description, vocabulary);
  if (!vocabulary.problem.empty())
    return {"no tokenizer is written into the file: " + vocabulary.problem};
  put(vocabulary, keys);
  put_bos(description, vocabulary, keys);
  put_id(description, "eos_token_id", keys);
  if (vocabulary.pre == "default")
    return {
        "the tokenizer splits text by a pattern without a name in GGUF; "
        "\"default\" is written, which may give other tokens"};
  return {};
}

}  // namespace quire::convert
