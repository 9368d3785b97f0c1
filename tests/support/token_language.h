// What the tests of this room say: token files made by hand, byte by byte, and
// the messages of errors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "quire/core/error.h"
#include "quire/core/tensor.h"
#include "quire/data/token_set.h"
#include "tests/support/temp_folder.h"

namespace quire::data {

using quire::testing::TempFolder;
using Ids = std::vector<std::int32_t>;

// Not made with the room's own constants.
struct RawTokenFile {
  std::int32_t magic = 20240520;
  std::int32_t version = 1;
  std::int32_t count = 0;
  std::string body = {};
};

inline std::string little_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string write_raw(const std::string& path,
                             const RawTokenFile& file) {
  std::string text;
  for (const auto word : {file.magic, file.version, file.count})
    text += little_endian(static_cast<std::uint32_t>(word), 4);
  text.resize(1024, '\0');
  write_text(path, text + file.body);
  return path;
}

inline std::string write_u16(const std::string& path, const Ids& ids) {
  RawTokenFile file{.count = static_cast<std::int32_t>(ids.size())};
  for (const auto id : ids)
    file.body += little_endian(static_cast<std::uint32_t>(id), 2);
  return write_raw(path, file);
}

inline std::string write_u32(const std::string& path,
                             const std::vector<std::uint32_t>& ids) {
  RawTokenFile file{.magic = 20240801,
                    .version = 7,
                    .count = static_cast<std::int32_t>(ids.size())};
  for (const auto id : ids) file.body += little_endian(id, 4);
  return write_raw(path, file);
}

// first, first + 1, ...
inline Ids counting(std::int32_t first, std::int32_t count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Neither constant nor predictable at once.
inline Ids varied(std::int32_t count, std::int32_t vocabulary) {
  Ids ids;
  for (std::int32_t i = 0; i < count; ++i)
    ids.push_back((i * i + i / 3) % vocabulary);
  return ids;
}

// A file of the ids 0, 1, 2, ...: a token tells its position.
inline std::shared_ptr<const TokenSet> counting_tokens(const TempFolder& folder,
                                                       std::int32_t count) {
  return std::make_shared<TokenSet>(
      write_u16(folder / "counting.bin", counting(0, count)));
}

template <class Tokens>
Ids read(const Tokens& tokens, std::int64_t position, std::int64_t count) {
  Ids ids(static_cast<std::size_t>(count), -1);
  tokens.copy(position, count, ids.data());
  return ids;
}

inline Ids ids_of(const Tensor& tensor) {
  const auto* data = tensor.data<std::int32_t>();
  return {data, data + tensor.numel()};
}

// Fails unless fn() throws an Error whose message holds every part.
template <class Error = UsageError, class Fn>
void expect_refused(Fn&& fn, const std::vector<std::string>& parts) {
  try {
    fn();
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const auto& part : parts)
      EXPECT_NE(message.find(part), std::string::npos)
          << part << " in: " << message;
    return;
  }
  ADD_FAILURE() << "nothing was refused";
}

}  // namespace quire::data
