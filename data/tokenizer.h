// Between text and token ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quire::data {

// Whether the texts of special tokens, "<|endoftext|>", stand for those tokens
// or for the characters that they are made of.
enum class Specials : std::uint8_t { kAsText, kRecognise };

// A text, or the part of one that is there so far.
struct TextPart {
  std::string_view text;
  bool more = false;   // the text may go on
  bool begun = false;  // what stands before it has its ids
  Specials specials = Specials::kAsText;
};

// The ids that a model's own tools put around a text that stands alone: Llama 3
// begins every one with <|begin_of_text|>.
struct Frame {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;
};

// Immutable: const calls from any number of threads. Any bytes can be encoded,
// and decode gives them back; where the files of a tokenizer want a normal
// form, or blanks before words, text comes back in that form.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Ids in [0, vocabulary()); nothing is put around them. Throws UsageError
  // where a tokenizer from a file cannot take the text, naming file and place.
  std::vector<std::int32_t> encode(std::string_view text,
                                   Specials specials = Specials::kAsText) const;
  // Appends the ids of the first bytes of the part, as many as have these ids
  // whatever follows; all of it if the text ends here. Returns their number:
  // the rest comes again at the front of the next part. See text_encoder.h.
  virtual std::size_t append(const TextPart& part,
                             std::vector<std::int32_t>& ids) const = 0;
  // The bytes of `ids`, special tokens as their texts. They need not be whole
  // characters. Throws UsageError with the place and the id of the first that
  // is no token.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  // What the model's own tools make of a prompt: its ids in the frame, with
  // special tokens recognised.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;
  virtual Frame frame() const { return {}; }

  virtual std::int64_t vocabulary() const = 0;
  // What stands between documents, where the vocabulary has such a token.
  virtual std::optional<std::int32_t> end_of_text() const = 0;
  // What make_tokenizer takes.
  virtual std::string name() const = 0;
};

// Every byte is its own id.
class BytesTokenizer final : public Tokenizer {
 public:
  std::size_t append(const TextPart& part,
                     std::vector<std::int32_t>& ids) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::int64_t vocabulary() const override { return 256; }
  std::optional<std::int32_t> end_of_text() const override { return {}; }
  std::string name() const override { return "bytes"; }
};

// "bytes", "gpt2", or a folder with the files of a tokenizer: see
// bpe_tokenizer.h. Throws UsageError naming the known ones for anything else.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name);

}  // namespace quire::data
