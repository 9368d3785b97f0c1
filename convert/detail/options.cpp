#include "quire/convert/detail/options.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::convert {
namespace {

constexpr int kMostShards = 99999;  // five digits in a name

void refuse(Format format, std::string_view what) {
  throw UsageError(
      fmt::format("{} has no {}; leave it out", name_of(format), what));
}

void check_ranges(const ConvertOptions& options) {
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

void check(const ConvertOptions& options) {
  check_ranges(options);
  const ConvertOptions usual{.to = options.to};
  const bool cuts = options.to == Format::kQuire || options.to == Format::kDcp;
  if (options.shards != usual.shards && !cuts)
    refuse(options.to, "number of shards to choose");
  if (options.max_shard_bytes != usual.max_shard_bytes &&
      options.to != Format::kHuggingFace)
    refuse(options.to, "size of shards to choose");
}

}  // namespace quire::convert
