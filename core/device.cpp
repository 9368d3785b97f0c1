#include "quire/core/device.h"

namespace quire {

std::string_view name_of(Device device) {
  return device == Device::kCpu ? "cpu" : "meta";
}

}  // namespace quire
