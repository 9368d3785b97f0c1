// A rank's memory: every byte that the engine holds is born here in a category,
// counted against a budget, and dies here. Blocks are cached, so that a steady
// step asks the system for nothing. On the meta device the accounting is the
// same and there is no memory behind it: predicted peak and measured peak are
// one computation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "quire/core/memory_report.h"
#include "quire/core/tensor.h"

namespace quire {

class AllocatorState;  // private to allocator.cpp

// Counts bytes that live elsewhere (a shared mapping) as this rank's, until it
// dies. Move-only; empty by default.
class Charge {
 public:
  Charge() = default;
  ~Charge() { release(); }
  Charge(Charge&& other) noexcept = default;
  Charge& operator=(Charge&& other) noexcept;

  void release() noexcept;

 private:
  friend class Allocator;
  std::shared_ptr<AllocatorState> state_;  // null: empty
  std::int64_t bytes_ = 0;
  Category category_ = Category::kWorkspace;
};

// Thread-safe. Storages keep what they need alive: tensors may outlive the
// allocator.
class Allocator {
 public:
  struct Options {
    Device device = Device::kCpu;
    std::optional<std::int64_t> budget_bytes{};  // none: no limit
    std::string owner{};                         // named in messages: "rank 2"
    // Fill what is allocated and what is released with NaN patterns (tests).
    bool poison = false;
  };
  explicit Allocator(Options options);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Uninitialised; starts on a 64-byte boundary; accounted in multiples of 64
  // bytes. Throws OutOfMemory with the report's table, the bytes wanted and the
  // budget, before anything changed.
  Tensor allocate(DType dtype, const Shape& shape, Category category);
  // As allocate, filled with zero bytes.
  Tensor zeros(DType dtype, const Shape& shape, Category category);
  // Accounts as allocate(bytes) would, without memory. REQUIRES: bytes >= 0.
  Charge charge(std::int64_t bytes, Category category);

  Device device() const;
  std::optional<std::int64_t> budget_bytes() const;
  MemoryReport report() const;
  // Peaks become the current values.
  void reset_peak();
  // Blocks asked from the system so far: constant over steady steps.
  std::int64_t system_allocations() const;
  // Returns cached blocks to the system.
  void trim();

 private:
  std::shared_ptr<AllocatorState> state_;
};

}  // namespace quire
