#include "quire/core/file_io.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "quire/core/error.h"

namespace quire {
namespace {

Descriptor memory_file() { return Descriptor(memfd_create("file", 0)); }

std::string text_at(const Descriptor& file, std::int64_t offset,
                    std::size_t most) {
  std::string text(most, '.');
  text.resize(
      read_at(file, "file", offset, std::as_writable_bytes(std::span(text))));
  return text;
}

void put(const Descriptor& file, std::int64_t offset, std::string_view text) {
  write_at(file, "file", offset, std::as_bytes(std::span(text)));
}

template <class Fn>
std::string failure_of(Fn fn) {
  try {
    fn();
  } catch (const SystemError& error) {
    return error.what();
  }
  return "";
}

TEST(FileIo, ReadsWhatWasWrittenAsFarAsThereIsAny) {
  const Descriptor file = memory_file();
  put(file, 0, "tokens");
  put(file, 4, "mes");
  EXPECT_EQ(text_at(file, 0, 7), "tokemes");
  EXPECT_EQ(text_at(file, 5, 100), "es");
  EXPECT_EQ(text_at(file, 9, 100), "");
}

TEST(FileIo, NamesTheFileAndTheReasonOfAFailure) {
  const Descriptor closed;
  EXPECT_EQ(failure_of([&] { text_at(closed, 0, 1); }),
            "file cannot be read: Bad file descriptor");
  EXPECT_EQ(failure_of([&] { put(closed, 0, "x"); }),
            "file cannot be written: Bad file descriptor");
  EXPECT_EQ(failure_of([] { sync_folder("/nowhere"); }),
            "/nowhere cannot be synced: No such file or directory");
  EXPECT_EQ(failure_of([] { throw_system_error("it", "moved", ENOSPC); }),
            "it cannot be moved: No space left on device");
}

}  // namespace
}  // namespace quire
