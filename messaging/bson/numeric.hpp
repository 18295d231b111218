#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::bson {

/// Truncates towards zero and clamps to the range of int64; NaN gives 0.
int64_t saturatingInt64(double v);

// Decimal128 (BID), by Intel's decimal floating-point library. Arithmetic follows IEEE 754-2008, rounding half to even.
// No other code may use the compiler's own _Decimal128: both libraries define the same symbols.
double toDoubleLossy(Decimal128 v);
bool isZero(Decimal128 v);
bool isNaN(Decimal128 v);
bool isInfinite(Decimal128 v);
Decimal128 decimalFromInt64(int64_t v);
/// The decimal of 15 significant digits nearest to `v` (0.1 gives 0.100000000000000), as conversions of doubles to
/// decimals do; trailing zeros are kept, zero is plain 0.
Decimal128 decimalFromDouble(double v);
/// The decimal of 34 significant digits nearest to `v`.
Decimal128 decimalFromDoubleExact(double v);
/// Rounds to 34 digits. Errors: FailedToParse where the text is not a number or out of range.
StatusWith<Decimal128> decimalFromString(std::string_view text);
std::string toString(Decimal128 v);
Decimal128 add(Decimal128 a, Decimal128 b);
Decimal128 subtract(Decimal128 a, Decimal128 b);
Decimal128 multiply(Decimal128 a, Decimal128 b);
Decimal128 divide(Decimal128 a, Decimal128 b);
Decimal128 remainder(Decimal128 a, Decimal128 b);  ///< with the sign of `a`
Decimal128 negate(Decimal128 v);
Decimal128 abs(Decimal128 v);
bool isNegative(Decimal128 v);  ///< the sign bit, so true for -0
/// Rounds to a multiple of 10^-place; a negative place rounds digits before the point. What has fewer digits stays.
enum class Rounding { kHalfEven, kDown, kUp, kTowardsZero };
Decimal128 roundTo(Decimal128 v, int place, Rounding rounding);
Decimal128 sqrt(Decimal128 v);
Decimal128 exp(Decimal128 v);
Decimal128 ln(Decimal128 v);
Decimal128 log10(Decimal128 v);
Decimal128 pow(Decimal128 base, Decimal128 exponent);
enum class Trigonometric { kSin, kCos, kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kTanh, kAsinh, kAcosh, kAtanh };
Decimal128 apply(Trigonometric function, Decimal128 v);
Decimal128 atan2(Decimal128 y, Decimal128 x);
/// The integer that `v` truncates to; nothing when it is outside int64 or not a number.
std::optional<int64_t> truncatedInt64(Decimal128 v);
/// The decimal's digits as an integer of at most 113 bits (high, low), its exponent and sign: v = digits * 10^exponent.
struct DecimalParts {
  bool negative = false;
  uint64_t high = 0;
  uint64_t low = 0;
  int exponent = 0;
};
/// Of a finite number; non-canonical encodings give zero digits.
DecimalParts partsOf(Decimal128 v);
Decimal128 fromParts(const DecimalParts& parts);

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
