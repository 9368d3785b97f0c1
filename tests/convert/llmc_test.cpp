#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "quire/convert/convert.h"
#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;

// The golden model's file: context 40, vocab 211, layers 3, heads 3, width 36,
// padded vocab 256.
struct BinFile {
  explicit BinFile(std::optional<DType> dtype = {}) {
    convert(*open_weights(data_path("gpt2_tiny")), path,
            {.to = Format::kLlmc, .dtype = dtype});
    bytes = read_file(path);
  }
  std::int32_t word(std::size_t index) const {
    std::int32_t value;
    std::memcpy(&value, bytes.data() + 4 * index, 4);
    return value;
  }
  float number(std::size_t index) const {  // behind the header
    float value;
    std::memcpy(&value, bytes.data() + 1024 + 4 * index, 4);
    return value;
  }
  // The refusal of the file with a word of its header replaced.
  std::string refusal(std::size_t index, std::int32_t value) {
    std::memcpy(bytes.data() + 4 * index, &value, 4);
    return refusal_of(bytes);
  }
  std::string refusal_of(const std::string& content) const {
    write_file(path, content);
    return usage_error_of([&] { open_weights(path); });
  }

  TempFolder folder;
  std::string path = folder / "model.bin";
  std::string bytes;
};

constexpr std::size_t kElements =
    (256 + 40 + 2) * 36 + 3 * (12 * 36 * 36 + 13 * 36);

TEST(Llmc, HeaderAndSizeAreThoseOfItsVersions) {
  const BinFile floats, halves(DType::kBF16);
  const std::array<std::int32_t, 8> wanted = {20240326, 3, 40, 211,
                                              3,        3, 36, 256};
  for (std::size_t i = 0; i < 256; ++i)
    EXPECT_EQ(floats.word(i), i < 8 ? wanted[i] : 0) << i;
  EXPECT_EQ(floats.bytes.size(), 1024 + 4 * kElements);
  EXPECT_EQ(halves.word(1), 5);
  EXPECT_EQ(halves.bytes.size(), 1024 + 2 * kElements);
}

TEST(Llmc, TensorsLieByKindOverTheLayers) {
  const BinFile file;
  const Golden golden("gpt2_tiny/model");
  const auto first = [&](const std::string& name) {
    return golden.tensor("transformer." + name).data<float>()[0];
  };
  EXPECT_EQ(file.number(0), first("wte.weight"));
  EXPECT_EQ(file.number(211 * 36), 0.0f);  // padded rows
  EXPECT_EQ(file.number(256 * 36 - 1), 0.0f);
  std::size_t at = 256 * 36;
  EXPECT_EQ(file.number(at), first("wpe.weight"));
  at += 40 * 36;
  EXPECT_EQ(file.number(at + 36), first("h.1.ln_1.weight"));
  at += 3 * 36;
  EXPECT_EQ(file.number(at + 72), first("h.2.ln_1.bias"));
  at += 3 * 36;
  EXPECT_EQ(file.number(at + 3 * 36 * 36), first("h.1.attn.c_attn.weight"));
  // [out, in] here, [in, out] there: row 0, column 1.
  EXPECT_EQ(file.number(at + 1),
            golden.tensor("transformer.h.0.attn.c_attn.weight")
                .data<float>()[3 * 36]);
  EXPECT_EQ(file.number(kElements - 36), first("ln_f.bias"));
}

TEST(Llmc, PaddedRowsAreNotRead) {
  BinFile file;
  std::memset(file.bytes.data() + 1024 + 4 * 211 * 36, 0x7f, 4 * 36);
  write_file(file.path, file.bytes);
  EXPECT_TRUE(
      compare(*open_weights(file.path), *open_weights(data_path("gpt2_tiny")))
          .empty());
}

TEST(Llmc, EveryFieldOfAHeaderIsBounded) {
  const std::array<const char*, 8> names = {"",      "version",     "context",
                                            "vocab", "layers",      "heads",
                                            "width", "padded vocab"};
  for (std::size_t i = 1; i < 8; ++i)
    for (const std::int32_t value : {0, -1, INT32_MIN}) {
      BinFile file;
      expect_mentions(file.refusal(i, value),
                      {file.path, names[i], std::to_string(value)});
    }
  for (std::size_t i = 2; i < 8; ++i) {
    BinFile file;
    file.refusal(i, INT32_MAX);
  }
  BinFile file;
  expect_mentions(file.refusal(5, 5), {"5 heads", "divisor of the width 36"});
  BinFile padded;
  expect_mentions(padded.refusal(7, 210), {"211 to 210"});
}

TEST(Llmc, SizesAreCheckedAgainstTheFile) {
  for (const std::size_t field : {2u, 3u, 4u, 6u, 7u}) {
    BinFile file;
    file.refusal(field, 2 * file.word(field));
  }
  const BinFile file;
  const std::string& bytes = file.bytes;
  expect_mentions(file.refusal_of(bytes.substr(0, bytes.size() - 1)),
                  {"cut short"});
  file.refusal_of(bytes + "x");
  file.refusal_of(bytes.substr(0, 1024));
  expect_mentions(file.refusal_of(bytes.substr(0, 1023)),
                  {"1023 bytes", "begins with 1024"});
}

TEST(Llmc, FilesOfLlama3AreRefusedBecauseOfTheirHeader) {
  BinFile file;
  expect_mentions(file.refusal(0, 20240803), {"Llama 3", "whole numbers"});
}

TEST(Llmc, RefusesWhatItCannotCarry) {
  const TempFolder folder;
  const auto refuse = [&](const Weights& weights, std::optional<DType> dtype) {
    return usage_error_of([&] {
      convert(weights, folder / "out.bin",
              {.to = Format::kLlmc, .dtype = dtype});
    });
  };
  expect_mentions(refuse(*open_weights(data_path("llama_tiny")), {}),
                  {"llama", "gpt2 alone"});
  ModelFolder model;
  expect_mentions(refuse(*model.open(), DType::kF16), {"fp16", "--dtype"});
  model.set("1e-05", "1e-06");
  expect_mentions(refuse(*model.open(), {}), {"norm_eps 1e-06"});
}

TEST(Llmc, SaysThatDropoutIsNotCarried) {
  ModelFolder model;
  for (const std::string key : {"attn_pdrop", "embd_pdrop", "resid_pdrop"})
    model.set(key + "\": 0", key + "\": 0.1");
  const TempFolder folder;
  const auto done =
      convert(*model.open(), folder / "out.bin", {.to = Format::kLlmc});
  ASSERT_EQ(done.warnings.size(), 1u);
  expect_mentions(done.warnings[0], {"dropout 0.1"});
}

}  // namespace
}  // namespace quire::convert
