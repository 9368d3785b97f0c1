// What a process keeps of a world.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "quire/comm/local.h"
#include "quire/comm/local/control.h"

namespace quire::comm {

struct LocalWorld::State {
  explicit State(local::Control control) : control(std::move(control)) {}

  const local::Control control;
  std::mutex mutex;
  // Of this process's ranks, by id: threads share one mapping.
  std::map<std::int64_t, std::weak_ptr<local::Memory>> memories;

  double timeout_s() const { return control.header().timeout_s; }
  bool mapped() const { return control.header().mapped != 0; }
};

}  // namespace quire::comm
