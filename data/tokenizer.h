// Between text and token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quire::data {

// Immutable: const calls from any number of threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Ids in [0, vocabulary()); nothing is inserted.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  // The bytes of `ids`, which need not be whole characters. Throws UsageError
  // with the place and the id of the first outside the vocabulary.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  virtual std::int64_t vocabulary() const = 0;
  // What make_tokenizer takes.
  virtual std::string name() const = 0;
};

// Every byte is its own id.
class BytesTokenizer final : public Tokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::int64_t vocabulary() const override { return 256; }
  std::string name() const override { return "bytes"; }
};

// "bytes". Throws UsageError naming the known ones for any other name.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name);

}  // namespace quire::data
