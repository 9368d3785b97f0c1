#include "quire/checkpoint/open_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "quire/checkpoint/safetensors.h"
#include "quire/core/error.h"
#include "tests/support/many_files.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"

namespace quire::checkpoint {
namespace {

using namespace quire::testing;

constexpr int kMany = static_cast<int>(OpenFiles::kMost) + 6;

// One-byte tensors "t", the file's number their value.
struct ManyFiles {
  ManyFiles() {
    const auto open = std::make_shared<OpenFiles>();
    for (int i = 0; i < kMany; ++i) {
      write_one_byte(path(i), "t", static_cast<char>(i));
      files.emplace_back(path(i), File::Links::kRefuse, open);
    }
  }
  std::string path(int i) const { return folder / std::to_string(i); }
  int value(int i) const {
    const auto& file = files[static_cast<std::size_t>(i)];
    std::byte value;
    file.read(file.at("t"), 0, 1, {&value, 1});
    return std::to_integer<int>(value);
  }

  TempFolder folder;
  std::vector<SafetensorsFile> files;
};

TEST(OpenFiles, AreAFewOfAllThatAreRead) {
  const std::int64_t before = open_descriptors();
  const ManyFiles many;
  for (int i = 0; i < 2 * kMany; ++i)
    EXPECT_EQ(many.value(i % kMany), i % kMany);
  EXPECT_EQ(open_descriptors() - before, std::ssize(many.files) - 6);
}

TEST(OpenFiles, AreTheLastOnesUsed) {
  const ManyFiles many;  // 0 to 5 are let go of
  EXPECT_EQ(many.value(6), 6);
  EXPECT_EQ(many.value(0), 0);  // instead of 7
  std::filesystem::remove(many.path(6));
  std::filesystem::remove(many.path(7));
  EXPECT_EQ(many.value(6), 6);
  expect_mentions(usage_error_of([&] { many.value(7); }),
                  {many.path(7), "does not exist"});
}

TEST(OpenFiles, ServeManyThreads) {
  const ManyFiles many;
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  for (int step = 1; step <= 4; ++step)
    threads.emplace_back([&, step] {
      for (int i = 0; i < kMany; ++i) {
        const int file = i * step % kMany;
        if (many.value(file) == file) ++right;
      }
    });
  threads.clear();
  EXPECT_EQ(right, 4 * kMany);
}

TEST(OpenFiles, AreOpenedAgainOnlyAsTheyWere) {
  const ManyFiles many;
  const auto refusal_of = [&](int i) -> std::string {
    try {
      many.value(i);
    } catch (const SystemError& error) {
      return error.what();
    }
    return "";
  };
  write_one_byte(many.path(0), "u", 0);
  expect_mentions(refusal_of(0), {many.path(0), "changed while it was read"});
  write_one_byte(many.path(1), "t1", 0);
  expect_mentions(refusal_of(1), {many.path(1), "changed while it was read"});
  std::filesystem::remove(many.path(2));
  std::filesystem::create_symlink(many.path(1), many.path(2));
  expect_mentions(usage_error_of([&] { many.value(2); }), {"symbolic link"});
}

}  // namespace
}  // namespace quire::checkpoint
