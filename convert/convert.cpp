#include "quire/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "quire/convert/detail/output.h"
#include "quire/convert/detail/values.h"
#include "quire/convert/detail/writers.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

using Write = Converted (*)(const Weights&, const std::string&,
                            const ConvertOptions&, const ConvertProgress&);

struct Writer {
  Format format;
  Write write;
  Output::Kind makes;
  bool cuts;  // into options.shards
};
constexpr std::array kWriters = {
    Writer{Format::kHuggingFace, write_hugging_face, Output::Kind::kFolder,
           false},
    Writer{Format::kQuire, write_quire, Output::Kind::kFolder, true},
    Writer{Format::kDcp, write_dcp, Output::Kind::kFolder, true},
    Writer{Format::kLlmc, write_llmc, Output::Kind::kFile, false},
    Writer{Format::kGguf, write_gguf, Output::Kind::kFile, false}};

constexpr int kMostShards = 99999;  // five digits in a name
// For headers, side files and the file system's own.
constexpr std::int64_t kSlack = std::int64_t{16} << 20;

const Writer& writer_of(const ConvertOptions& options) {
  const Writer& writer =
      *std::ranges::find(kWriters, options.to, &Writer::format);
  const auto refuse = [&](std::string_view what) {
    throw UsageError(
        fmt::format("{} has no {}; leave it out", name_of(options.to), what));
  };
  if (options.shards != 1 && !writer.cuts) refuse("number of shards to choose");
  if (options.max_shard_bytes !=
          ConvertOptions{.to = options.to}.max_shard_bytes &&
      options.to != Format::kHuggingFace)
    refuse("size of shards to choose");
  return writer;
}

void check(const ConvertOptions& options) {
  if (options.shards < 1 || options.shards > kMostShards)
    throw UsageError(fmt::format("got {} shards; expected 1 to {}",
                                 options.shards, kMostShards));
  if (options.max_shard_bytes < 1)
    throw UsageError(fmt::format("got shards of {} bytes; expected at least 1",
                                 options.max_shard_bytes));
  if (options.dtype && !is_real(*options.dtype))
    throw UsageError(fmt::format("got {}; expected fp32, bf16 or fp16",
                                 name_of(*options.dtype)));
}

}  // namespace

Converted convert(const Weights& weights, const std::string& out,
                  const ConvertOptions& options,
                  const ConvertProgress& progress) {
  check(options);
  const Writer& writer = writer_of(options);
  Output output(out, writer.makes, written_bytes(weights, options) + kSlack);
  Converted done = writer.write(weights, output.path(), options, progress);
  output.publish();
  return done;
}

}  // namespace quire::convert
