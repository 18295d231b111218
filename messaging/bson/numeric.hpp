#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/decimal.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::bson {

/// Truncates towards zero and clamps to the range of int64; NaN gives 0.
int64_t saturatingInt64(double v);

/// The integer that a number is. Errors: FailedToParse for fractions, NaN, infinities and what is outside of int64.
StatusWith<int64_t> integerOf(const Element& number);

/// A count or size as replies show them: int32 where it fits, else int64.
Value narrowestInteger(int64_t v);

/// A time limit that a client gives in milliseconds, from 0 to 2^31 - 1 of them (24 days): more would overflow once it
/// is added to a time in nanoseconds.
std::chrono::milliseconds timeLimitOf(const Element& millis);

/// -1, 0 or 1 by mathematical value; NaN equals NaN and is below all other numbers.
int compareNumbers(Decimal128 a, Decimal128 b);
int compareNumbers(double a, double b);
int compareNumbers(int64_t a, double b);
int compareNumbers(int64_t a, Decimal128 b);
int compareNumbers(double a, Decimal128 b);

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
