#include "quire/core/allocator.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "quire/core/detail/block_cache.h"
#include "quire/core/detail/memory_account.h"
#include "quire/core/divide.h"

namespace quire {
namespace {

constexpr std::int64_t kGrain = 64;
constexpr int kPoison = 0xff;  // NaN in every floating-point type

// What tensors without elements point to.
alignas(kGrain) std::byte empty_block[kGrain];

std::int64_t accounted(std::int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<std::int64_t>::max() - kGrain) {
    throw UsageError(fmt::format(
        "{} bytes cannot be accounted; expected 0 to 2^63 - 65", bytes));
  }
  return round_up(bytes, kGrain);
}

}  // namespace

// Shared by the allocator, its storages and its charges.
class AllocatorState {
 public:
  explicit AllocatorState(const Allocator::Options& options)
      : device_(options.device),
        poison_(options.poison),
        account_(options.owner, options.budget_bytes) {}

  Block take(std::int64_t bytes, Category category);
  void give(Block block, std::int64_t bytes, Category category) noexcept;
  void charge(std::int64_t bytes, Category category);
  void discharge(std::int64_t bytes, Category category) noexcept;

  Device device() const { return device_; }
  std::optional<std::int64_t> budget_bytes() const {
    return account_.budget_bytes();
  }
  MemoryReport report() const;
  void reset_peak();
  std::int64_t system_allocations() const;
  void trim();

 private:
  Block take_block(std::int64_t bytes, Category category);

  const Device device_;
  const bool poison_;
  mutable std::mutex mutex_;
  MemoryAccount account_;
  BlockCache cache_;
};

Block AllocatorState::take_block(std::int64_t bytes, Category category) {
  if (device_ == Device::kMeta) return {};
  if (bytes == 0) return {empty_block, 0};
  try {
    return cache_.take(bytes);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(account_.refused_by_system(bytes, category));
  }
}

Block AllocatorState::take(std::int64_t bytes, Category category) {
  Block block;
  {
    const std::lock_guard lock(mutex_);
    account_.require_room(bytes, category);
    block = take_block(bytes, category);
    account_.add(bytes, category);
  }
  if (poison_ && block.capacity > 0)
    std::memset(block.data, kPoison, static_cast<std::size_t>(block.capacity));
  return block;
}

void AllocatorState::give(Block block, std::int64_t bytes,
                          Category category) noexcept {
  if (poison_ && block.capacity > 0)
    std::memset(block.data, kPoison, static_cast<std::size_t>(block.capacity));
  const std::lock_guard lock(mutex_);
  if (block.capacity > 0) cache_.give(block);
  account_.remove(bytes, category);
}

void AllocatorState::charge(std::int64_t bytes, Category category) {
  const std::lock_guard lock(mutex_);
  account_.require_room(bytes, category);
  account_.add(bytes, category);
}

void AllocatorState::discharge(std::int64_t bytes, Category category) noexcept {
  const std::lock_guard lock(mutex_);
  account_.remove(bytes, category);
}

MemoryReport AllocatorState::report() const {
  const std::lock_guard lock(mutex_);
  return account_.report();
}

void AllocatorState::reset_peak() {
  const std::lock_guard lock(mutex_);
  account_.reset_peak();
}

std::int64_t AllocatorState::system_allocations() const {
  const std::lock_guard lock(mutex_);
  return cache_.system_allocations();
}

void AllocatorState::trim() {
  const std::lock_guard lock(mutex_);
  cache_.trim();
}

namespace {

struct Request {
  std::int64_t bytes;      // as asked
  std::int64_t accounted;  // in grains
  Category category;
};

// Takes its bytes while it is constructed, so that nothing is lost if
// make_shared fails.
class AccountedStorage final : public Storage {
 public:
  AccountedStorage(std::shared_ptr<AllocatorState> state, Request request)
      : AccountedStorage(state, request,
                         state->take(request.accounted, request.category)) {}
  ~AccountedStorage() override {
    state_->give(block_, request_.accounted, request_.category);
  }

 private:
  AccountedStorage(const std::shared_ptr<AllocatorState>& state,
                   Request request, Block block)
      : Storage(block.data, request.bytes, state->device()),
        state_(state),
        request_(request),
        block_(block) {}

  std::shared_ptr<AllocatorState> state_;
  Request request_;
  Block block_;
};

}  // namespace

Charge& Charge::operator=(Charge&& other) noexcept {
  if (this == &other) return *this;
  release();
  state_ = std::move(other.state_);
  bytes_ = other.bytes_;
  category_ = other.category_;
  return *this;
}

void Charge::release() noexcept {
  if (state_ == nullptr) return;
  state_->discharge(bytes_, category_);
  state_.reset();
}

Allocator::Allocator(Options options)
    : state_(std::make_shared<AllocatorState>(options)) {}
Allocator::~Allocator() = default;

Tensor Allocator::allocate(DType dtype, const Shape& shape, Category category) {
  const std::int64_t bytes = bytes_of(dtype, shape);
  const Request request{
      .bytes = bytes, .accounted = accounted(bytes), .category = category};
  return Tensor(std::make_shared<AccountedStorage>(state_, request), dtype,
                shape);
}

Tensor Allocator::zeros(DType dtype, const Shape& shape, Category category) {
  Tensor tensor = allocate(dtype, shape, category);
  if (!tensor.is_meta())
    std::memset(tensor.raw(), 0, static_cast<std::size_t>(tensor.bytes()));
  return tensor;
}

Charge Allocator::charge(std::int64_t bytes, Category category) {
  Charge charge;
  charge.bytes_ = accounted(bytes);
  charge.category_ = category;
  state_->charge(charge.bytes_, category);
  charge.state_ = state_;
  return charge;
}

Device Allocator::device() const { return state_->device(); }
std::optional<std::int64_t> Allocator::budget_bytes() const {
  return state_->budget_bytes();
}
MemoryReport Allocator::report() const { return state_->report(); }
void Allocator::reset_peak() { state_->reset_peak(); }
std::int64_t Allocator::system_allocations() const {
  return state_->system_allocations();
}
void Allocator::trim() { state_->trim(); }

}  // namespace quire
