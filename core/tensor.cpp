#include "quire/core/tensor.h"

#include <fmt/format.h>

namespace quire {
namespace {

void require_inside(const Storage& storage, DType dtype, const Shape& shape,
                    std::int64_t offset_bytes) {
  const std::int64_t size = size_of(dtype);
  if (offset_bytes < 0 || offset_bytes % size != 0) {
    throw UsageError(fmt::format(
        "a tensor of {} starts at byte {}; expected a multiple of {}",
        name_of(dtype), offset_bytes, size));
  }
  const std::int64_t room = storage.bytes() - offset_bytes;
  if (room < 0 || shape.numel() > room / size) {
    throw UsageError(fmt::format(
        "a tensor of {} {} at byte {} does not fit its storage of {} bytes",
        name_of(dtype), shape.to_string(), offset_bytes, storage.bytes()));
  }
}

class ForeignStorage final : public Storage {
 public:
  ForeignStorage(std::byte* data, std::int64_t bytes,
                 std::shared_ptr<void> keep)
      : Storage(data, bytes, Device::kCpu), keep_(std::move(keep)) {}

 private:
  std::shared_ptr<void> keep_;
};

class MetaStorage final : public Storage {
 public:
  explicit MetaStorage(std::int64_t bytes)
      : Storage(nullptr, bytes, Device::kMeta) {}
};

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, DType dtype,
               const Shape& shape, std::int64_t offset_bytes)
    : storage_(std::move(storage)),
      shape_(shape),
      numel_(shape.numel()),
      dtype_(dtype) {
  if (storage_ == nullptr)
    throw UsageError("a tensor needs a storage; got none");
  require_inside(*storage_, dtype, shape, offset_bytes);
  if (storage_->data() != nullptr) data_ = storage_->data() + offset_bytes;
}

Tensor Tensor::view(const Shape& shape) const {
  if (!defined() || shape.numel() != numel_) {
    throw UsageError(
        fmt::format("cannot view {} as {}: {} elements against {}",
                    defined() ? shape_.to_string() : "an undefined tensor",
                    shape.to_string(), numel_, shape.numel()));
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::range(std::int64_t begin, std::int64_t count) const {
  if (!defined() || begin < 0 || count < 0 || count > numel_ ||
      begin > numel_ - count) {
    throw UsageError(fmt::format(
        "{} elements from {} do not lie inside {} of {} elements", count, begin,
        defined() ? shape_.to_string() : "an undefined tensor", numel_));
  }
  Tensor result = *this;
  result.shape_ = Shape{count};
  result.numel_ = count;
  if (data_ != nullptr) result.data_ += begin * size_of(dtype_);
  return result;
}

void Tensor::throw_dtype(DType wanted) const {
  throw UsageError(fmt::format("a tensor {} of {} was read as {}",
                               shape_.to_string(), name_of(dtype_),
                               name_of(wanted)));
}

std::int64_t bytes_of(DType dtype, const Shape& shape) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.numel(), size_of(dtype), &bytes)) {
    throw UsageError(
        fmt::format("a tensor {} of {} has more than 2^63 - 1 bytes",
                    shape.to_string(), name_of(dtype)));
  }
  return bytes;
}

Tensor tensor_over(std::byte* data, DType dtype, const Shape& shape,
                   std::shared_ptr<void> keep) {
  const std::int64_t bytes = bytes_of(dtype, shape);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (address % static_cast<std::uintptr_t>(size_of(dtype)) != 0 ||
      (data == nullptr && bytes > 0)) {
    throw UsageError(
        fmt::format("memory at {} cannot hold a tensor {} of {}; expected a "
                    "multiple of {}, not null",
                    static_cast<const void*>(data), shape.to_string(),
                    name_of(dtype), size_of(dtype)));
  }
  return Tensor(std::make_shared<ForeignStorage>(data, bytes, std::move(keep)),
                dtype, shape);
}

Tensor meta_tensor(DType dtype, const Shape& shape) {
  return Tensor(std::make_shared<MetaStorage>(bytes_of(dtype, shape)), dtype,
                shape);
}

}  // namespace quire
