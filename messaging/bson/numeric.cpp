#include "messaging/bson/numeric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::bson {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

int sign(bool less, bool greater) { return static_cast<int>(greater) - static_cast<int>(less); }

Decimal128 asDecimal(const Element& e) {
  switch (e.type()) {
    case Type::kDecimal128: return e.asDecimal();
    case Type::kDouble: return decimalFromDouble(e.asDouble());
    default: return decimalFromInt64(e.toInt64());
  }
}

enum class Operation { kAdd, kSubtract, kMultiply };

bool overflows(Operation operation, int64_t a, int64_t b, int64_t* result) {
  switch (operation) {
    case Operation::kAdd: return __builtin_add_overflow(a, b, result);
    case Operation::kSubtract: return __builtin_sub_overflow(a, b, result);
    case Operation::kMultiply: return __builtin_mul_overflow(a, b, result);
  }
  return true;
}

double calculate(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::kAdd: return a + b;
    case Operation::kSubtract: return a - b;
    case Operation::kMultiply: return a * b;
  }
  return 0;
}

Decimal128 calculate(Operation operation, Decimal128 a, Decimal128 b) {
  switch (operation) {
    case Operation::kAdd: return add(a, b);
    case Operation::kSubtract: return subtract(a, b);
    case Operation::kMultiply: return multiply(a, b);
  }
  return a;
}

StatusWith<Value> calculate(Operation operation, const Element& a, const Element& b, Overflow overflow) {
  if (a.is(Type::kDecimal128) || b.is(Type::kDecimal128))
    return Value(calculate(operation, asDecimal(a), asDecimal(b)));
  if (a.is(Type::kDouble) || b.is(Type::kDouble)) return Value(calculate(operation, a.toDouble(), b.toDouble()));
  int64_t result;
  if (overflows(operation, a.toInt64(), b.toInt64(), &result)) {
    if (overflow == Overflow::kFail) return {ErrorCode::kBadValue, "integer overflow"};
    return Value(calculate(operation, a.toDouble(), b.toDouble()));
  }
  if (a.is(Type::kInt32) && b.is(Type::kInt32) && result == static_cast<int32_t>(result))
    return Value(static_cast<int32_t>(result));
  return Value(result);
}

}  // namespace

StatusWith<int64_t> integerOf(const Element& number) {
  const int64_t integer = number.toInt64();
  // Bounds that numbers outside of the range are clamped to compare as different from those.
  if (number.isNumber() && compareNumbers(number, Value(integer).element()) == 0) return integer;
  return Status(ErrorCode::kFailedToParse, "expected an integer, but found a number that is none");
}

Value narrowestInteger(int64_t v) {
  const bool fits = v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max();
  return fits ? Value(static_cast<int32_t>(v)) : Value(v);
}

std::chrono::milliseconds timeLimitOf(const Element& millis) {
  return std::chrono::milliseconds(std::clamp<int64_t>(millis.toInt64(), 0, std::numeric_limits<int32_t>::max()));
}

int64_t saturatingInt64(double v) {
  if (std::isnan(v)) return 0;
  if (v >= kTwoTo63) return std::numeric_limits<int64_t>::max();
  if (v < -kTwoTo63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

int compareNumbers(Decimal128 a, Decimal128 b) { return compareDecimals(a, b); }

int compareNumbers(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a == b) return 0;
  return sign(std::isnan(a) && !std::isnan(b), std::isnan(b) && !std::isnan(a));
}

int compareNumbers(int64_t a, double b) {
  if (std::isnan(b)) return 1;
  if (b >= kTwoTo63) return -1;
  if (b < -kTwoTo63) return 1;
  // Within int64 the truncated double is exact as an integer; equal integers leave the fraction to decide.
  const auto truncated = static_cast<int64_t>(b);
  if (a != truncated) return sign(a<truncated, a> truncated);
  const double fraction = b - static_cast<double>(truncated);
  return sign(fraction > 0, fraction < 0);
}

int compareNumbers(int64_t a, Decimal128 b) { return compareDecimals(decimalFromInt64(a), b); }

int compareNumbers(double a, Decimal128 b) {
  if (std::isnan(a) || isNaN(b)) return sign(std::isnan(a) && !isNaN(b), isNaN(b) && !std::isnan(a));
  if (std::isinf(a)) return isInfinite(b) && isNegative(b) == (a < 0) ? 0 : (a < 0 ? -1 : 1);
  // A decimal lies on the grid of 34 digits: if it differs from the truncated double, it is on the same side of the
  // double.
  const TruncatedDecimal truncated = truncatedToDecimal(a);
  const int order = compareDecimals(truncated.value, b);
  if (order != 0 || truncated.exact) return order;
  return a > 0 ? 1 : -1;
}

int compareNumbers(const Element& a, const Element& b) {
  if (a.is(Type::kInt32) && b.is(Type::kInt32)) return sign(a.asInt32() < b.asInt32(), a.asInt32() > b.asInt32());
  const bool integerA = a.is(Type::kInt32) || a.is(Type::kInt64), integerB = b.is(Type::kInt32) || b.is(Type::kInt64);
  if (integerA && integerB) {
    const int64_t x = a.toInt64(), y = b.toInt64();
    return sign(x<y, x> y);
  }
  if (integerA)
    return b.is(Type::kDouble) ? compareNumbers(a.toInt64(), b.asDouble()) : compareNumbers(a.toInt64(), b.asDecimal());
  if (integerB) return -compareNumbers(b, a);
  if (a.is(Type::kDouble))
    return b.is(Type::kDouble) ? compareNumbers(a.asDouble(), b.asDouble())
                               : compareNumbers(a.asDouble(), b.asDecimal());
  return b.is(Type::kDouble) ? -compareNumbers(b.asDouble(), a.asDecimal())
                             : compareDecimals(a.asDecimal(), b.asDecimal());
}

StatusWith<Value> add(const Element& a, const Element& b, Overflow overflow) {
  return calculate(Operation::kAdd, a, b, overflow);
}
StatusWith<Value> subtract(const Element& a, const Element& b, Overflow overflow) {
  return calculate(Operation::kSubtract, a, b, overflow);
}
StatusWith<Value> multiply(const Element& a, const Element& b, Overflow overflow) {
  return calculate(Operation::kMultiply, a, b, overflow);
}

}  // namespace troupe::bson
