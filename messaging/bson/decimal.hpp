#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/types.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::bson {

// Decimal128 (BID), by Intel's decimal floating-point library. Arithmetic follows IEEE 754-2008, rounding half to even.
// No other code may use the compiler's own _Decimal128: both libraries define the same symbols.
/// The nearest double; overflows to infinity.
double toDoubleLossy(Decimal128 v);
/// The nearest double that is not larger in magnitude, and whether it is exactly `v` (finite numbers only).
struct TruncatedDouble {
  double value = 0;
  bool exact = true;
};
TruncatedDouble truncatedToDouble(Decimal128 v);
/// The decimal of 34 digits nearest to `v` that is not larger in magnitude, and whether it is exactly `v`.
struct TruncatedDecimal {
  Decimal128 value;
  bool exact = true;
};
TruncatedDecimal truncatedToDecimal(double v);
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
/// Rounds to a multiple of 10^-place; a negative place rounds digits before the point. Numbers of fewer digits stay.
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
/// Rounds half to even and clamps to the range of int64; NaN gives 0.
int64_t roundedInt64(Decimal128 v);
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
/// The same number with that exponent, where the digits allow it; else rounded half to even, or NaN if it does not fit.
Decimal128 quantize(Decimal128 v, int exponent);
/// -1, 0 or 1 by mathematical value; NaN equals NaN and is below all other numbers.
int compareDecimals(Decimal128 a, Decimal128 b);

}  // namespace troupe::bson
