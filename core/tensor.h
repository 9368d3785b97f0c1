// A tensor is a shared handle on a contiguous, row-major range of a storage:
// (storage, dtype, shape, offset). Copying a tensor copies the handle. A tensor
// of one rank is used by that rank's threads and streams; handles are not
// synchronised, storages are released by whichever thread drops the last
// handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "quire/core/device.h"
#include "quire/core/dtype.h"
#include "quire/core/error.h"
#include "quire/core/shape.h"

namespace quire {

// Owns a range of bytes of a device, or none on the meta device; returns them
// when it dies.
class Storage {
 public:
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // nullptr on the meta device. What an allocator gives starts on a 64-byte
  // boundary.
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 protected:
  Storage(std::byte* data, std::int64_t bytes, Device device)
      : data_(data), bytes_(bytes), device_(device) {}

 private:
  std::byte* data_;
  std::int64_t bytes_;
  Device device_;
};

class Tensor {
 public:
  Tensor() = default;  // undefined: no storage
  // REQUIRES: offset_bytes is a multiple of size_of(dtype) and the range lies
  // inside the storage; else UsageError.
  Tensor(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape,
         std::int64_t offset_bytes = 0);

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int i) const { return shape_[i]; }
  std::int64_t numel() const { return numel_; }
  std::int64_t bytes() const { return numel_ * size_of(dtype_); }
  Device device() const { return storage_->device(); }
  bool is_meta() const { return device() == Device::kMeta; }

  // nullptr on the meta device.
  std::byte* raw() const { return data_; }
  // REQUIRES: dtype() is T's; else UsageError naming both.
  template <class T>
  T* data() const {
    if (dtype_ != DTypeOf<T>::value) throw_dtype(DTypeOf<T>::value);
    return reinterpret_cast<T*>(data_);
  }

  // The same elements under another shape. REQUIRES: equal numel; else
  // UsageError with both shapes.
  Tensor view(const Shape& shape) const;
  // Elements [begin, begin + count) of the flat order, as shape [count].
  // REQUIRES: they lie inside; else UsageError.
  Tensor range(std::int64_t begin, std::int64_t count) const;
  // As range, under a shape.
  Tensor range(std::int64_t begin, const Shape& shape) const {
    return range(begin, shape.numel()).view(shape);
  }

  // True if no other handle shares the storage, so that overwriting is
  // invisible to others.
  bool unique() const { return storage_.use_count() == 1; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

 private:
  [[noreturn]] void throw_dtype(DType wanted) const;

  std::shared_ptr<Storage> storage_;
  std::byte* data_ = nullptr;
  Shape shape_;
  std::int64_t numel_ = 0;
  DType dtype_ = DType::kF32;
};

// Bytes that the elements take. UsageError if they do not fit 63 bits.
std::int64_t bytes_of(DType dtype, const Shape& shape);

// The following three are accounted for by no allocator.

// A tensor over bytes that `keep` keeps alive (a mapping, a vector). REQUIRES:
// data is aligned to size_of(dtype), and is not null unless the shape has no
// elements; else UsageError.
Tensor tensor_over(std::byte* data, DType dtype, const Shape& shape,
                   std::shared_ptr<void> keep);

// A tensor that owns `values`: a batch of a program's own. REQUIRES: as many
// values as the shape has elements; else UsageError.
template <class T>
Tensor tensor_of(std::vector<T> values, const Shape& shape) {
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  auto* data = reinterpret_cast<std::byte*>(kept->data());
  const auto count = static_cast<std::int64_t>(kept->size());
  return tensor_over(data, DTypeOf<T>::value, {count}, kept).view(shape);
}

// A tensor without memory: a batch of a dry run.
Tensor meta_tensor(DType dtype, const Shape& shape);

}  // namespace quire
