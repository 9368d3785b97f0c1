#include "quire/data/permutation.h"

#include <algorithm>
#include <map>

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

Ids order_of(std::int64_t size, std::uint64_t key) {
  const Permutation permutation(size, key);
  Ids order;
  for (std::int64_t i = 0; i < size; ++i)
    order.push_back(static_cast<std::int32_t>(permutation(i)));
  return order;
}

TEST(Permutation, HitsEveryElementOnce) {
  for (const int size :
       {1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000, 4097}) {
    Ids order = order_of(size, 42);
    std::ranges::sort(order);
    EXPECT_EQ(order, counting(0, size)) << size;
  }
}

TEST(Permutation, IsAFunctionOfItsKey) {
  EXPECT_EQ(order_of(100, 1), order_of(100, 1));
  EXPECT_NE(order_of(100, 1), order_of(100, 2));
  EXPECT_NE(order_of(100, 1), order_of(100, std::uint64_t{1} << 32 | 1));
  EXPECT_NE(order_of(100, 1), counting(0, 100));
}

// 6 orders of 3 elements over 600 keys: 100 each, 9 the standard deviation.
TEST(Permutation, PrefersNoOrder) {
  std::map<Ids, int> seen;
  for (std::uint64_t key = 0; key < 600; ++key) ++seen[order_of(3, key)];
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) {
    EXPECT_GT(count, 100 - 45);
    EXPECT_LT(count, 100 + 45);
  }
}

// Over 500 keys, element 0 of 50 lands on each place 10 times, 3.1 the standard
// deviation.
TEST(Permutation, PrefersNoPlace) {
  std::map<std::int64_t, int> seen;
  for (std::uint64_t key = 0; key < 500; ++key) ++seen[Permutation(50, key)(0)];
  EXPECT_GE(seen.size(), 48u);
  for (const auto& [place, count] : seen) EXPECT_LT(count, 10 + 16);
}

TEST(Permutation, StaysInRangesThatCouldNotBeStored) {
  const auto size = (std::int64_t{1} << 61) + 12345;
  const Permutation permutation(size, 7);
  for (const auto i : {std::int64_t{0}, size / 2, size - 1}) {
    EXPECT_GE(permutation(i), 0);
    EXPECT_LT(permutation(i), size);
  }
  EXPECT_NE(permutation(0), permutation(size - 1));
}

TEST(Permutation, RefusesWhatIsOutside) {
  expect_refused([] { Permutation(0, 1); }, {"0 elements"});
  expect_refused([] { Permutation((std::int64_t{1} << 62) + 1, 1); }, {"2^62"});
  expect_refused([] { Permutation(3, 1)(3); }, {"element 3"});
  expect_refused([] { Permutation(3, 1)(-1); }, {"element -1"});
}

}  // namespace
}  // namespace quire::data
