// Models as Hugging Face keeps them: a folder of config.json and safetensors
// weights. The model type gpt2 is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/models/gpt2.h"

namespace quire::convert {

// True if the folder holds a config.json.
bool is_hugging_face(const std::string& folder);

// Open for reading; const calls from any number of threads. Move-only. The
// weights are read by ranges when they are asked for, so that any number of
// ranks reads a model without holding it.
class HuggingFaceModel {
 public:
  // UsageError naming file and key for what this model type cannot be, another
  // model type, or hostile files; one error lists all tensors that are missing,
  // unexpected, or of another shape.
  explicit HuggingFaceModel(const std::string& folder);
  ~HuggingFaceModel();
  HuggingFaceModel(HuggingFaceModel&&) noexcept;
  HuggingFaceModel& operator=(HuggingFaceModel&&) noexcept;

  // models::gpt2(options()) has the parameters that can be read.
  const models::Gpt2Options& options() const;
  // What is odd and does no harm, one line each.
  const std::vector<std::string>& warnings() const;

  // out = elements [first, first + out.size()) of the parameter, under its name
  // and in its layout in models::gpt2, widened from fp32, bf16 or fp16.
  // UsageError unless it is there and holds the range.
  void read(std::string_view parameter, std::int64_t first,
            std::span<float> out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quire::convert
