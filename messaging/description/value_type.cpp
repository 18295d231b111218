#include "messaging/description/value_type.hpp"

#include <cstring>
#include <stdexcept>

namespace troupe::machines {
namespace {

template <class T>
uint64_t readAs(const void* value) {
  T number;
  std::memcpy(&number, value, sizeof number);
  return static_cast<uint64_t>(static_cast<int64_t>(number));
}

}  // namespace

uint64_t integerOf(const IntegerType& type, const void* value) {
  switch (type.bytes) {
    case 1: return type.isSigned ? readAs<int8_t>(value) : readAs<uint8_t>(value);
    case 2: return type.isSigned ? readAs<int16_t>(value) : readAs<uint16_t>(value);
    case 4: return type.isSigned ? readAs<int32_t>(value) : readAs<uint32_t>(value);
    default: return bson::load<uint64_t>(static_cast<const char*>(value));
  }
}

bool setInteger(const IntegerType& type, void* value, uint64_t bits, bool negative) {
  const unsigned width = type.bytes * 8u;
  if (negative) {
    const auto number = static_cast<int64_t>(bits);
    if (!type.isSigned) return false;
    if (width < 64 && number < -(int64_t{1} << (width - 1))) return false;
  } else {
    const unsigned digits = width - (type.isSigned ? 1 : 0);
    if (digits < 64 && bits >> digits != 0) return false;
  }
  switch (type.bytes) {
    case 1: {
      const auto v = static_cast<uint8_t>(bits);
      std::memcpy(value, &v, sizeof v);
      break;
    }
    case 2: {
      const auto v = static_cast<uint16_t>(bits);
      std::memcpy(value, &v, sizeof v);
      break;
    }
    case 4: {
      const auto v = static_cast<uint32_t>(bits);
      std::memcpy(value, &v, sizeof v);
      break;
    }
    default: std::memcpy(value, &bits, sizeof bits);
  }
  return true;
}

void requireKey(std::string_view key) {
  if (!isKey(key)) throw std::logic_error("a map's key holds a NUL: it cannot name a field");
}

double doubleOf(const DoubleType& type, const void* value) {
  return type.isFloat ? static_cast<double>(*static_cast<const float*>(value)) : *static_cast<const double*>(value);
}

void setDouble(const DoubleType& type, void* value, double number) {
  if (type.isFloat) *static_cast<float*>(value) = static_cast<float>(number);
  else *static_cast<double*>(value) = number;
}

std::string_view enumNameOf(const EnumType& type, const void* value) {
  const std::string_view name = type.name(value);
  if (name.empty()) throw std::logic_error("an enum holds a value without a name");
  return name;
}

}  // namespace troupe::machines
