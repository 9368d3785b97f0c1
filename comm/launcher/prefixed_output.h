// A child's output, passed on line by line with a prefix.
#pragma once

#include <string>

#include "quire/comm/launcher/pipe.h"

namespace quire::comm {

class PrefixedOutput {
 public:
  // Reads what is written into the pipe and writes it to descriptor `to`.
  // SystemError if the system gives no pipe.
  PrefixedOutput(std::string prefix, int to);

  // In the child: `to` becomes the pipe.
  void connect_in_child() const;
  // In the parent, once the child has been forked.
  void close_writer() { pipe_.writer.reset(); }

  // -1 once the pipe has ended.
  int descriptor() const { return pipe_.reader.number(); }
  // Passes on what can be read without waiting.
  void pass_on();
  // Passes on a last line without an end, too.
  void finish();

 private:
  void write_lines();

  std::string prefix_;
  int to_;
  Pipe pipe_;
  std::string pending_;  // not yet passed on
};

}  // namespace quire::comm
