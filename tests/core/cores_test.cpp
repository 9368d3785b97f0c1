#include "quire/core/cores.h"

#include <gtest/gtest.h>

#include "quire/core/error.h"

namespace quire {
namespace {

TEST(DefaultThreads, SharesTheCoresAmongLocalRanks) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_EQ(default_threads(1), usable_cores());
  EXPECT_EQ(default_threads(usable_cores() + 1), 1);
  EXPECT_THROW(default_threads(0), UsageError);
}

}  // namespace
}  // namespace quire
