#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::bson {

/// Truncates towards zero and clamps to the range of int64; NaN gives 0.
int64_t saturatingInt64(double v);

// Decimal128 (BID). Arithmetic follows IEEE 754-2008, rounding half to even.
double toDoubleLossy(Decimal128 v);
bool isZero(Decimal128 v);
bool isNaN(Decimal128 v);
bool isInfinite(Decimal128 v);
Decimal128 decimalFromInt64(int64_t v);
/// The shortest decimal of 15 significant digits, as conversions of doubles to decimals do.
Decimal128 decimalFromDouble(double v);
StatusWith<Decimal128> decimalFromString(std::string_view text);
std::string toString(Decimal128 v);
Decimal128 add(Decimal128 a, Decimal128 b);
Decimal128 subtract(Decimal128 a, Decimal128 b);
Decimal128 multiply(Decimal128 a, Decimal128 b);
Decimal128 divide(Decimal128 a, Decimal128 b);
/// -1, 0 or 1 by mathematical value; NaN equals NaN and is below all other numbers.
int compareNumbers(Decimal128 a, Decimal128 b);

/// Compares two numeric elements (any of double, int32, int64, decimal128) by mathematical value, exactly.
int compareNumbers(const Element& a, const Element& b);

// Arithmetic over values of any numeric types with the server's widening rules: int32 op int32 gives int32, or int64
// where it overflows; int64 that overflows gives double (in expressions) or fails (in update operators); any double
// gives double; any decimal gives decimal. The arguments are numbers.
enum class Overflow { kWiden, kFail };
StatusWith<Value> add(const Element& a, const Element& b, Overflow overflow);
StatusWith<Value> subtract(const Element& a, const Element& b, Overflow overflow);
StatusWith<Value> multiply(const Element& a, const Element& b, Overflow overflow);

}  // namespace troupe::bson
