#include "quire/comm/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "quire/core/error.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"

namespace quire::comm {
namespace {

using namespace quire::testing;

class Stores : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Store> open() {
    return GetParam() ? file_store(folder_ / "store") : in_process_store();
  }
  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Store, Stores, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "File" : "InProcess";
                         });

TEST_P(Stores, GiveBackWhatWasSetLast) {
  const auto store = open();
  store->set("a.b-C_1", "old");
  store->set("a.b-C_1", std::string("\0\n\xff", 3));
  EXPECT_EQ(store->get("a.b-C_1", 0), std::string("\0\n\xff", 3));
  store->set("..", "");
  EXPECT_EQ(store->get("..", 0), "");
}

TEST_P(Stores, WaitForAKeyToCome) {
  const auto store = open();
  std::thread other([&] { store->set("key", "value"); });
  EXPECT_EQ(store->get("key", 20), "value");
  other.join();
}

TEST_P(Stores, NameTheKeyThatDidNotCome) {
  const auto store = open();
  store->set("key", "value");
  store->erase("key");
  store->erase("key");
  try {
    store->get("key", 0.001);
    FAIL();
  } catch (const SystemError& error) {
    expect_mentions(error.what(), {"key", "0.001 s"});
  }
}

TEST_P(Stores, CountOverAllUsers) {
  const auto store = open();
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      for (int j = 0; j < 25; ++j) store->add("count", 2);
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(store->add("count", -1), 199);
  store->set("count", "many");
  EXPECT_THROW(store->add("count", 1), UsageError);
}

TEST_P(Stores, RefuseBadKeysAndLargeValues) {
  const auto store = open();
  for (const std::string key : {"", "a/b", "a b", "\xc3\xa9"}) {
    EXPECT_THROW(store->set(key, ""), UsageError);
    EXPECT_THROW(store->get(key, 0), UsageError);
  }
  EXPECT_THROW(store->set("key", std::string((64 << 10) + 1, 'x')), UsageError);
  store->set("key", std::string(64 << 10, 'x'));
  EXPECT_EQ(store->get("key", 0).size(), std::size_t{64 << 10});
}

TEST(FileStore, CountsOverProcesses) {
  const TempFolder folder;
  const auto count = [&](int times) {
    const auto store = file_store(folder / "store");
    for (int i = 0; i < times; ++i) store->add("count", 1);
  };
  const pid_t child = fork();
  if (child == 0) {
    count(50);
    _exit(0);
  }
  count(50);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(file_store(folder / "store")->add("count", 0), 100);
}

TEST(FileStore, RefusesAFolderThatOthersCanWrite) {
  const TempFolder folder;
  ASSERT_EQ(mkdir((folder / "store").c_str(), 0700), 0);
  ASSERT_EQ(chmod((folder / "store").c_str(), 0777), 0);
  EXPECT_THROW(file_store(folder / "store"), SystemError);
  ASSERT_EQ(symlink("store", (folder / "link").c_str()), 0);
  EXPECT_THROW(file_store(folder / "link"), SystemError);
}

}  // namespace
}  // namespace quire::comm
