#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "messaging/bson/arithmetic.hpp"
#include "messaging/bson/decimal.hpp"
#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/expression/sum.hpp"

// Arithmetic: $add ... $trunc, powers and logarithms, trigonometry.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

Status numericOnly(const Operator& op, const Element& e, int code = 28765) {
  return {ErrorCode(code), std::string(op.name) + " only supports numeric types, not " + typeOf(e)};
}

/// The milliseconds that a number adds to a date. Errors: Overflow for what is not a number.
StatusWith<int64_t> asMillis(const Element& e) {
  if (!e.is(Type::kDouble) && !e.is(Type::kDecimal128)) return e.toInt64();
  const double v = e.is(Type::kDouble) ? e.asDouble() : bson::toDoubleLossy(e.asDecimal());
  if (std::isnan(v)) return Status(ErrorCode::kOverflow, "date overflow: NaN is no number of milliseconds");
  return bson::saturatingInt64(std::round(v));
}

Result add(Arguments& arguments, const Operator& op) {
  Sum sum(Sum::Doubles::kConverted);
  int64_t millis = 0;
  bool isDate = false;
  bool isNull = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Element e = arguments[i];
    if (e.isNumber()) {
      sum.add(e);
    } else if (e.is(Type::kDate)) {
      if (isDate) return Status(ErrorCode(16612), "only one date allowed in an $add expression");
      isDate = true;
      millis = e.asDate().millis;
    } else if (e.isNullish()) {
      isNull = true;
    } else {
      return Status(ErrorCode::kTypeMismatch,
                    std::string(op.name) + " only supports numeric or date types, not " + typeOf(e));
    }
  }
  if (isNull) return Operand(nullValue());
  const bson::Value total = sum.value();
  if (!isDate) return Operand(total);
  TROUPE_ASSIGN(const int64_t added, asMillis(total.element()));
  int64_t result = 0;
  if (__builtin_add_overflow(millis, added, &result)) return Status(ErrorCode::kOverflow, "date overflow in $add");
  return Operand(date(result));
}

Result subtract(Arguments& arguments, const Operator&) {
  const Element a = arguments[0], b = arguments[1];
  if (a.isNumber() && b.isNumber()) {
    TROUPE_ASSIGN(auto difference, bson::subtract(a, b, bson::Overflow::kWiden));
    return Operand(std::move(difference));
  }
  if (a.isNullish() || b.isNullish()) return Operand(nullValue());
  int64_t result = 0;
  if (a.is(Type::kDate) && b.is(Type::kDate)) {
    if (__builtin_sub_overflow(a.asDate().millis, b.asDate().millis, &result))
      return Status(ErrorCode::kOverflow, "overflow in $subtract");
    return Operand(int64(result));
  }
  if (a.is(Type::kDate) && b.isNumber()) {
    TROUPE_ASSIGN(const int64_t subtracted, asMillis(b));
    if (__builtin_sub_overflow(a.asDate().millis, subtracted, &result))
      return Status(ErrorCode::kOverflow, "date overflow in $subtract");
    return Operand(date(result));
  }
  return Status(ErrorCode::kTypeMismatch, "can't $subtract " + typeOf(b) + " from " + typeOf(a));
}

Result multiply(Arguments& arguments, const Operator& op) {
  bson::Value product = int32(1);
  bool isNull = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Element e = arguments[i];
    if (e.isNumber()) {
      TROUPE_ASSIGN(product, bson::multiply(product.element(), e, bson::Overflow::kWiden));
    } else if (e.isNullish()) {
      isNull = true;
    } else {
      return numericOnly(op, e, 14);
    }
  }
  return Operand(isNull ? nullValue() : std::move(product));
}

bool isDecimal(const Element& a, const Element& b) { return a.is(Type::kDecimal128) || b.is(Type::kDecimal128); }

Result divide(Arguments& arguments, const Operator&) {
  const Element a = arguments[0], b = arguments[1];
  if (a.isNullish() || b.isNullish()) return Operand(nullValue());
  if (!a.isNumber() || !b.isNumber())
    return Status(ErrorCode::kTypeMismatch,
                  "$divide only supports numeric types, not " + typeOf(a) + " and " + typeOf(b));
  const auto byZero = [&arguments] {
    return Status(ErrorCode(arguments.variables.grouping ? 4848401 : 2), "can't $divide by zero");
  };
  if (isDecimal(a, b)) {
    if (bson::isZero(toDecimal(b))) return byZero();
    return Operand(decimal(bson::divide(toDecimal(a), toDecimal(b))));
  }
  if (b.toDouble() == 0) return byZero();
  return Operand(real(a.toDouble() / b.toDouble()));
}

Result modulo(Arguments& arguments, const Operator&) {
  const Element a = arguments[0], b = arguments[1];
  if (a.isNullish() || b.isNullish()) return Operand(nullValue());
  if (!a.isNumber() || !b.isNumber())
    return Status(ErrorCode(16611), "$mod only supports numeric types, not " + typeOf(a) + " and " + typeOf(b));
  if (b.is(Type::kDecimal128) ? bson::isZero(b.asDecimal()) : b.toDouble() == 0)
    return Status(ErrorCode(arguments.variables.grouping ? 4848403 : 16610), "can't $mod by zero");
  if (isDecimal(a, b)) {
    return Operand(decimal(bson::remainder(toDecimal(a), toDecimal(b))));
  }
  if (a.is(Type::kDouble) || b.is(Type::kDouble)) {
    const auto right = exactInt64(b);
    const auto left = exactInt64(a);
    if (left && right && !(a.is(Type::kDouble) && b.is(Type::kDouble)) && *right != -1 && *right != 0)
      return Operand(real(std::copysign(static_cast<double>(*left % *right), a.toDouble())));
    return Operand(real(std::fmod(a.toDouble(), b.toDouble())));
  }
  const int64_t remainder = b.toInt64() == -1 ? 0 : a.toInt64() % b.toInt64();
  if (a.is(Type::kInt32) && b.is(Type::kInt32)) return Operand(int32(static_cast<int32_t>(remainder)));
  return Operand(int64(remainder));
}

Result absolute(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  switch (e.type()) {
    case Type::kInt32:
      return Operand(e.asInt32() == std::numeric_limits<int32_t>::min() ? int64(-int64_t{e.asInt32()})
                                                                        : int32(std::abs(e.asInt32())));
    case Type::kInt64:
      if (e.asInt64() == std::numeric_limits<int64_t>::min())
        return Status(ErrorCode(28680), "can't take $abs of long long min");
      return Operand(int64(std::abs(e.asInt64())));
    case Type::kDouble: return Operand(real(std::fabs(e.asDouble())));
    case Type::kDecimal128: return Operand(decimal(bson::abs(e.asDecimal())));
    default: return numericOnly(op, e);
  }
}

using Double = double (*)(double);
using Decimal = bson::Decimal128 (*)(bson::Decimal128);

/// Whole numbers that 34 digits cannot hold, infinities among them, give NaN.
bson::Decimal128 wholeOrNaN(bson::Decimal128 v, bson::Rounding rounding) {
  return bson::quantize(bson::roundTo(v, 0, rounding), 0);
}
bson::Decimal128 decimalCeil(bson::Decimal128 v) { return wholeOrNaN(v, bson::Rounding::kUp); }
bson::Decimal128 decimalFloor(bson::Decimal128 v) { return wholeOrNaN(v, bson::Rounding::kDown); }
template <bson::Trigonometric F>
bson::Decimal128 decimalOf(bson::Decimal128 v) {
  return bson::apply(F, v);
}

/// A function of one number, for doubles and for decimals; integers stay as they are where `Integral`.
template <Double F, Decimal G, bool Integral>
Result elementwise(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  if (!e.isNumber()) return numericOnly(op, e);
  if (e.is(Type::kDecimal128)) return Operand(decimal(G(e.asDecimal())));
  if (Integral && !e.is(Type::kDouble)) return Operand(arguments.at(0).copy());
  return Operand(real(F(e.toDouble())));
}

double asDouble(const Element& e) {
  return e.is(Type::kDecimal128) ? bson::toDoubleLossy(e.asDecimal()) : e.toDouble();
}
/// Above zero, also where a decimal is too small for a double, or not a number.
bool isPositive(const Element& e) {
  if (!e.is(Type::kDecimal128)) return !(e.toDouble() <= 0);
  return bson::isNaN(e.asDecimal()) || (!bson::isZero(e.asDecimal()) && !bson::isNegative(e.asDecimal()));
}

/// The function's value as a decimal when the argument is one.
template <Double F, Decimal G>
bson::Value applied(const Element& e) {
  return e.is(Type::kDecimal128) ? decimal(G(e.asDecimal())) : real(F(e.toDouble()));
}

double sigmoidOf(double v) { return 1 / (1 + std::exp(-v)); }
bson::Decimal128 decimalSigmoid(bson::Decimal128 v) {
  const bson::Decimal128 one = bson::decimalFromInt64(1);
  return bson::divide(one, bson::add(one, bson::exp(bson::multiply(v, bson::decimalFromInt64(-1)))));
}

Result sigmoid(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  if (!e.isNumber()) return numericOnly(op, e, 14);
  return Operand(applied<sigmoidOf, decimalSigmoid>(e));
}

Result squareRoot(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  if (!e.isNumber()) return numericOnly(op, e);
  const double v = asDouble(e);
  if (v < 0) return Status(ErrorCode(28714), "$sqrt's argument must be greater than or equal to 0");
  return Operand(applied<std::sqrt, bson::sqrt>(e));
}

template <Double F, Decimal G, int Code>
Result logarithm(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  if (!e.isNumber()) return numericOnly(op, e);
  const double v = asDouble(e);
  if (!isPositive(e))
    return Status(ErrorCode(Code), std::string(op.name) + "'s argument must be a positive number, but is " + show(e));
  if (std::isnan(v)) return Operand(real(v));  // of a decimal too
  return Operand(applied<F, G>(e));
}

Result logarithmOfBase(Arguments& arguments, const Operator&) {
  const Element e = arguments[0], base = arguments[1];
  if (!e.isNumber()) return Status(ErrorCode(28756), "$log's argument must be numeric, not " + typeOf(e));
  if (!base.isNumber()) return Status(ErrorCode(28757), "$log's base must be numeric, not " + typeOf(base));
  const double v = asDouble(e), b = asDouble(base);
  if (!isPositive(e)) return Status(ErrorCode(28758), "$log's argument must be a positive number, but is " + show(e));
  if (!isPositive(base) || b == 1)
    return Status(ErrorCode(28759), "$log's base must be a positive number not equal to 1, but is " + show(base));
  if (std::isnan(v) || std::isnan(b)) return Operand(real(std::numeric_limits<double>::quiet_NaN()));
  if (isDecimal(e, base)) return Operand(decimal(bson::divide(bson::ln(toDecimal(e)), bson::ln(toDecimal(base)))));
  return Operand(real(std::log(v) / std::log(b)));
}

/// `base` to the power of `exponent` in integers, or nothing on overflow.
std::optional<int64_t> integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return std::nullopt;
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

Result power(Arguments& arguments, const Operator&) {
  const Element base = arguments[0], exponent = arguments[1];
  if (!base.isNumber()) return Status(ErrorCode(28762), "$pow's base must be numeric, not " + typeOf(base));
  if (!exponent.isNumber()) return Status(ErrorCode(28763), "$pow's exponent must be numeric, not " + typeOf(exponent));
  const double b = asDouble(base), x = asDouble(exponent);
  if (b == 0 && x < 0) return Status(ErrorCode(28764), "$pow cannot take a base of 0 and a negative exponent");
  if (isDecimal(base, exponent)) {
    const bson::Decimal128 result = bson::pow(toDecimal(base), toDecimal(exponent));
    return Operand(decimal(bson::isZero(result) ? bson::fromParts({.exponent = -6176}) : result));
  }
  if (base.is(Type::kDouble) || exponent.is(Type::kDouble)) return Operand(real(std::pow(b, x)));
  const auto exact = integerPower(base.toInt64(), exponent.toInt64());
  if (!exact) return Operand(real(std::pow(b, x)));
  const bool isLong = base.is(Type::kInt64) || exponent.is(Type::kInt64);
  return Operand(isLong ? int64(*exact) : integer(*exact));
}

/// `v` rounded half to even, or truncated, at `place` digits after the point.
double roundAt(double v, int place, bool truncate) {
  if (!std::isfinite(v)) return v;
  const auto at = [truncate](long double x) { return truncate ? std::truncl(x) : std::nearbyintl(x); };
  if (place == 0) return static_cast<double>(at(v));
  const long double scale = std::pow(10.0L, std::abs(place));
  const long double scaled = place > 0 ? static_cast<long double>(v) * scale : v / scale;
  if (!std::isfinite(scaled)) return v;
  return static_cast<double>(place > 0 ? at(scaled) / scale : at(scaled) * scale);
}

Result roundOrTruncate(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  const bool truncate = op.name == "$trunc";
  if (!e.isNumber()) return numericOnly(op, e, 51081);
  int place = 0;
  if (arguments.size() > 1) {
    TROUPE_TRY(coerceToLong(arguments[1]).status());
    const auto precision = exactInt64(arguments[1]);
    if (!precision)
      return Status(ErrorCode(51082), "precision argument to  " + std::string(op.name) + " must be a integral value");
    if (*precision < -20 || *precision > 100)
      return Status(ErrorCode(51083), "cannot apply " + std::string(op.name) + " with precision value " +
                                          std::to_string(*precision) + " value must be in [-20, 100]");
    place = static_cast<int>(*precision);
  }
  if (e.is(Type::kDouble)) return Operand(real(roundAt(e.asDouble(), place, truncate)));
  if (e.is(Type::kDecimal128)) {
    const auto rounding = truncate ? bson::Rounding::kTowardsZero : bson::Rounding::kHalfEven;
    const bson::Decimal128 rounded = bson::roundTo(e.asDecimal(), place, rounding);
    const bson::Decimal128 padded = bson::quantize(rounded, -place);  // with zeros, where there is room for them
    return Operand(decimal(bson::isNaN(padded) ? rounded : padded));
  }
  if (place >= 0) return Operand(arguments.at(0).copy());
  TROUPE_ASSIGN(auto rounded, truncate ? bson::truncate(e, place) : bson::round(e, place));
  return Operand(std::move(rounded));
}

bson::Decimal128 decimalPi() { return *bson::decimalFromString("3.141592653589793238462643383279503"); }
bson::Decimal128 decimalToRadians(bson::Decimal128 v) {
  return bson::divide(bson::multiply(v, decimalPi()), bson::decimalFromInt64(180));
}
bson::Decimal128 decimalToDegrees(bson::Decimal128 v) {
  return bson::divide(bson::multiply(v, bson::decimalFromInt64(180)), decimalPi());
}
double toRadians(double v) { return v * std::numbers::pi / 180; }
double toDegrees(double v) { return v * 180 / std::numbers::pi; }

Result arcTangentOf(Arguments& arguments, const Operator& op) {
  for (size_t i = 0; i < 2; ++i)
    if (!arguments[i].isNumber()) return numericOnly(op, arguments[i], 51044);
  if (isDecimal(arguments[0], arguments[1]))
    return Operand(decimal(bson::atan2(toDecimal(arguments[0]), toDecimal(arguments[1]))));
  return Operand(real(std::atan2(asDouble(arguments[0]), asDouble(arguments[1]))));
}

/// A function defined between two bounds only.
template <Double F, Decimal G, int Low, bool Open>
Result bounded(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  if (!e.isNumber()) return numericOnly(op, e);
  const double v = asDouble(e);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double low = Low == std::numeric_limits<int>::min() ? -kInfinity : Low;
  const double high = Low == -1 ? 1 : kInfinity;
  const bool inside = Open ? (v > low && v < high) : (v >= low && v <= high);
  if (!std::isnan(v) && !inside)
    return Status(ErrorCode(50989), "cannot apply " + std::string(op.name) + " to " + show(e) + ", value must be in " +
                                        (Open ? "(" : "[") + show(real(low).element()) + "," +
                                        show(real(high).element()) + (Open ? ")" : "]"));
  return Operand(applied<F, G>(e));
}

constexpr Operator unary(std::string_view name, Function function) {
  return {.name = name, .minArity = 1, .maxArity = 1, .function = function, .nullIfNull = true};
}
constexpr Operator binary(std::string_view name, Function function, bool nullIfNull = false) {
  return {.name = name, .minArity = 2, .maxArity = 2, .function = function, .nullIfNull = nullIfNull};
}

constexpr Operator kArithmeticOperators[] = {
    {.name = "$add", .maxArity = Operator::kAny, .function = add},
    {.name = "$multiply", .maxArity = Operator::kAny, .function = multiply},
    binary("$subtract", subtract),
    binary("$divide", divide),
    binary("$mod", modulo),
    binary("$pow", power, true),
    binary("$log", logarithmOfBase, true),
    binary("$atan2", arcTangentOf, true),
    unary("$abs", absolute),
    unary("$ceil", elementwise<std::ceil, decimalCeil, true>),
    unary("$floor", elementwise<std::floor, decimalFloor, true>),
    unary("$exp", elementwise<std::exp, bson::exp, false>),
    unary("$sqrt", squareRoot),
    unary("$sigmoid", sigmoid),
    unary("$ln", logarithm<std::log, bson::ln, 28766>),
    unary("$log10", logarithm<std::log10, bson::log10, 28761>),
    {.name = "$round", .minArity = 1, .maxArity = 2, .function = roundOrTruncate, .nullIfNull = true},
    {.name = "$trunc", .minArity = 1, .maxArity = 2, .function = roundOrTruncate, .nullIfNull = true},
    unary("$sin", bounded<std::sin, decimalOf<bson::Trigonometric::kSin>, std::numeric_limits<int>::min(), true>),
    unary("$cos", bounded<std::cos, decimalOf<bson::Trigonometric::kCos>, std::numeric_limits<int>::min(), true>),
    unary("$tan", bounded<std::tan, decimalOf<bson::Trigonometric::kTan>, std::numeric_limits<int>::min(), true>),
    unary("$asin", bounded<std::asin, decimalOf<bson::Trigonometric::kAsin>, -1, false>),
    unary("$acos", bounded<std::acos, decimalOf<bson::Trigonometric::kAcos>, -1, false>),
    unary("$atan", elementwise<std::atan, decimalOf<bson::Trigonometric::kAtan>, false>),
    unary("$sinh", elementwise<std::sinh, decimalOf<bson::Trigonometric::kSinh>, false>),
    unary("$cosh", elementwise<std::cosh, decimalOf<bson::Trigonometric::kCosh>, false>),
    unary("$tanh", elementwise<std::tanh, decimalOf<bson::Trigonometric::kTanh>, false>),
    unary("$asinh", elementwise<std::asinh, decimalOf<bson::Trigonometric::kAsinh>, false>),
    unary("$acosh", bounded<std::acosh, decimalOf<bson::Trigonometric::kAcosh>, 1, false>),
    unary("$atanh", bounded<std::atanh, decimalOf<bson::Trigonometric::kAtanh>, -1, false>),
    unary("$degreesToRadians", elementwise<toRadians, decimalToRadians, false>),
    unary("$radiansToDegrees", elementwise<toDegrees, decimalToDegrees, false>),
};

}  // namespace

std::span<const Operator> arithmeticOperators() { return kArithmeticOperators; }

}  // namespace troupe::query
