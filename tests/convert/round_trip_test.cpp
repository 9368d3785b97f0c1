// A -> B -> A has equal bits for every two formats that are read and written
// and can carry the model.
#include <gtest/gtest.h>

#include "quire/convert/convert.h"
#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;

std::string place(const TempFolder& folder, Format format) {
  const std::string end = format == Format::kLlmc ? ".bin" : "";
  return folder / (std::string(name_of(format)) + end);
}

std::unique_ptr<const Weights> converted(const Weights& weights,
                                         const std::string& out,
                                         const ConvertOptions& options) {
  convert(weights, out, options);
  return open_weights(out);
}

struct Trip {
  const char* model;
  Format a, b;
};
void PrintTo(const Trip& trip, std::ostream* out) {
  *out << trip.model << " " << name_of(trip.a) << " " << name_of(trip.b);
}

std::vector<Trip> trips() {
  std::vector<Trip> all;
  const auto add = [&](const char* model, const std::vector<Format>& formats) {
    for (const Format a : formats)
      for (const Format b : formats)
        if (a != b) all.push_back({model, a, b});
  };
  add("gpt2_tiny",
      {Format::kHuggingFace, Format::kQuire, Format::kDcp, Format::kLlmc});
  for (const char* model : {"llama_tiny", "llama3_small", "mistral_small",
                            "qwen2_small", "qwen3_small", "hf_bf16"})
    add(model, {Format::kHuggingFace, Format::kQuire, Format::kDcp});
  return all;
}

class RoundTrip : public ::testing::TestWithParam<Trip> {};

TEST_P(RoundTrip, EndsWithTheSameModel) {
  const Trip& trip = GetParam();
  const TempFolder first, second, third;
  const auto golden = open_weights(data_path(trip.model));
  const auto a = converted(*golden, place(first, trip.a), {.to = trip.a});
  const auto b = converted(*a, place(second, trip.b), {.to = trip.b});
  const auto again = converted(*b, place(third, trip.a), {.to = trip.a});
  expect_same_weights(*a, *golden);
  expect_same_weights(*again, *golden);
  EXPECT_TRUE(compare(*again, *golden).empty());
  EXPECT_EQ(again->description().options.index(),
            golden->description().options.index());
  EXPECT_EQ(again->description().family, golden->description().family);
}

INSTANTIATE_TEST_SUITE_P(Models, RoundTrip, ::testing::ValuesIn(trips()),
                         [](const auto& info) {
                           return std::string(info.param.model) + "_" +
                                  std::string(name_of(info.param.a)) + "_" +
                                  std::string(name_of(info.param.b));
                         });

// Numbers of every option, in their order.
std::vector<double> numbers_of(const Weights& weights) {
  std::vector<double> numbers;
  models::Options options = weights.description().options;
  std::visit(
      [&](auto& chosen) {
        models::each_field(chosen, [&](std::string_view, auto& value) {
          numbers.push_back(static_cast<double>(value));
        });
      },
      options);
  return numbers;
}

TEST(RoundTrip, KeepsOptionsAndKeysThatAreNoOptions) {
  for (const char* model : {"gpt2_tiny", "llama_tiny", "llama3_small",
                            "mistral_small", "qwen2_small", "qwen3_small"})
    for (const Format by : {Format::kQuire, Format::kDcp}) {
      const TempFolder folder;
      const auto golden = open_weights(data_path(model));
      const auto there = converted(*golden, folder / "there", {.to = by});
      EXPECT_EQ(numbers_of(*there), numbers_of(*golden)) << model;
      EXPECT_EQ(there->description().other_keys,
                golden->description().other_keys)
          << model;
    }
}

TEST(RoundTrip, ShardsAreThoseThatWereAskedFor) {
  const auto golden = open_weights(data_path("llama_tiny"));
  for (const Format format : {Format::kQuire, Format::kDcp})
    for (const int shards : {1, 2, 3, 5}) {
      const TempFolder folder;
      const auto there = converted(*golden, folder / "there",
                                   {.to = format, .shards = shards});
      expect_same_weights(*there, *golden);
      int files = 0;
      for (const auto& entry :
           std::filesystem::directory_iterator(folder / "there"))
        files += entry.path().extension() == ".safetensors" ? 1 : 0;
      EXPECT_EQ(files, shards);
    }
}

TEST(RoundTrip, RoundsOnceToTheTypeThatIsAskedFor) {
  const auto golden = open_weights(data_path("gpt2_tiny"));
  for (const Format format :
       {Format::kQuire, Format::kHuggingFace, Format::kDcp, Format::kLlmc})
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      if (format == Format::kLlmc && dtype == DType::kF16) continue;
      const TempFolder folder;
      const auto there = converted(*golden, place(folder, format),
                                   {.to = format, .dtype = dtype});
      expect_same_weights(*there, *golden, dtype);
    }
}

}  // namespace
}  // namespace quire::convert
