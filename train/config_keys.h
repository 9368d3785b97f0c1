// The configuration's keys as people read them: for --help and the
// documentation.
#pragma once

#include <string>

namespace quire::train {

// One or two lines per key: name, what is expected, default, description.
std::string config_help();
// docs/configuration.md.
std::string config_markdown();

}  // namespace quire::train
