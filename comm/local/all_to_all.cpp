#include <fmt/format.h>

#include <vector>

#include "quire/comm/local/collectives.h"
#include "quire/comm/local/segments.h"
#include "quire/core/hash.h"

namespace quire::comm::local {
namespace {

// What a sender announces and its receivers expect: the size of every slice
// and, in place, where its row lies.
struct Rows {
  Hasher hasher;
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // of the slices to one peer

  void add(std::int64_t slice, const SharedPlace& row) {
    hasher.add(static_cast<std::uint64_t>(slice));
    hasher.add(static_cast<std::uint64_t>(row.memory));
    hasher.add(static_cast<std::uint64_t>(row.offset));
    ++count;
    bytes += slice;
  }
};

class Exchange {
 public:
  Exchange(Channel& channel, std::span<const Tensor> rows,
           std::span<const Arrival> arrivals)
      : channel_(channel), rows_(rows), arrivals_(arrivals) {}

  void run(const Call& call) {
    const Offer offer = own_offer(call);
    if (in_place()) {
      channel_.meet(offer);
      return check_offers();
    }
    find_segments();
    stage(0);
    channel_.meet(offer);
    check_offers();
    copy_parts();
  }

 private:
  bool in_place() const {
    const auto shared = [&](const Tensor& t) {
      return place_of(channel_, t).memory != 0;
    };
    return std::all_of(rows_.begin(), rows_.end(), shared) &&
           std::all_of(arrivals_.begin(), arrivals_.end(),
                       [&](const Arrival& a) { return shared(a.slice); });
  }

  SharedPlace place(const Tensor& tensor) const {
    return in_place() ? place_of(channel_, tensor) : SharedPlace{};
  }

  Offer own_offer(const Call& call) const {
    Rows own;
    for (const Tensor& row : rows_) {
      own.add(row.bytes() / channel_.size(), place(row));
    }
    Offer offer{};
    offer.signature = signature_of(Kind::kAllToAll, call);
    offer.signature.in_place = in_place();
    offer.rows = own.count;
    offer.bytes = own.bytes;
    offer.rows_hash = own.hasher.digest();
    return offer;
  }

  Rows expected_of(int rank) const {
    Rows expected;
    for (const Arrival& arrival : arrivals_) {
      if (arrival.from != rank) continue;
      const std::int64_t slice = arrival.slice.bytes();
      SharedPlace row = place(arrival.slice);
      if (row.memory != 0) row.offset -= channel_.rank() * slice;
      expected.add(slice, row);
    }
    return expected;
  }

  void check_offers() const {
    for (int r = 0; r < channel_.size(); ++r) {
      if (r == channel_.rank()) continue;
      const Rows expected = expected_of(r);
      const Offer& offer = channel_.offer_of(r);
      if (expected.hasher.digest() == offer.rows_hash &&
          expected.bytes == offer.bytes) {
        continue;
      }
      channel_.refuse(
          r, fmt::format("{} on channel {}: rank {} sends {} rows, {} bytes to "
                         "each rank; rank {} expects {} rows, {} bytes, from "
                         "the same places",
                         describe(offer.signature), channel_.name(), r,
                         offer.rows, offer.bytes, channel_.rank(),
                         expected.count, expected.bytes));
    }
  }

  void find_segments() {
    to_.resize(channel_.size());
    from_.resize(channel_.size());
    for (const Tensor& row : rows_) {
      const std::int64_t slice = row.bytes() / channel_.size();
      for (int p = 0; p < channel_.size(); ++p) {
        to_[p].add(row.raw() + p * slice, slice);
      }
    }
    for (const Arrival& arrival : arrivals_) {
      from_[arrival.from].add(arrival.slice.raw(), arrival.slice.bytes());
    }
  }

  // One peer's share of a half of the staging.
  std::size_t room() const { return channel_.mine().size() / channel_.size(); }

  void stage(std::int64_t begin) {
    for (int p = 0; p < channel_.size(); ++p) {
      if (p == channel_.rank()) continue;
      to_[p].read(begin, channel_.mine().subspan(p * room(), room()));
    }
  }

  void collect(std::int64_t begin) {
    for (int r = 0; r < channel_.size(); ++r) {
      if (r == channel_.rank()) continue;
      from_[r].write(
          begin, channel_.theirs(r).subspan(channel_.rank() * room(), room()));
    }
  }

  void copy_parts() {
    std::int64_t most = 0;
    for (int r = 0; r < channel_.size(); ++r) {
      most = std::max(most, channel_.offer_of(r).bytes);
    }
    collect(0);
    const auto step = static_cast<std::int64_t>(room());
    for (std::int64_t begin = step; begin < most; begin += step) {
      stage(begin);
      channel_.meet_again();
      collect(begin);
    }
  }

  Channel& channel_;
  std::span<const Tensor> rows_;
  std::span<const Arrival> arrivals_;
  std::vector<Segments> to_, from_;  // by rank
};

}  // namespace

void all_to_all(Channel& channel, std::span<const Tensor> rows,
                std::span<const Arrival> arrivals, const Call& call) {
  Exchange(channel, rows, arrivals).run(call);
}

}  // namespace quire::comm::local
