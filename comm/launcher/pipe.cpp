#include "quire/comm/launcher/pipe.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "quire/core/error.h"

namespace quire::comm {

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw SystemError(
        fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  reader = Descriptor(ends[0]);
  writer = Descriptor(ends[1]);
}

}  // namespace quire::comm
