#include "quire/train/config_keys.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace quire::train {
namespace {

TEST(ConfigKeys, StandInTheDocumentationAsInTheTable) {
  std::ifstream file(QUIRE_TEST_DATA "/../../docs/configuration.md");
  std::ostringstream documented;
  documented << file.rdbuf();
  EXPECT_EQ(documented.str(), config_markdown())
      << "write it anew: quire train --help-keys > docs/configuration.md";
}

TEST(ConfigKeys, AreExplainedWithTypeAndDefault) {
  EXPECT_NE(config_help().find(
                "  zero.stage (3): a whole number from 0 to 3\n      what is "
                "sharded"),
            std::string::npos);
}

}  // namespace
}  // namespace quire::train
