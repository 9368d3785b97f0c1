// A model's parameters with the names and shapes that Hugging Face gives them,
// on their way into its files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/checkpoint/safetensors.h"
#include "quire/convert/convert.h"
#include "quire/convert/detail/values.h"

namespace quire::convert {

struct ForeignParameter {
  const StoredParameter* parameter;
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype;      // as it is written
  bool transposed;  // [in, out] there

  std::int64_t bytes() const;
};

// Every parameter, in the model's order. The weights are borrowed.
std::vector<ForeignParameter> foreign_parameters(const Weights& weights,
                                                 const ConvertOptions& options);

struct Rows {
  std::int64_t first, count;  // of the foreign shape's first extent
};
// The rows as a tensor to be written; holds the parameter while it gives a
// transposed one. `stream` and `parameter` are borrowed.
checkpoint::SafetensorsTensor tensor_of_rows(ValueStream& stream,
                                             const ForeignParameter& parameter,
                                             const Rows& rows);
checkpoint::SafetensorsTensor whole_tensor(ValueStream& stream,
                                           const ForeignParameter& parameter);

// The type that a config.json states: that of most bytes.
DType main_dtype(const std::vector<ForeignParameter>& parameters);

// Writes config.json and copies the model's side files.
void write_description(const Weights& weights, DType dtype,
                       const std::string& folder);

// What a writer returns: `stream` has given all parameters.
Converted converted(const std::vector<ForeignParameter>& parameters,
                    const ValueStream& stream);

}  // namespace quire::convert
