#include "quire/train/detail/together.h"

#include <algorithm>

namespace quire::train {

Together::Together(comm::Communicator& communicator)
    : communicator_(&communicator), exchange_(communicator, kValueBytes) {}

std::string Together::from_root(const std::function<std::string()>& make) {
  const std::string mine = communicator_->rank() == 0 ? make() : "";
  return texts(mine).front();
}

bool Together::any(bool mine) {
  const auto flags = all(static_cast<int>(mine));
  return std::ranges::any_of(flags, [](int flag) { return flag != 0; });
}

}  // namespace quire::train
