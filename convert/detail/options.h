// What a conversion is asked for, before it begins.
#pragma once

#include "quire/convert/convert.h"

namespace quire::convert {

// UsageError for an option that is out of range, and for one that `to` does not
// have.
void check(const ConvertOptions& options);

}  // namespace quire::convert
