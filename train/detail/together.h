// What the ranks of a run tell one another outside the plan: small, rare, and
// finished on return. Every call is collective.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/allocator.h"
#include "quire/core/stream.h"
#include "quire/core/thread_pool.h"
#include "quire/engine/exchange.h"

namespace quire::train {

// Its memory is its own: what a rank is measured by does not hold it.
class Together {
 public:
  explicit Together(comm::Communicator& communicator);

  comm::Communicator& communicator() const { return *communicator_; }
  Stream& stream() { return stream_; }  // inline

  // What rank 0 made of it, on every rank. What `make` throws ends the world.
  std::string from_root(const std::function<std::string()>& make);
  // Every rank's, by rank.
  std::vector<std::string> texts(std::string_view mine) {
    return comm::gather_text(*communicator_, mine, call("text"));
  }
  // Every rank's, by rank; at most kValueBytes.
  template <class T>
  std::vector<T> all(const T& mine) {
    return exchange_.all(mine, call("values"));
  }
  bool any(bool mine);
  void barrier() { communicator_->barrier(call("barrier")); }

  static constexpr std::int64_t kValueBytes = 128;

 private:
  comm::Call call(std::string_view unit) {
    return {.stream = &stream_, .unit = unit};
  }

  comm::Communicator* communicator_;
  ThreadPool pool_{1};
  Allocator scratch_{{.owner = "control"}};
  Stream stream_{Stream::Kind::kInline, "control", pool_, scratch_};
  engine::Exchange exchange_;
};

}  // namespace quire::train
