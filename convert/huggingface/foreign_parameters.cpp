#include "quire/convert/huggingface/foreign_parameters.h"

#include <algorithm>
#include <map>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/side_files.h"
#include "quire/convert/huggingface/config.h"
#include "quire/convert/huggingface/names.h"
#include "quire/convert/huggingface/transposed.h"
#include "quire/core/tensor.h"

namespace quire::convert {
namespace {

using checkpoint::ByteSink;

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

ForeignParameter foreign(const Weights& weights,
                         const StoredParameter& parameter, DType dtype) {
  const models::Options& options = weights.description().options;
  const auto extents = parameter.shape.extents();
  ForeignParameter result{.parameter = &parameter,
                          .name = full_name(options, parameter.name),
                          .shape = {extents.begin(), extents.end()},
                          .dtype = dtype,
                          .transposed = is_transposed(options, parameter.name)};
  if (result.transposed) std::ranges::reverse(result.shape);
  return result;
}

// The whole parameter is held, and its transpose given in pieces.
void give_transposed(ValueStream& stream, const ForeignParameter& parameter,
                     const Rows& rows, const ByteSink& sink) {
  const StoredParameter& stored = *parameter.parameter;
  const auto whole =
      stream.hold(stored, {0, stored.shape.numel()}, parameter.dtype);
  const std::int64_t width = size_of(parameter.dtype);
  const std::int64_t row_bytes = parameter.shape[1] * width;
  const std::int64_t most = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
  const std::int64_t end = rows.first + rows.count;
  std::vector<std::byte> piece;
  for (std::int64_t row = rows.first; row < end; row += most) {
    const std::int64_t count = std::min(most, end - row);
    piece.resize(static_cast<std::size_t>(count * row_bytes));
    transpose({.rows = parameter.shape[1],
               .columns = parameter.shape[0],
               .width = width,
               .first = row,
               .count = count},
              whole, piece);
    sink(piece);
    stream.tell_written(std::ssize(piece));
  }
}

void give_rows(ValueStream& stream, const ForeignParameter& parameter,
               const Rows& rows, const ByteSink& sink) {
  const std::int64_t row =
      parameter.parameter->shape.numel() / parameter.shape[0];
  stream.give(*parameter.parameter,
              {.first = rows.first * row, .count = rows.count * row},
              parameter.dtype, sink);
}

}  // namespace

std::int64_t ForeignParameter::bytes() const {
  return bytes_of(dtype, parameter->shape);
}

std::vector<ForeignParameter> foreign_parameters(
    const Weights& weights, const ConvertOptions& options) {
  std::vector<ForeignParameter> result;
  for (const auto& parameter : weights.parameters())
    result.push_back(
        foreign(weights, parameter, written_dtype(options, parameter)));
  return result;
}

checkpoint::SafetensorsTensor tensor_of_rows(ValueStream& stream,
                                             const ForeignParameter& parameter,
                                             const Rows& rows) {
  auto shape = parameter.shape;
  shape[0] = rows.count;
  return {.name = parameter.name,
          .dtype = std::string(checkpoint::safetensors_dtype(parameter.dtype)),
          .shape = shape,
          .give = [&stream, &parameter, rows](const ByteSink& sink) {
            if (parameter.transposed)
              give_transposed(stream, parameter, rows, sink);
            else
              give_rows(stream, parameter, rows, sink);
          }};
}

checkpoint::SafetensorsTensor whole_tensor(ValueStream& stream,
                                           const ForeignParameter& parameter) {
  return tensor_of_rows(stream, parameter,
                        {.first = 0, .count = parameter.shape[0]});
}

DType main_dtype(const std::vector<ForeignParameter>& parameters) {
  std::map<DType, std::int64_t> bytes;
  for (const auto& parameter : parameters)
    bytes[parameter.dtype] += parameter.bytes();
  return std::ranges::max_element(bytes, {},
                                  [](const auto& item) { return item.second; })
      ->first;
}

void write_description(const Weights& weights, DType dtype,
                       const std::string& folder) {
  checkpoint::write_text(checkpoint::joined(folder, "config.json"),
                         config_text(weights.description(), dtype), {});
  copy_side_files(weights.description().side_files, folder);
}

Converted converted(const std::vector<ForeignParameter>& parameters,
                    const ValueStream& stream) {
  std::int64_t bytes = 0;
  for (const auto& parameter : parameters) bytes += parameter.bytes();
  return {.parameters = static_cast<std::int64_t>(parameters.size()),
          .bytes = bytes,
          .warnings = stream.warnings()};
}

}  // namespace quire::convert
