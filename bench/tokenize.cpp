// Megabytes of text per second that one core encodes and decodes:
//
//   bench/tokenize TEXT [TOKENIZER] [rounds]
//
// The text is repeated to 16 MB and comes in blocks of 1 MiB, as `quire
// tokenize` reads it. Printed is the median over the rounds; the first text
// finds nothing in the cache of pieces. What is decoded is compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "quire/data/text_encoder.h"

namespace {

using namespace quire;
using Ids = std::vector<std::int32_t>;

constexpr std::size_t kTextBytes = 16'000'000;
constexpr std::size_t kBlockBytes = 1 << 20;

std::string repeated(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string once((std::istreambuf_iterator<char>(file)), {});
  if (once.empty()) throw std::runtime_error("no text in " + std::string(path));
  std::string text;
  while (text.size() < kTextBytes) text += once;
  return text;
}

Ids encoded(const data::Tokenizer& tokenizer, std::string_view text) {
  data::TextEncoder encoder(tokenizer);
  Ids all;
  const auto take = [&](std::span<const std::int32_t> ids) {
    all.insert(all.end(), ids.begin(), ids.end());
  };
  for (; !text.empty(); text.remove_prefix(std::min(kBlockBytes, text.size())))
    take(encoder.add(text.substr(0, kBlockBytes)));
  take(encoder.finish());
  return all;
}

template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  return time.count();
}

void print(const char* what, std::size_t bytes, std::vector<double> seconds) {
  std::ranges::sort(seconds);
  std::printf("%-8s %7.1f MB/s\n", what,
              1e-6 * static_cast<double>(bytes) / seconds[seconds.size() / 2]);
}

void run(const std::string& text, const char* name, int rounds) {
  const auto tokenizer = data::make_tokenizer(name);
  std::vector<double> encoding;
  std::vector<double> decoding;
  for (int round = 0; round < rounds; ++round) {
    Ids ids;
    std::string back;
    encoding.push_back(seconds_of([&] { ids = encoded(*tokenizer, text); }));
    decoding.push_back(seconds_of([&] { back = tokenizer->decode(ids); }));
    if (back != text && encoded(*tokenizer, back) != ids)
      throw std::runtime_error("decoded to another text");
    if (round == 0)
      std::printf("%s: %zu bytes, %zu tokens\n", name, text.size(), ids.size());
  }
  print("encode", text.size(), encoding);
  print("decode", text.size(), decoding);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: tokenize TEXT [TOKENIZER] [rounds]\n");
    return 2;
  }
  try {
    run(repeated(argv[1]), argc > 2 ? argv[2] : "gpt2",
        argc > 3 ? std::max(1, std::atoi(argv[3])) : 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
  return 0;
}
