#include "tools/state_differences.h"

#include <bit>
#include <cstring>
#include <map>

#include "quire/checkpoint/checkpoint.h"
#include "quire/convert/difference.h"
#include "quire/core/tensor.h"

namespace quire::tools {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ManifestParameter;
using checkpoint::ManifestState;

constexpr std::size_t kMostRead = 8;

// A state by what it is called in the scope; values by their parameter's name.
struct Named {
  const ManifestParameter* parameter;
  const ManifestState* state;
};
using States = std::map<std::string, Named>;

void add(const ManifestParameter& parameter, checkpoint::Scope scope,
         States& states) {
  if (scope == checkpoint::Scope::kState) {
    for (const auto& state : parameter.states)
      states[checkpoint::tensor_name(state.kind, parameter.name)] = {&parameter,
                                                                     &state};
    return;
  }
  const auto* value = parameter.value();
  if (value != nullptr) states[parameter.name] = {&parameter, value};
}

States states_of(const Checkpoint& saved, checkpoint::Scope scope) {
  States states;
  for (const auto& parameter : saved.manifest().parameters)
    add(parameter, scope, states);
  return states;
}

float widened(DType dtype, const std::byte* at) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  if (dtype == DType::kBF16)
    return static_cast<float>(std::bit_cast<BFloat16>(bits));
  return static_cast<float>(std::bit_cast<Float16>(bits));
}

convert::ReadFloats reader_of(const Checkpoint& saved, const Named& named) {
  return [&saved, named](std::int64_t first, std::span<float> out) {
    const DType dtype = named.state->dtype;
    std::vector<std::byte> bytes(out.size() *
                                 static_cast<std::size_t>(size_of(dtype)));
    saved.load(named.state->kind, named.parameter->name, first,
               tensor_over(bytes.data(), dtype, {std::ssize(out)}, nullptr));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = widened(
          dtype, bytes.data() + i * static_cast<std::size_t>(size_of(dtype)));
  };
}

bool differ(const Named& a, const Named& b) {
  return a.parameter->shape == b.parameter->shape &&
         a.state->hash != b.state->hash && is_real(a.state->dtype) &&
         is_real(b.state->dtype);
}

}  // namespace

std::vector<std::string> state_differences(const std::string& a,
                                           const std::string& b,
                                           checkpoint::Scope scope) {
  const Checkpoint first = Checkpoint::open(a);
  const Checkpoint second = Checkpoint::open(b);
  const States others = states_of(second, scope);
  std::vector<std::string> lines;
  for (const auto& [name, state] : states_of(first, scope)) {
    const auto other = others.find(name);
    if (other == others.end() || !differ(state, other->second)) continue;
    const std::int64_t numel = state.parameter->shape.numel();
    const auto found = convert::difference_of(numel, reader_of(first, state),
                                              reader_of(second, other->second));
    lines.push_back(convert::to_string(name, found, numel));
    if (lines.size() == kMostRead) break;
  }
  return lines;
}

}  // namespace quire::tools
