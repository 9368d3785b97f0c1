#include <fmt/format.h>

#include <algorithm>

#include "quire/checkpoint/files.h"
#include "quire/convert/dcp/shards.h"
#include "quire/convert/detail/writers.h"
#include "quire/convert/huggingface/foreign_parameters.h"
#include "quire/core/divide.h"

namespace quire::convert {
namespace {

using Parameters = std::vector<ForeignParameter>;

struct Which {
  int shard, shards;
};

// Equal numbers of rows, rounded up, as torch.chunk cuts; the last shards may
// have none.
Rows rows_of(const ForeignParameter& parameter, const Which& which) {
  const std::int64_t rows = parameter.shape[0];
  const std::int64_t each = divide_up(rows, which.shards);
  const std::int64_t first = std::min(rows, which.shard * each);
  return {.first = first, .count = std::min(each, rows - first)};
}

// Names hold no character that JSON escapes: they are the model's own.
std::string offsets_text(const ForeignParameter& parameter,
                         std::int64_t first) {
  std::string others;
  for (std::size_t i = 1; i < parameter.shape.size(); ++i) others += ", 0";
  return fmt::format(R"("{}": {{"saved_offsets": [{}{}]}})", parameter.name,
                     first, others);
}

void write_shard(ValueStream& stream, const Parameters& parameters,
                 const std::string& folder, const Which& which) {
  std::vector<checkpoint::SafetensorsTensor> tensors;
  std::string info;
  for (const auto& parameter : parameters) {
    const Rows rows = rows_of(parameter, which);
    if (rows.count == 0) continue;
    tensors.push_back(tensor_of_rows(stream, parameter, rows));
    info += (info.empty() ? "" : ", ") + offsets_text(parameter, rows.first);
  }
  if (tensors.empty()) return;
  checkpoint::write_safetensors(
      checkpoint::joined(folder, shard_file_name(which.shard)),
      std::move(tensors),
      {{kVersionKey, "1.0"}, {kShardingKey, "{" + info + "}"}});
}

}  // namespace

Converted write_dcp(const Weights& weights, const std::string& folder,
                    const ConvertOptions& options,
                    const ConvertProgress& progress) {
  const Parameters parameters = foreign_parameters(weights, options);
  write_description(weights, main_dtype(parameters), folder);
  ValueStream stream(weights, options, progress);
  for (int shard = 0; shard < options.shards; ++shard)
    write_shard(stream, parameters, folder, {shard, options.shards});
  return converted(parameters, stream);
}

}  // namespace quire::convert
