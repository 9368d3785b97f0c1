// What the fuzz programs share: the input as a file, and what a reader may do
// with it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "quire/core/error.h"

namespace quire::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the program so that the input is kept.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// A file in memory that holds exactly `bytes`; its path opens it anew.
class InputFile {
 public:
  explicit InputFile(std::string_view bytes)
      : file_(::memfd_create("input", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(file_)) {
    require(file_ >= 0);
    require(::write(file_, bytes.data(), bytes.size()) ==
            static_cast<ssize_t>(bytes.size()));
  }
  ~InputFile() { ::close(file_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

// A folder in memory of this process's own. It is left to scripts/fuzz to
// remove, since a crash runs no destructor.
class InputFolder {
 public:
  InputFolder() {
    const char* parent = std::getenv("QUIRE_FUZZ_FOLDER");
    std::string name =
        std::string(parent != nullptr ? parent : "/dev/shm") + "/fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  const std::string& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc)
        << bytes;
  }

 private:
  std::string path_;
};

// read() may end with an error of the library's own and with nothing else.
template <class Read>
void accept_or_refuse(Read&& read) {
  try {
    read();
  } catch (const UsageError&) {
  } catch (const SystemError&) {
  }
}

}  // namespace quire::fuzz
