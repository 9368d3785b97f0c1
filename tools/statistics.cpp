#include "tools/statistics.h"

#include <algorithm>
#include <cstring>

#include "quire/core/dtype.h"

namespace quire::tools {
namespace {

// Calls visit(T{}) with the type of the elements; false if it is not known.
template <class Visit>
bool with_type(std::string_view dtype, const Visit& visit) {
  if (dtype == "F64") return visit(double{}), true;
  if (dtype == "F32") return visit(float{}), true;
  if (dtype == "F16") return visit(Float16{}), true;
  if (dtype == "BF16") return visit(BFloat16{}), true;
  if (dtype == "I64") return visit(std::int64_t{}), true;
  if (dtype == "I32") return visit(std::int32_t{}), true;
  if (dtype == "I16") return visit(std::int16_t{}), true;
  if (dtype == "I8") return visit(std::int8_t{}), true;
  if (dtype == "U64") return visit(std::uint64_t{}), true;
  if (dtype == "U32") return visit(std::uint32_t{}), true;
  if (dtype == "U16") return visit(std::uint16_t{}), true;
  if (dtype == "U8" || dtype == "BOOL") return visit(std::uint8_t{}), true;
  return false;
}

double number(Float16 value) { return static_cast<float>(value); }
double number(BFloat16 value) { return static_cast<float>(value); }
template <class T>
double number(T value) {
  return static_cast<double>(value);
}

}  // namespace

bool Statistics::reads(std::string_view dtype) {
  return with_type(dtype, [](auto) {});
}

void Statistics::add(std::string_view dtype, std::span<const std::byte> bytes) {
  with_type(dtype, [&](auto type) { add_all<decltype(type)>(bytes); });
}

template <class T>
void Statistics::add_all(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    add(number(value));
  }
}

void Statistics::add(double value) {
  if (std::isnan(value)) {
    ++nan_;
    return;
  }
  if (std::isinf(value)) {
    ++infinite_;
    return;
  }
  ++finite_;
  zero_ += value == 0.0 ? 1 : 0;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  squares_ += value * value;
  const double distance = value - mean_;
  mean_ += distance / static_cast<double>(finite_);
  spread_ += distance * (value - mean_);
}

double Statistics::deviation() const {
  return finite_ > 0 ? std::sqrt(spread_ / static_cast<double>(finite_))
                     : kNone;
}

}  // namespace quire::tools
