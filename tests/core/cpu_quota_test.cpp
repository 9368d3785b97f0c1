#include "quire/core/detail/cpu_quota.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace quire {
namespace {

// A tree of control groups under a folder of its own.
class CpuQuota : public testing::Test {
 protected:
  ~CpuQuota() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CpuQuota, IsRoundedUp) {
  write("cpu.max", "150000 100000\n");
  EXPECT_EQ(cpu_quota(root_, "0::/\n"), 2);
}

TEST_F(CpuQuota, IsNoneWithoutALimit) {
  write("a/cpu.max", "max 100000\n");
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_, "1:cpu:/\n0::/a\n"), std::nullopt);
  EXPECT_EQ(cpu_quota(root_, ""), std::nullopt);
  EXPECT_EQ(cpu_quota(root_, "nonsense"), std::nullopt);
}

TEST_F(CpuQuota, IsTheSmallestOnTheWayUp) {
  write("a/cpu.max", "300000 100000\n");
  write("a/b/cpu.max", "800000 100000\n");
  EXPECT_EQ(cpu_quota(root_, "0::/a/b\n"), 3);
  EXPECT_EQ(cpu_quota(root_, "0::/a/gone\n"), 3);
}

TEST_F(CpuQuota, ReadsVersionOne) {
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_, "3:cpuset:/\n2:cpu,cpuacct:/job\n"), 1);
}

}  // namespace
}  // namespace quire
