#include "quire/convert/convert.h"

#include <algorithm>
#include <array>

#include "quire/convert/detail/options.h"
#include "quire/convert/detail/output.h"
#include "quire/convert/detail/side_files.h"
#include "quire/convert/detail/values.h"
#include "quire/convert/detail/writers.h"

namespace quire::convert {
namespace {

using Write = Converted (*)(const Weights&, const std::string&,
                            const ConvertOptions&, const ConvertProgress&);

struct Writer {
  Format format;
  Write write;
  Output::Kind makes;
};
constexpr std::array kWriters = {
    Writer{Format::kHuggingFace, write_hugging_face, Output::Kind::kFolder},
    Writer{Format::kQuire, write_quire, Output::Kind::kFolder},
    Writer{Format::kDcp, write_dcp, Output::Kind::kFolder},
    Writer{Format::kLlmc, write_llmc, Output::Kind::kFile},
    Writer{Format::kGguf, write_gguf, Output::Kind::kFile}};

}  // namespace

Converted convert(const Weights& weights, const std::string& out,
                  const ConvertOptions& options,
                  const ConvertProgress& progress) {
  check(options);
  const Writer& writer =
      *std::ranges::find(kWriters, options.to, &Writer::format);
  // What is surely written; headers come on top.
  std::int64_t bytes = written_bytes(weights, options);
  if (writer.makes == Output::Kind::kFolder)
    bytes += bytes_in(weights.description().side_files);
  Output output(out, writer.makes, bytes);
  return output.made_by(
      [&] { return writer.write(weights, output.path(), options, progress); });
}

}  // namespace quire::convert
