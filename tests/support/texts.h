// A text for the command and for programs. Needs QUIRE_COMMAND, as command.h.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"

namespace quire::testing {

// Token files of bytes below 197, which llama_tiny knows, in a folder of their
// own.
class Texts {
 public:
  Texts() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "In the beginning was the word. ";
    write_text(folder_ / "text", text);
    const Ended ended =
        quire_command({"tokenize", folder_ / "text", "--tokenizer", "bytes",
                       "--out", folder_ / "tokens"});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string tokens() const { return folder_ / "tokens/train.bin"; }

 private:
  TempFolder folder_;
};

}  // namespace quire::testing
