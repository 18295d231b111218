#pragma once
#include "messaging/bson/decimal.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::bson {

/// "1.50" as a value. The text must be a decimal number.
inline Value decimalValue(const char* text) { return Value(decimalFromString(text).value()); }

}  // namespace troupe::bson
