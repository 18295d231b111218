#include "messaging/bson/arithmetic.hpp"

#include <cmath>
#include <limits>

#include "messaging/bson/json.hpp"

namespace troupe::bson {
namespace {

bool isInteger(const Element& e) { return e.is(Type::kInt32) || e.is(Type::kInt64); }
bool isDecimal(const Element& e) { return e.is(Type::kDecimal128); }

Decimal128 asDecimal(const Element& e) {
  if (isDecimal(e)) return e.asDecimal();
  return e.is(Type::kDouble) ? decimalFromDouble(e.asDouble()) : decimalFromInt64(e.toInt64());
}

int signOf(const Element& e) {
  static const Value zero(int32_t{0});
  return compareNumbers(e, zero.element());
}

bool isNaN(const Element& e) {
  return isDecimal(e) ? bson::isNaN(e.asDecimal()) : e.is(Type::kDouble) && std::isnan(e.asDouble());
}

/// An integer of the type of `like`, or int64 where an int32 does not hold it.
Value integerLike(int64_t v, bool int32) {
  if (int32 && v == static_cast<int32_t>(v)) return Value(static_cast<int32_t>(v));
  return Value(v);
}

Status failure(int code, std::string reason) { return {ErrorCode(code), std::move(reason)}; }

StatusWith<Value> positive(const Element& v, int code, std::string_view name, Decimal128 (*decimal)(Decimal128),
                           double (*real)(double)) {
  if (!isNaN(v) && signOf(v) <= 0)
    return failure(code, "$" + std::string(name) + "'s argument must be a positive number, but is " + toRelaxedJson(v));
  return isDecimal(v) ? Value(decimal(v.asDecimal())) : Value(real(v.toDouble()));
}

StatusWith<Value> roundedInteger(const Element& v, int place, Rounding rounding, std::string_view name) {
  if (place >= 0) return Value(v);
  const auto rounded = truncatedInt64(roundTo(decimalFromInt64(v.toInt64()), place, rounding));
  if (!rounded)
    return failure(51080, "invalid conversion from Decimal128 result in $" + std::string(name) +
                              " resulting from arguments: [" + toRelaxedJson(v) + "," + std::to_string(place) + "]");
  return integerLike(*rounded, v.is(Type::kInt32));
}

StatusWith<Value> rounded(const Element& v, int place, Rounding rounding, std::string_view name) {
  if (isInteger(v)) return roundedInteger(v, place, rounding, name);
  if (isDecimal(v)) return Value(roundTo(v.asDecimal(), place, rounding));
  const double d = v.asDouble();
  if (!std::isfinite(d)) return Value(v);
  if (place == 0) return Value(rounding == Rounding::kHalfEven ? std::nearbyint(d) : std::trunc(d));
  return Value(toDoubleLossy(roundTo(decimalFromDoubleExact(d), place, rounding)));
}

/// The exact power, or nothing where int64 does not hold it.
std::optional<int64_t> integerPower(int64_t base, int64_t exponent) {
  if (base == 1 || exponent == 0) return 1;
  if (base == -1) return exponent % 2 ? -1 : 1;
  if (exponent < 0) return std::nullopt;
  if (base == 0) return 0;
  int64_t result = 1;
  for (; exponent > 0; --exponent) {  // at most 63 steps before it overflows
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

}  // namespace

StatusWith<Value> divide(const Element& a, const Element& b) {
  if (signOf(b) == 0) return {ErrorCode::kBadValue, "can't $divide by zero"};
  if (isDecimal(a) || isDecimal(b)) return Value(divide(asDecimal(a), asDecimal(b)));
  return Value(a.toDouble() / b.toDouble());
}

StatusWith<Value> modulo(const Element& a, const Element& b) {
  if (signOf(b) == 0) return failure(16610, "can't $mod by zero");
  if (isDecimal(a) || isDecimal(b)) return Value(remainder(asDecimal(a), asDecimal(b)));
  if (!isInteger(a) || !isInteger(b)) return Value(std::fmod(a.toDouble(), b.toDouble()));
  const int64_t divisor = b.toInt64();
  const int64_t result = divisor == -1 ? 0 : a.toInt64() % divisor;  // the least integer by -1 would trap
  return integerLike(result, a.is(Type::kInt32) && b.is(Type::kInt32));
}

StatusWith<Value> abs(const Element& v) {
  if (isDecimal(v)) return Value(abs(v.asDecimal()));
  if (v.is(Type::kDouble)) return Value(std::fabs(v.asDouble()));
  const int64_t integer = v.toInt64();
  if (integer == std::numeric_limits<int64_t>::min()) return failure(28680, "can't take $abs of long long min");
  return integerLike(integer < 0 ? -integer : integer, v.is(Type::kInt32));
}

Value ceil(const Element& v) {
  if (isInteger(v)) return Value(v);
  return isDecimal(v) ? Value(roundTo(v.asDecimal(), 0, Rounding::kUp)) : Value(std::ceil(v.asDouble()));
}

Value floor(const Element& v) {
  if (isInteger(v)) return Value(v);
  return isDecimal(v) ? Value(roundTo(v.asDecimal(), 0, Rounding::kDown)) : Value(std::floor(v.asDouble()));
}

StatusWith<Value> round(const Element& v, int place) { return rounded(v, place, Rounding::kHalfEven, "round"); }
StatusWith<Value> truncate(const Element& v, int place) { return rounded(v, place, Rounding::kTowardsZero, "trunc"); }

StatusWith<Value> sqrt(const Element& v) {
  if (!isNaN(v) && signOf(v) < 0) return failure(28714, "$sqrt's argument must be greater than or equal to 0");
  return isDecimal(v) ? Value(sqrt(v.asDecimal())) : Value(std::sqrt(v.toDouble()));
}

Value exp(const Element& v) { return isDecimal(v) ? Value(exp(v.asDecimal())) : Value(std::exp(v.toDouble())); }

StatusWith<Value> ln(const Element& v) { return positive(v, 28766, "ln", &ln, &std::log); }
StatusWith<Value> log10(const Element& v) { return positive(v, 28761, "log10", &log10, &std::log10); }

StatusWith<Value> log(const Element& v, const Element& base) {
  static const Value one(int32_t{1});
  if (!isNaN(v) && signOf(v) <= 0)
    return failure(28758, "$log's argument must be a positive number, but is " + toRelaxedJson(v));
  if (!isNaN(base) && (signOf(base) <= 0 || compareNumbers(base, one.element()) == 0))
    return failure(28759, "$log's base must be a positive number not equal to 1, but is " + toRelaxedJson(base));
  if (isDecimal(v) || isDecimal(base)) return Value(divide(ln(asDecimal(v)), ln(asDecimal(base))));
  return Value(std::log(v.toDouble()) / std::log(base.toDouble()));
}

StatusWith<Value> pow(const Element& base, const Element& exponent) {
  if (signOf(base) == 0 && !isNaN(exponent) && signOf(exponent) < 0)
    return failure(28764, "$pow cannot take a base of 0 and a negative exponent");
  if (isDecimal(base) || isDecimal(exponent)) return Value(pow(asDecimal(base), asDecimal(exponent)));
  if (isInteger(base) && isInteger(exponent)) {
    if (const auto exact = integerPower(base.toInt64(), exponent.toInt64()))
      return integerLike(*exact, base.is(Type::kInt32) && exponent.is(Type::kInt32));
  }
  return Value(std::pow(base.toDouble(), exponent.toDouble()));
}

}  // namespace troupe::bson
