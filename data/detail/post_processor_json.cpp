#include <fmt/format.h>

#include <optional>

#include "quire/data/detail/byte_spelling.h"
#include "quire/data/detail/in_quotes.h"
#include "quire/data/detail/tokenizer_json.h"

namespace quire::data {
namespace {

constexpr std::size_t kMostFrameIds = 64;

bool is_token(std::int64_t id, const std::string& text, const BpeParts& parts) {
  if (id < 0 || id >= static_cast<std::int64_t>(parts.tokens.size()))
    return false;
  const std::string& bytes = parts.tokens[static_cast<std::size_t>(id)];
  return !bytes.empty() && (bytes == text || bytes == bytes_of_spelling(text));
}

// Of an entry of special_tokens: the ids, which their texts confirm.
std::vector<std::int32_t> ids_of(const JsonAt& special, const BpeParts& parts) {
  const JsonAt ids = special.at("ids");
  const JsonAt tokens = special.at("tokens");
  if (ids.array().size() != tokens.array().size())
    ids.refuse(fmt::format("{} ids, as many as tokens", tokens.value->size()));
  std::vector<std::int32_t> known;
  for (std::size_t i = 0; i < ids.value->size(); ++i) {
    const std::string& text = tokens.at(i).text();
    const std::int64_t id = ids.at(i).integer();
    if (!is_token(id, text, parts))
      ids.at(i).refuse("the id of the token " + in_quotes(text));
    known.push_back(static_cast<std::int32_t>(id));
  }
  return known;
}

// A text by itself: [{SpecialToken {id}}..., {Sequence {id "A"}}, ...].
class TemplateReader {
 public:
  TemplateReader(const JsonAt& at, const BpeParts& parts)
      : single_(at.at("single")),
        special_(at.at("special_tokens")),
        parts_(parts) {}

  Frame read() {
    for (std::size_t i = 0; i < single_.array().size(); ++i)
      read_piece(single_.at(i));
    if (!behind_text_) single_.refuse("one with the sequence \"A\"");
    return std::move(frame_);
  }

 private:
  void read_piece(const JsonAt& piece) {
    const JsonAt special = piece.at("SpecialToken");
    if (!special.is_null()) return put(special.at("id"));
    const JsonAt id = piece.at("Sequence").at("id");
    if (id.text() != "A" || behind_text_) id.refuse("\"A\", and that once");
    behind_text_ = true;
  }

  void put(const JsonAt& name) {
    const JsonAt special = special_.at(name.text().c_str());
    if (special.is_null()) name.refuse("a key of special_tokens");
    const auto ids = ids_of(special, parts_);
    auto& side = behind_text_ ? frame_.after : frame_.before;
    side.insert(side.end(), ids.begin(), ids.end());
    if (side.size() > kMostFrameIds)
      single_.refuse(fmt::format("{} tokens on a side at most", kMostFrameIds));
  }

  JsonAt single_;
  JsonAt special_;
  const BpeParts& parts_;
  Frame frame_;
  bool behind_text_ = false;
};

struct PostProcessor {
  const BpeParts& parts;
  std::optional<Frame> frame = {};
};

void read_one(const JsonAt& at, int nested, PostProcessor& read) {
  const JsonAt type = at.at("type");
  if (type.text() == "ByteLevel") return;  // it moves offsets alone
  if (type.text() == "TemplateProcessing") {
    if (read.frame) at.refuse("one template");
    read.frame = TemplateReader(at, read.parts).read();
    return;
  }
  if (type.text() != "Sequence" || nested == kMostNested) {
    type.refuse(
        "\"ByteLevel\", \"TemplateProcessing\" or a \"Sequence\" of them; "
        "tokenize with the model's own tools and write token files");
  }
  const JsonAt list = at.at("processors");
  for (std::size_t i = 0; i < list.array().size(); ++i)
    read_one(list.at(i), nested + 1, read);
}

}  // namespace

Frame frame_of(const JsonAt& post_processor, const BpeParts& parts) {
  PostProcessor read = {.parts = parts};
  if (!post_processor.is_null()) read_one(post_processor, 0, read);
  return read.frame.value_or(Frame());
}

}  // namespace quire::data
