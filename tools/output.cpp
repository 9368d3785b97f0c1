#include "tools/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "quire/core/file_io.h"
#include "tools/json.h"

namespace quire::tools {
namespace {

std::string json_of(const comm::Failure& failure) {
  const auto number_or_null = [](std::int64_t number) {
    return number < 0 ? Json() : Json(number);
  };
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  const Json error = {{"rank", number_or_null(failure.rank)},
                      {"step", number_or_null(failure.step)},
                      {"phase", text_or_null(failure.phase)},
                      {"layer", text_or_null(failure.layer)},
                      {"message", failure.message},
                      {"exit", failure.exit_code}};
  return line_of({{"error", error}});
}

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw_system_error("the result", "written to stdout", errno);
  }
}

// Where stderr is closed or full, nobody can be told.
void say(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

}  // namespace

std::string to_string(const comm::Failure& failure) {
  if (failure.rank < 0) return failure.message;
  std::string text = fmt::format("rank {}", failure.rank);
  if (failure.step >= 0) text += fmt::format(" in step {}", failure.step);
  if (const std::string place = failure.place(); !place.empty())
    text += fmt::format(" at {}", place);
  return text + " - " + failure.message;
}

void Output::result(const Result& result) const {
  write_out(form_ == Form::kJson ? result.json + "\n" : result.text);
}

void Output::part(std::string_view text) const { write_out(text); }

bool Output::is_watched() const {
  return form_ == Form::kText && ::isatty(STDOUT_FILENO) == 1;
}

int Output::failure(const comm::Failure& failure) const {
  if (!failure.detail.empty()) say(failure.detail);
  say("error: " + to_string(failure));
  if (form_ == Form::kJson) std::puts(json_of(failure).c_str());
  std::fflush(stdout);
  return failure.exit_code;
}

void tell(const std::string& text) { say(text); }
void warn(const std::string& text) { say("warning: " + text); }

}  // namespace quire::tools
