// A name that is there and that the system opens for nobody.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace quire::testing {

// Puts a socket in the file's place: "No such device or address".
inline void make_unopenable(const std::string& path) {
  const std::filesystem::path file(path);
  std::filesystem::remove(file);
  const int folder = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY);
  const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
  // Its folder's path may be longer than an address.
  const std::string name = "/proc/self/fd/" + std::to_string(folder) + "/" +
                           file.filename().string();
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  std::ranges::copy(name, address.sun_path);
  EXPECT_EQ(::bind(made, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  ::close(made);
  ::close(folder);
}

}  // namespace quire::testing
