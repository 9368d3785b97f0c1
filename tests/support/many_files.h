// Files by the dozen, and how many of them this process holds open.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace quire::testing {

inline std::int64_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all)) - 1;  // but for its own
}

// As long as it lives, the process opens no more than so many besides.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::int64_t more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(open_descriptors() + more);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_;
};

// A safetensors file of one tensor of one byte.
inline void write_one_byte(const std::string& path, const std::string& tensor,
                           char value) {
  std::string header = R"({")" + tensor +
                       R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.insert(0, {static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0});
  std::ofstream(path, std::ios::binary) << header << value;
}

}  // namespace quire::testing
