#include "quire/comm/launcher/pipe.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::comm {

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw SystemError(fmt::format("cannot make a pipe: {}", reason_of(errno)));
  }
  reader = Descriptor(ends[0]);
  writer = Descriptor(ends[1]);
}

}  // namespace quire::comm
