// What the command writes: results to stdout, failures to stderr, and with
// --json one object as the last line of stdout.
#pragma once

#include <string>
#include <string_view>

#include "quire/comm/failure.h"

namespace quire::tools {

// Both forms of what a subcommand found, of which one is printed.
struct Result {
  std::string json;  // one line
  std::string text;  // for people, its last line ended
};

// "rank 1 in step 17 at layer h.1 (forward) - MESSAGE"
std::string to_string(const comm::Failure& failure);

class Output {
 public:
  enum class Form { kText, kJson };
  explicit Output(Form form) : form_(form) {}

  // These throw SystemError if stdout takes no more.
  void result(const Result& result) const;
  // A part of a result's text, at once.
  void part(std::string_view text) const;
  // Somebody watches: parts are worth while.
  bool is_watched() const;
  // Returns the exit code. The error's line is the last on stderr.
  int failure(const comm::Failure& failure) const;

 private:
  Form form_;
};

// To stderr.
void tell(const std::string& text);
void warn(const std::string& text);

}  // namespace quire::tools
