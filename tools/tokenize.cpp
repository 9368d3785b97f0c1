#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "quire/core/error.h"
#include "quire/data/text_encoder.h"
#include "quire/data/token_writer.h"
#include "quire/data/tokenizer.h"
#include "tools/command.h"
#include "tools/interrupts.h"
#include "tools/json.h"
#include "tools/progress.h"
#include "tools/text_file.h"

namespace quire::tools {
namespace {

namespace fs = std::filesystem;
struct Options {
  std::vector<std::string> files;
  std::string tokenizer;
  std::string out;
  double validation = 0.0;
};

std::int64_t bytes_of(const std::vector<std::string>& files) {
  std::int64_t bytes = 0;
  for (const std::string& file : files) bytes += TextFile(file).bytes();
  return bytes;
}

// Calls `take` with the tokens of every block; none spans two files.
template <class Take>
void each_block(const Options& options, const data::Tokenizer& tokenizer,
                Progress& progress, const Take& take) {
  std::int64_t done = 0;
  for (const std::string& path : options.files) {
    TextFile file(path);
    data::TextEncoder encoder(tokenizer);
    for (std::string text = file.next(); !text.empty(); text = file.next()) {
      Interrupts::check();
      take(encoder.add(text));
      progress.show(done += static_cast<std::int64_t>(text.size()));
    }
    take(encoder.finish());
  }
}

std::int64_t count_tokens(const Options& options,
                          const data::Tokenizer& tokenizer) {
  Progress progress("counting", bytes_of(options.files));
  std::int64_t tokens = 0;
  each_block(options, tokenizer, progress, [&](auto ids) {
    tokens += static_cast<std::int64_t>(ids.size());
  });
  return tokens;
}

// How many of the tokens are trained on: all but the last ones, which are held
// out.
std::int64_t training_tokens(const Options& options, std::int64_t tokens) {
  const std::int64_t held =
      std::llround(static_cast<double>(tokens) * options.validation);
  if (held > 0 && held < tokens) return tokens - held;
  throw UsageError(fmt::format(
      "the files hold {} tokens, of which --validation {} holds out {}; "
      "expected some in each part",
      tokens, options.validation, held));
}

// A folder, made with those above it; gone again, those that it made, unless it
// is kept.
class MadeFolder {
 public:
  // UsageError if it cannot be made.
  explicit MadeFolder(const std::string& path) {
    std::error_code error;
    for (fs::path at = path; !at.empty() && !fs::exists(at, error);
         at = at.parent_path())
      made_.push_back(at);
    fs::create_directories(path, error);
    if (!error && fs::is_directory(path, error)) return;
    remove();
    throw UsageError(fmt::format(
        "the folder {} cannot be made: {}; give another one as --out", path,
        error ? error.message() : "a file of that name exists"));
  }
  ~MadeFolder() { remove(); }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

  void keep() { made_.clear(); }

 private:
  // One that is not empty has become somebody else's, too.
  void remove() const {
    std::error_code ignored;
    for (const fs::path& each : made_) fs::remove(each, ignored);
  }

  std::vector<fs::path> made_;  // the innermost first
};

struct Written {
  std::vector<std::string> files;
  std::int64_t tokens = 0;
};

Written finish(data::TokenWriter& writer) {
  return {.files = writer.finish(), .tokens = writer.tokens()};
}

struct Parts {
  Written train;
  std::optional<Written> validation;
};

// Both or none.
Parts finish_parts(data::TokenWriter& train, data::TokenWriter& validation) {
  Parts parts;
  if (validation.tokens() > 0) parts.validation = finish(validation);
  try {
    parts.train = finish(train);
  } catch (...) {
    std::error_code ignored;
    if (parts.validation)
      for (const std::string& file : parts.validation->files)
        fs::remove(file, ignored);
    throw;
  }
  return parts;
}

// Nothing stands under a final name before all has been written.
Parts write_parts(const Options& options, const data::Tokenizer& tokenizer,
                  std::int64_t train_tokens) {
  const auto writer_of = [&](const char* name) {
    return data::TokenWriter({.path = (fs::path(options.out) / name).string(),
                              .vocabulary = tokenizer.vocabulary()});
  };
  data::TokenWriter train = writer_of("train.bin");
  data::TokenWriter validation = writer_of("validation.bin");
  Progress progress("writing", bytes_of(options.files));
  each_block(options, tokenizer, progress, [&](auto ids) {
    const std::int64_t left = train_tokens - train.tokens();
    const auto count = std::min<std::size_t>(
        ids.size(), static_cast<std::size_t>(std::max<std::int64_t>(left, 0)));
    train.write(ids.first(count));
    validation.write(ids.subspan(count));
  });
  return finish_parts(train, validation);
}

Json json_of(const Written& written) {
  return {{"tokens", written.tokens}, {"files", written.files}};
}

Result result_of(const Parts& parts, const data::Tokenizer& tokenizer) {
  Json json = {{"tokenizer", tokenizer.name()},
               {"vocabulary", tokenizer.vocabulary()},
               {"train", json_of(parts.train)}};
  std::string text = fmt::format("{} tokens in {}\n", parts.train.tokens,
                                 parts.train.files.front());
  if (parts.validation) {
    json["validation"] = json_of(*parts.validation);
    text += fmt::format("{} tokens in {}\n", parts.validation->tokens,
                        parts.validation->files.front());
  }
  return {.json = line_of(json), .text = text};
}

// Only where some are held out are the tokens counted first.
int run(const Options& options, const Output& output) {
  const auto tokenizer = data::make_tokenizer(options.tokenizer);
  if (bytes_of(options.files) == 0)
    throw UsageError("the files hold no text; expected some to tokenize");
  std::int64_t train = std::numeric_limits<std::int64_t>::max();
  if (options.validation > 0)
    train = training_tokens(options, count_tokens(options, *tokenizer));
  const Parts parts =
      unless_stopped((fs::path(options.out) / "train.bin").string(), [&] {
        MadeFolder folder(options.out);
        Parts written = write_parts(options, *tokenizer, train);
        folder.keep();
        return written;
      });
  output.result(result_of(parts, *tokenizer));
  return 0;
}

}  // namespace

Command tokenize_command(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("tokenize", "texts to token files for training");
  const auto options = std::make_shared<Options>();
  app->add_option("files", options->files, "texts, one after the other")
      ->required();
  app->add_option("--tokenizer", options->tokenizer,
                  "bytes, gpt2, or a folder with tokenizer.json, with "
                  "vocab.json and merges.txt, or with encoder.json and "
                  "vocab.bpe")
      ->required();
  app->add_option("--out", options->out,
                  "the folder for train.bin and validation.bin, which must not "
                  "exist there")
      ->required();
  app->add_option("--validation", options->validation,
                  "the part of the tokens, the last ones, that is held out in "
                  "validation.bin: 0.1; 0 (the default): none")
      ->check(CLI::Range(0.0, 1.0));
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
