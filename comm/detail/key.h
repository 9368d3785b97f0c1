// What every store demands of its keys and values.
#pragma once

#include <string>

namespace quire::comm {

// UsageError unless it is [A-Za-z0-9._-]+ of at most 200 characters.
void check_key(const std::string& key);
// UsageError if it has more than 64 KiB.
void check_value(const std::string& key, const std::string& value);
// UsageError unless `text` is a whole number of 64 bits: a counter's value.
long long counter_of(const std::string& key, const std::string& text);

}  // namespace quire::comm
