#include "quire/checkpoint/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "quire/core/error.h"
#include "quire/core/tile.h"

namespace quire::checkpoint {
namespace {

constexpr std::int64_t kPanel = std::int64_t{1} << 20;

// Bytes that one thread copies.
struct Panel {
  const std::byte* from;
  std::byte* to;
  std::int64_t bytes;
};

void add_panels(const Tensor& from, const Tensor& to,
                std::vector<Panel>& panels) {
  for (std::int64_t at = 0; at < from.bytes(); at += kPanel)
    panels.push_back({.from = from.raw() + at,
                      .to = to.raw() + at,
                      .bytes = std::min(kPanel, from.bytes() - at)});
}

bool fits(const Part& a, const Part& b) {
  return a.kind == b.kind && a.parameter == b.parameter && a.first == b.first &&
         a.data.numel() == b.data.numel() && a.data.dtype() == b.data.dtype();
}

void require_fit(std::span<const Part> parts, std::span<const Part> copies) {
  if (parts.size() != copies.size())
    throw UsageError(
        fmt::format("got {} parts to copy; the snapshot was made for {}",
                    parts.size(), copies.size()));
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!fits(parts[i], copies[i]))
      throw UsageError(fmt::format(
          "got {} to copy; the snapshot was made for {} of another range or "
          "type in its place",
          tensor_name(parts[i].kind, parts[i].parameter),
          tensor_name(copies[i].kind, copies[i].parameter)));
}

}  // namespace

Snapshot::Snapshot(std::span<const Part> parts, Allocator& allocator)
    : copies_(parts.begin(), parts.end()) {
  for (Part& copy : copies_) {
    const std::int64_t count = copy.data.numel();
    copy.data = allocator
                    .zeros(copy.data.dtype(), {tiles_of(count) * kTile},
                           Category::kSnapshot)
                    .range(0, count);
  }
}

const std::vector<Part>& Snapshot::take(std::span<const Part> parts,
                                        ThreadPool& pool) {
  require_fit(parts, copies_);
  std::vector<Panel> panels;
  for (std::size_t i = 0; i < parts.size(); ++i)
    add_panels(parts[i].data, copies_[i].data, panels);
  pool.parallel_for(
      static_cast<std::int64_t>(panels.size()), [&](std::int64_t index, int) {
        const auto& [from, to, bytes] = panels[static_cast<std::size_t>(index)];
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
      });
  return copies_;
}

}  // namespace quire::checkpoint
