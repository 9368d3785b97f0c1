// Trains a small model on 3 ranks, in fp32 and in bf16, and saves it; beside
// the checkpoint each rank writes what it holds in memory, as text:
//
//   quire_saved_values FOLDER
//
//   FOLDER/TYPE/step-00000003    TYPE: fp32, bf16
//   FOLDER/TYPE.RANK             lines "KIND PARAMETER FIRST BYTES",
//   hexadecimal
//
// Prints "TYPE FINGERPRINT" for each.
#include <cstdio>
#include <fstream>

#include "quire/core/hash.h"
#include "tests/engine/saved_training.h"
#include "tests/support/matrix.h"

namespace quire {
namespace {

constexpr int kSteps = 3;

std::string hex_of(const Tensor& tensor) {
  constexpr const char* kDigits = "0123456789abcdef";
  const auto* bytes = reinterpret_cast<const unsigned char*>(tensor.raw());
  std::string text;
  for (std::int64_t i = 0; i < tensor.bytes(); ++i) {
    text += kDigits[bytes[i] / 16];
    text += kDigits[bytes[i] % 16];
  }
  return text;
}

void write_values(const std::string& path, const nn::Model& model,
                  const engine::Engine& engine) {
  std::ofstream out(path);
  for (const engine::StateRange& range : engine.owned_state())
    out << range.kind << ' ' << model.parameter(range.parameter).name << ' '
        << range.first << ' ' << hex_of(range.data) << '\n';
}

void save_with_values(test::Types types, const std::string& path) {
  test::Training t = test::reference_training(types);
  t.ranks = 3;
  t.options.stage = engine::Stage::kParameters;
  t.steps = kSteps;
  t.end = [&](engine::Engine& engine, comm::Communicator& communicator) {
    const nn::Model model = models::gpt2(t.model);
    write_values(path + '.' + std::to_string(communicator.rank()), model,
                 engine);
    test::save(path, kSteps, model, engine, communicator);
  };
  test::train(t);
}

void run(const std::string& folder) {
  for (const auto& [types, name] :
       {std::pair(test::Types::kFp32, "fp32"), {test::Types::kBf16, "bf16"}}) {
    const std::string path = folder + "/" + name;
    save_with_values(types, path);
    std::printf("%s %s\n", name, to_hex(test::fingerprint_of(path)).c_str());
  }
}

}  // namespace
}  // namespace quire

int main(int count, char** arguments) {
  if (count != 2) return 2;
  quire::run(arguments[1]);
  return 0;
}
