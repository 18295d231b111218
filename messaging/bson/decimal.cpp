#include "messaging/bson/decimal.hpp"

#include <bson/bson.h>

#include <algorithm>
#include <cmath>

// Intel's library as Debian builds it in variant 000: arguments by value, rounding mode and flags as arguments.
#define DECIMAL_CALL_BY_REFERENCE 0
#define DECIMAL_GLOBAL_ROUNDING 0
#define DECIMAL_GLOBAL_EXCEPTION_FLAGS 0
extern "C" {
#include <bid_conf.h>
#include <bid_functions.h>
}

namespace troupe::bson {
namespace {

using Flags = _IDEC_flags;
constexpr int kExponentBias = 6176;
constexpr auto kNearest = BID_ROUNDING_TO_NEAREST;
// 34 nines, the largest digits.
constexpr uint64_t kLargestHigh = 0x0001ED09BEAD87C0ULL;
constexpr uint64_t kLargestLow = 0x378D8E63FFFFFFFFULL;

BID_UINT128 in(Decimal128 v) {
  BID_UINT128 r;
  r.w[BID_LOW_128W] = v.low;
  r.w[BID_HIGH_128W] = v.high;
  return r;
}

Decimal128 out(BID_UINT128 v) { return {v.w[BID_LOW_128W], v.w[BID_HIGH_128W]}; }

template <class Function>
Decimal128 unary(Function function, Decimal128 v) {
  Flags flags = 0;
  return out(function(in(v), kNearest, &flags));
}

template <class Function>
Decimal128 binary(Function function, Decimal128 a, Decimal128 b) {
  Flags flags = 0;
  return out(function(in(a), in(b), kNearest, &flags));
}

Decimal128 powerOfTen(int exponent) { return fromParts({false, 0, 1, exponent}); }

bool isDigit(char c) { return c >= '0' && c <= '9'; }

size_t skipDigits(std::string_view text, size_t from) {
  while (from < text.size() && isDigit(text[from])) ++from;
  return from;
}

/// Intel's reader takes anything (and gives NaN), so the syntax is checked first: [sign] digits [. digits] [E [sign]
/// digits].
bool isFiniteNumber(std::string_view text) {
  size_t at = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const size_t point = skipDigits(text, at);
  size_t digits = point - at;
  at = point;
  if (at < text.size() && text[at] == '.') {
    at = skipDigits(text, at + 1);
    digits += at - point - 1;
  }
  if (digits == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t end = skipDigits(text, at);
    if (end == at) return false;
    at = end;
  }
  return at == text.size();
}

}  // namespace

double toDoubleLossy(Decimal128 v) {
  Flags flags = 0;
  return bid128_to_binary64(in(v), kNearest, &flags);
}

TruncatedDouble truncatedToDouble(Decimal128 v) {
  Flags flags = 0;
  const double d = bid128_to_binary64(in(v), BID_ROUNDING_TO_ZERO, &flags);
  return {d, !(flags & BID_INEXACT_EXCEPTION)};
}

TruncatedDecimal truncatedToDecimal(double v) {
  Flags flags = 0;
  const BID_UINT128 d = binary64_to_bid128(v, BID_ROUNDING_TO_ZERO, &flags);
  return {out(d), !(flags & BID_INEXACT_EXCEPTION)};
}

bool isZero(Decimal128 v) { return bid128_isZero(in(v)); }
bool isNaN(Decimal128 v) { return (v.high & 0x7C00000000000000ULL) == 0x7C00000000000000ULL; }
bool isInfinite(Decimal128 v) { return (v.high & 0x7C00000000000000ULL) == 0x7800000000000000ULL; }
bool isNegative(Decimal128 v) { return v.high >> 63; }

Decimal128 decimalFromInt64(int64_t v) { return out(bid128_from_int64(v)); }

Decimal128 decimalFromDoubleExact(double v) {
  Flags flags = 0;
  return out(binary64_to_bid128(v, kNearest, &flags));
}

Decimal128 decimalFromDouble(double v) {
  if (v == 0) return std::signbit(v) ? negate(decimalFromInt64(0)) : decimalFromInt64(0);
  const Decimal128 wide = decimalFromDoubleExact(v);
  if (isNaN(wide) || isInfinite(wide)) return wide;
  Flags flags = 0;
  const int leading = bid128_ilogb(in(wide), &flags);
  const Decimal128 narrow = quantize(wide, leading - 14);
  // Rounding 9.99... up adds a digit.
  return bid128_ilogb(in(narrow), &flags) == leading ? narrow : quantize(wide, leading - 13);
}

StatusWith<Decimal128> decimalFromString(std::string_view text) {
  // libbson reads exact numbers (and NaN, infinities and zeros of any exponent); Intel's reader rounds the rest.
  bson_decimal128_t parsed;
  if (!text.empty() && bson_decimal128_from_string_w_len(text.data(), static_cast<int>(text.size()), &parsed))
    return Decimal128{parsed.low, parsed.high};
  if (!isFiniteNumber(text)) return {ErrorCode::kFailedToParse, "Failed to parse string to decimal"};
  std::string terminated(text);
  Flags flags = 0;
  const Decimal128 v = out(bid128_from_string(terminated.data(), kNearest, &flags));
  if (flags & BID_OVERFLOW_EXCEPTION || isInfinite(v))
    return {ErrorCode::kFailedToParse, "Conversion from string to decimal would overflow"};
  if (flags & BID_UNDERFLOW_EXCEPTION)
    return {ErrorCode::kFailedToParse, "Conversion from string to decimal would underflow"};
  return v;
}

std::string toString(Decimal128 v) {
  char text[BSON_DECIMAL128_STRING];
  const bson_decimal128_t wire{v.low, v.high};
  bson_decimal128_to_string(&wire, text);
  return text;
}

Decimal128 add(Decimal128 a, Decimal128 b) { return binary(bid128_add, a, b); }
Decimal128 subtract(Decimal128 a, Decimal128 b) { return binary(bid128_sub, a, b); }
Decimal128 multiply(Decimal128 a, Decimal128 b) { return binary(bid128_mul, a, b); }
Decimal128 divide(Decimal128 a, Decimal128 b) { return binary(bid128_div, a, b); }

Decimal128 remainder(Decimal128 a, Decimal128 b) {
  Flags flags = 0;
  return out(bid128_fmod(in(a), in(b), &flags));
}

Decimal128 negate(Decimal128 v) { return {v.low, v.high ^ (1ULL << 63)}; }
Decimal128 abs(Decimal128 v) { return {v.low, v.high & ~(1ULL << 63)}; }

Decimal128 quantize(Decimal128 v, int exponent) {
  return binary(bid128_quantize, v, powerOfTen(std::clamp(exponent, -kExponentBias, 6111)));
}

Decimal128 roundTo(Decimal128 v, int place, Rounding rounding) {
  if (isNaN(v) || isInfinite(v) || partsOf(v).exponent >= -place) return v;
  const auto mode = rounding == Rounding::kHalfEven ? BID_ROUNDING_TO_NEAREST
                    : rounding == Rounding::kDown   ? BID_ROUNDING_DOWN
                    : rounding == Rounding::kUp     ? BID_ROUNDING_UP
                                                    : BID_ROUNDING_TO_ZERO;
  Flags flags = 0;
  return out(bid128_quantize(in(v), in(powerOfTen(-place)), mode, &flags));
}

Decimal128 sqrt(Decimal128 v) { return unary(bid128_sqrt, v); }
Decimal128 exp(Decimal128 v) { return unary(bid128_exp, v); }
Decimal128 ln(Decimal128 v) { return unary(bid128_log, v); }
Decimal128 log10(Decimal128 v) { return unary(bid128_log10, v); }
Decimal128 pow(Decimal128 base, Decimal128 exponent) { return binary(bid128_pow, base, exponent); }
Decimal128 atan2(Decimal128 y, Decimal128 x) { return binary(bid128_atan2, y, x); }

Decimal128 apply(Trigonometric function, Decimal128 v) {
  switch (function) {
    case Trigonometric::kSin: return unary(bid128_sin, v);
    case Trigonometric::kCos: return unary(bid128_cos, v);
    case Trigonometric::kTan: return unary(bid128_tan, v);
    case Trigonometric::kAsin: return unary(bid128_asin, v);
    case Trigonometric::kAcos: return unary(bid128_acos, v);
    case Trigonometric::kAtan: return unary(bid128_atan, v);
    case Trigonometric::kSinh: return unary(bid128_sinh, v);
    case Trigonometric::kCosh: return unary(bid128_cosh, v);
    case Trigonometric::kTanh: return unary(bid128_tanh, v);
    case Trigonometric::kAsinh: return unary(bid128_asinh, v);
    case Trigonometric::kAcosh: return unary(bid128_acosh, v);
    case Trigonometric::kAtanh: return unary(bid128_atanh, v);
  }
  return v;
}

std::optional<int64_t> truncatedInt64(Decimal128 v) {
  Flags flags = 0;
  const auto result = bid128_to_int64_int(in(v), &flags);
  if (flags & BID_INVALID_EXCEPTION) return std::nullopt;
  return result;
}

int64_t roundedInt64(Decimal128 v) {
  Flags flags = 0;
  const auto result = bid128_to_int64_rnint(in(v), &flags);
  if (!(flags & BID_INVALID_EXCEPTION)) return result;
  if (isNaN(v)) return 0;
  return isNegative(v) ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

DecimalParts partsOf(Decimal128 v) {
  DecimalParts parts;
  parts.negative = isNegative(v);
  if ((v.high & 0x6000000000000000ULL) == 0x6000000000000000ULL) {
    // The form for larger digits, none of which are canonical in 128 bits: zero with an exponent.
    parts.exponent = static_cast<int>((v.high >> 47) & 0x3FFF) - kExponentBias;
    return parts;
  }
  parts.exponent = static_cast<int>((v.high >> 49) & 0x3FFF) - kExponentBias;
  parts.high = v.high & 0x0001FFFFFFFFFFFFULL;
  parts.low = v.low;
  const bool canonical = parts.high < kLargestHigh || (parts.high == kLargestHigh && parts.low <= kLargestLow);
  if (!canonical) parts.high = parts.low = 0;
  return parts;
}

Decimal128 fromParts(const DecimalParts& parts) {
  const auto biased = static_cast<uint64_t>(parts.exponent + kExponentBias);
  return {parts.low, (uint64_t{parts.negative} << 63) | (biased << 49) | parts.high};
}

int compareDecimals(Decimal128 a, Decimal128 b) {
  if (isNaN(a) || isNaN(b)) return static_cast<int>(isNaN(b)) - static_cast<int>(isNaN(a));
  Flags flags = 0;
  if (bid128_quiet_less(in(a), in(b), &flags)) return -1;
  return bid128_quiet_greater(in(a), in(b), &flags) ? 1 : 0;
}

}  // namespace troupe::bson
