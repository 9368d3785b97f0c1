#include <fmt/format.h>

#include <map>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/writers.h"
#include "quire/convert/huggingface/foreign_parameters.h"

namespace quire::convert {
namespace {

using Parameters = std::vector<ForeignParameter>;

// Which parameters go into which file, in order; one that is larger than a file
// may be has its own.
std::vector<Parameters> into_files(const Parameters& parameters,
                                   std::int64_t most) {
  std::vector<Parameters> files(1);
  std::int64_t bytes = 0;
  for (const auto& parameter : parameters) {
    if (!files.back().empty() && parameter.bytes() > most - bytes) {
      files.emplace_back();
      bytes = 0;
    }
    files.back().push_back(parameter);
    bytes += parameter.bytes();
  }
  return files;
}

std::string file_name(std::size_t file, std::size_t files) {
  if (files == 1) return "model.safetensors";
  return fmt::format("model-{:05}-of-{:05}.safetensors", file + 1, files);
}

// Names hold no character that JSON escapes: they are the model's own.
std::string index_text(const std::vector<Parameters>& files) {
  std::map<std::string, std::string> places;
  std::int64_t bytes = 0, numel = 0;
  for (std::size_t file = 0; file < files.size(); ++file)
    for (const auto& parameter : files[file]) {
      places[parameter.name] = file_name(file, files.size());
      bytes += parameter.bytes();
      numel += parameter.parameter->shape.numel();
    }
  std::string text;
  for (const auto& [name, place] : places)
    text += fmt::format("{}\n    \"{}\": \"{}\"", text.empty() ? "" : ",", name,
                        place);
  return fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_parameters\": {},\n    "
      "\"total_size\": {}\n  }},\n  \"weight_map\": {{{}\n  }}\n}}\n",
      numel, bytes, text);
}

void write_file(ValueStream& stream, const Parameters& parameters,
                const std::string& path) {
  std::vector<checkpoint::SafetensorsTensor> tensors;
  for (const auto& parameter : parameters)
    tensors.push_back(whole_tensor(stream, parameter));
  checkpoint::write_safetensors(path, std::move(tensors), {});
}

}  // namespace

Converted write_hugging_face(const Weights& weights, const std::string& folder,
                             const ConvertOptions& options,
                             const ConvertProgress& progress) {
  const Parameters parameters = foreign_parameters(weights, options);
  const auto files = into_files(parameters, options.max_shard_bytes);
  write_description(weights, main_dtype(parameters), folder);
  ValueStream stream(weights, options, progress);
  for (std::size_t file = 0; file < files.size(); ++file)
    write_file(stream, files[file],
               checkpoint::joined(folder, file_name(file, files.size())));
  if (files.size() > 1)
    checkpoint::write_text(checkpoint::joined(folder, kIndexName),
                           index_text(files), {});
  return converted(parameters, stream);
}

}  // namespace quire::convert
