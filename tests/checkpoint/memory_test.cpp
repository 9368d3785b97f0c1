// What a save and a load hold besides the state, and what a load reads.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>

#include "quire/checkpoint/background_save.h"
#include "quire/checkpoint/load.h"
#include "tests/checkpoint/checkpoint_language.h"

// What is taken from the heap with `new`, by all threads.
namespace {

std::atomic<std::int64_t> taken = 0, most = 0;

void* take(std::size_t bytes) {
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  const auto size = static_cast<std::int64_t>(::malloc_usable_size(block));
  const std::int64_t now = taken.fetch_add(size) + size;
  std::int64_t peak = most.load();
  while (now > peak && !most.compare_exchange_weak(peak, now)) {
  }
  return block;
}

void give_back(void* block) {
  if (block == nullptr) return;
  taken -= static_cast<std::int64_t>(::malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* block) noexcept { give_back(block); }
void operator delete[](void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { give_back(block); }

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;

constexpr std::int64_t kMiB = 1 << 20;
const Progress kAt{.step = 7};
// One large tensor and a small one, of one kind: 16 MiB.
const Model kLarge{{{std::int64_t{1} << 22, 3}}, {{"master", 0.0f}}};

// The most bytes that were taken at once since it was made, beyond those that
// were taken then.
class HeapWatch {
 public:
  HeapWatch() : before_(taken) { most = before_; }
  std::int64_t peak() const { return most - before_; }

 private:
  std::int64_t before_;
};

// Bytes that this thread has read so far, from files and elsewhere.
std::int64_t bytes_read() {
  std::ifstream file("/proc/thread-self/io");
  std::string name;
  std::int64_t bytes = -1;
  file >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

// Pages of this process that are in memory, in bytes.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

TEST(MemoryOf, ASaveIsThatOfABuffer) {
  const TempFolder run;
  run_world(1, [&](comm::Communicator& communicator, Stream& stream) {
    const auto request = request_of(kLarge, kAt);
    const HeapWatch watch;
    save(run.path(), request, communicator, stream);
    EXPECT_LT(watch.peak(), 2 * kMiB);
  });
}

TEST(MemoryOf, ALoadIsThatOfABuffer) {
  const TempFolder run;
  save_world(run.path(), kLarge, kAt, 3);
  run_world(1, [&](comm::Communicator& communicator, Stream& stream) {
    LoadRequest request{.parts = kLarge.parts(1, 4), .parameters = {}};
    for (const auto& parameter : kLarge.parameters())
      request.parameters.push_back(
          {parameter.name, parameter.shape, {{"master", DType::kF32}}});
    const std::int64_t before = bytes_read();
    const HeapWatch watch;
    EXPECT_FALSE(
        load(run / "step-00000007", request, communicator, stream).damage);
    EXPECT_LT(watch.peak(), 2 * kMiB);  // tiles that are checked are 1
    // A quarter, the hashes of two thirds of the tiles, headers and manifest.
    const std::int64_t wanted = 16 * kMiB / 4;
    EXPECT_GE(bytes_read() - before, wanted);
    EXPECT_LT(bytes_read() - before, wanted + kMiB / 2);
  });
}

// Half of them in the background. What a sanitizer keeps of freed memory is
// resident, too.
TEST(MemoryOf, FiftySavesIsThatOfTwo) {
  const Model model{{{1 << 16, 3}}};  // 768 KiB
  const TempFolder run;
  run_world(1, [&](comm::Communicator& communicator, Stream& stream) {
    Cpu cpu;
    const auto request = request_of(model, kAt);
    BackgroundSave background({.parts = request.parts,
                               .communicator = &communicator,
                               .allocator = &cpu.allocator});
    std::int64_t held = 0, resident = 0;
    for (int i = 0; i < 25; ++i) {
      save(run.path(), request, communicator, stream);
      background.start(run.path(), request, cpu.pool);
      background.wait();
      if (i == 1) held = taken, resident = resident_bytes();
    }
    EXPECT_LT(taken, held + kMiB / 4);
    EXPECT_LT(resident_bytes(), resident + 64 * kMiB);
  });
}

}  // namespace
}  // namespace quire::checkpoint
