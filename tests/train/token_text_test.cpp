#include "quire/train/detail/token_text.h"

#include <gtest/gtest.h>

namespace quire::train {
namespace {

// Bytes, which lose the blank that a text begins with.
class Stripping final : public data::Tokenizer {
 public:
  std::size_t append(const data::TextPart& part,
                     std::vector<std::int32_t>& ids) const override {
    return bytes_.append(part, ids);
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    const std::string text = bytes_.decode(ids);
    return text.starts_with(' ') ? text.substr(1) : text;
  }
  std::int64_t vocabulary() const override { return 256; }
  std::optional<std::int32_t> end_of_text() const override { return {}; }
  std::string name() const override { return "stripping"; }

 private:
  data::BytesTokenizer bytes_;
};

TEST(TokenText, KeepsABlankThatFollowsAToken) {
  EXPECT_EQ(added_text(Stripping(), 'a', ' '), " ");
  EXPECT_EQ(added_text(Stripping(), ' ', ' '), " ");
  EXPECT_EQ(added_text(Stripping(), ' ', 'a'), "a");
}

TEST(TokenText, LeavesOutWhatATextDoesNotBeginWith) {
  EXPECT_EQ(added_text(Stripping(), {}, ' '), "");
  EXPECT_EQ(added_text(Stripping(), {}, 'a'), "a");
}

}  // namespace
}  // namespace quire::train
