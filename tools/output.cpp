#include "tools/output.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace quire::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string json_of(const comm::Failure& failure) {
  const auto number_or_null = [](std::int64_t number) {
    return number < 0 ? Json() : Json(number);
  };
  const Json error = {
      {"rank", number_or_null(failure.rank)},
      {"step", number_or_null(failure.step)},
      {"layer", failure.layer.empty() ? Json() : Json(failure.layer)},
      {"message", failure.message},
      {"exit", failure.exit_code}};
  return Json{{"error", error}}.dump(-1, ' ', false,
                                     Json::error_handler_t::replace);
}

}  // namespace

std::string to_string(const comm::Failure& failure) {
  if (failure.rank < 0) return failure.message;
  std::string text = fmt::format("rank {}", failure.rank);
  if (failure.step >= 0) text += fmt::format(" in step {}", failure.step);
  if (!failure.layer.empty())
    text += fmt::format(" at layer {}", failure.layer);
  return text + " - " + failure.message;
}

void Output::result(const Result& result) const {
  const bool json = form_ == Form::kJson;
  fmt::print("{}{}", json ? result.json : result.text, json ? "\n" : "");
  std::fflush(stdout);
}

int Output::failure(const comm::Failure& failure) const {
  fmt::print(stderr, "error: {}\n", to_string(failure));
  if (form_ == Form::kJson) fmt::print("{}\n", json_of(failure));
  std::fflush(stdout);
  return failure.exit_code;
}

void warn(const std::string& text) {
  fmt::print(stderr, "warning: {}\n", text);
}

}  // namespace quire::tools
