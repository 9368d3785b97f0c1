#include "quire/comm/detail/checks.h"

#include <fmt/format.h>

namespace quire::comm {
namespace {

std::string label(std::string_view what, const Call& call) {
  return call.unit.empty() ? std::string(what)
                           : fmt::format("{} of {}", what, call.unit);
}

void require_defined(const Tensor& tensor, std::string_view what,
                     const Call& call) {
  if (tensor.defined()) return;
  throw UsageError(
      fmt::format("{} got an undefined tensor; expected one "
                  "with a storage",
                  label(what, call)));
}

// The bytes of one of `size` equal slices.
std::int64_t slice_bytes(const Place& place, const Tensor& row,
                         std::string_view what, const Call& call) {
  require_defined(row, what, call);
  if (row.numel() % place.size != 0) {
    throw UsageError(fmt::format(
        "{} got a row of {} elements; expected {} equal slices: pad the row "
        "to a multiple of the ranks",
        label(what, call), row.numel(), place.size));
  }
  return row.bytes() / place.size;
}

void check_arrivals(const Place& place, std::span<const Arrival> arrivals,
                    const Call& call) {
  int last = 0;
  for (const Arrival& arrival : arrivals) {
    require_defined(arrival.slice, "all_to_all", call);
    if (arrival.from < 0 || arrival.from >= place.size ||
        arrival.from == place.rank || arrival.from < last) {
      throw UsageError(fmt::format(
          "{} got an arrival from rank {} after one from rank {}; expected "
          "every other rank of {} in ascending order, and not rank {} itself",
          label("all_to_all", call), arrival.from, last, place.size,
          place.rank));
    }
    last = arrival.from;
  }
}

}  // namespace

std::int64_t check_all_gather(const Place& place, const Tensor& row,
                              const Call& call) {
  return slice_bytes(place, row, "all_gather", call) * (place.size - 1);
}

std::int64_t check_all_to_all(const Place& place, std::span<const Tensor> rows,
                              std::span<const Arrival> arrivals,
                              const Call& call) {
  check_arrivals(place, arrivals, call);
  std::int64_t bytes = 0;
  for (const Tensor& row : rows) {
    bytes += slice_bytes(place, row, "all_to_all", call);
  }
  return bytes * (place.size - 1);
}

std::int64_t check_broadcast(const Place& place, const Tensor& tensor, int root,
                             const Call& call) {
  require_defined(tensor, "broadcast", call);
  if (root < 0 || root >= place.size) {
    throw UsageError(fmt::format("{} got root {}; expected 0 ... {}",
                                 label("broadcast", call), root,
                                 place.size - 1));
  }
  return root == place.rank ? tensor.bytes() * (place.size - 1) : 0;
}

void check_place(const Place& place) {
  if (place.size < 1 || place.rank < 0 || place.rank >= place.size) {
    throw UsageError(
        fmt::format("got rank {} of {} ranks; expected 0 <= rank < ranks",
                    place.rank, place.size));
  }
}

void check_bytes(std::int64_t bytes) {
  if (bytes < 0) {
    throw UsageError(
        fmt::format("allocate got {} bytes; expected at least 0", bytes));
  }
}

}  // namespace quire::comm
