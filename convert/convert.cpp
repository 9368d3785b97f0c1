#include "quire/convert/convert.h"

#include <algorithm>
#include <array>

#include "quire/convert/detail/options.h"
#include "quire/convert/detail/output.h"
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

// For headers, side files and the file system's own.
constexpr std::int64_t kSlack = std::int64_t{16} << 20;

}  // namespace

Converted convert(const Weights& weights, const std::string& out,
                  const ConvertOptions& options,
                  const ConvertProgress& progress) {
  check(options);
  const Writer& writer =
      *std::ranges::find(kWriters, options.to, &Writer::format);
  Output output(out, writer.makes, written_bytes(weights, options) + kSlack);
  Converted done = writer.write(weights, output.path(), options, progress);
  output.publish();
  return done;
}

}  // namespace quire::convert
