#include "messaging/bson/numeric.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "test/unit/messaging/bson/arbitrary.hpp"
#include "test/unit/messaging/bson/decimal_value.hpp"

namespace troupe::bson {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();

int order(const Value& a, const Value& b) { return compareNumbers(a.element(), b.element()); }
Value sum(const Value& a, const Value& b, Overflow overflow = Overflow::kWiden) {
  return add(a.element(), b.element(), overflow).value();
}

RC_GTEST_PROP(Numeric, OrderOfMixedTypesIsTotal, ()) {
  const Value a = *arbitrary::number(), b = *arbitrary::number(), c = *arbitrary::number();
  RC_ASSERT(order(a, a) == 0);
  RC_ASSERT(order(a, b) == -order(b, a));
  if (order(a, b) <= 0 && order(b, c) <= 0) RC_ASSERT(order(a, c) <= 0);
}

RC_GTEST_PROP(Numeric, IntegersAndDoublesCompareAsLongDoublesDo, (int64_t exact)) {
  // x87 long doubles hold every int64 and every double exactly.
  const double real = *rc::gen::resize(arbitrary::kSize, rc::gen::exec(&arbitrary::real));
  if (std::isnan(real)) return;
  const auto a = static_cast<long double>(exact), b = static_cast<long double>(real);
  RC_ASSERT(compareNumbers(exact, real) == (a > b) - (a < b));
}

TEST(Numeric, ComparesInt64WithDoublesBeyondTheirPrecision) {
  EXPECT_EQ(order(Value(int64_t{9007199254740993}), Value(9007199254740992.0)), 1);
  EXPECT_EQ(order(Value(kMax), Value(9223372036854775808.0)), -1);
  EXPECT_EQ(order(Value(kMin), Value(-9223372036854775808.0)), 0);
  EXPECT_EQ(order(Value(int64_t{-1}), Value(-1.5)), 1);
}

TEST(Numeric, ComparesDoublesWithDecimalsExactly) {
  EXPECT_EQ(order(Value(0.1), decimalValue("0.1")), 1);
  EXPECT_EQ(order(Value(-0.1), decimalValue("-0.1")), -1);
  EXPECT_EQ(order(Value(0.5), decimalValue("0.50")), 0);
  EXPECT_EQ(order(Value(1e308), decimalValue("1E309")), -1);
  EXPECT_EQ(order(Value(5e-324), decimalValue("1E-400")), 1);
  EXPECT_EQ(order(Value(INFINITY), decimalValue("Infinity")), 0);
  EXPECT_EQ(order(Value(-INFINITY), decimalValue("-1E6144")), -1);
  EXPECT_EQ(order(Value(std::nan("")), decimalValue("NaN")), 0);
  EXPECT_EQ(order(decimalValue("NaN"), Value(-INFINITY)), -1);
  EXPECT_EQ(order(Value(-0.0), decimalValue("0E+5")), 0);
}

TEST(Numeric, WidensInt32ToInt64AndInt64ToDouble) {
  EXPECT_EQ(sum(Value(1), Value(2)).type(), Type::kInt32);
  const Value wide = sum(Value(std::numeric_limits<int32_t>::max()), Value(1));
  EXPECT_EQ(wide.type(), Type::kInt64);
  EXPECT_EQ(wide.element().asInt64(), 2147483648);
  EXPECT_EQ(sum(Value(1), Value(int64_t{1})).type(), Type::kInt64);
  EXPECT_EQ(sum(Value(kMax), Value(1)).type(), Type::kDouble);
  EXPECT_FALSE(add(Value(kMax).element(), Value(1).element(), Overflow::kFail).isOK());
  EXPECT_FALSE(multiply(Value(kMin).element(), Value(-1).element(), Overflow::kFail).isOK());
}

TEST(Numeric, DoublesAndDecimalsSpread) {
  EXPECT_EQ(sum(Value(1), Value(0.5)).element().asDouble(), 1.5);
  EXPECT_EQ(toString(sum(Value(0.1), decimalValue("0.2")).element().asDecimal()), "0.300000000000000");
  EXPECT_EQ(
      toString(subtract(Value(1).element(), decimalValue("0.9").element(), Overflow::kFail)->element().asDecimal()),
      "0.1");
}

TEST(Numeric, SaturatesDoubles) {
  EXPECT_EQ(saturatingInt64(1e30), kMax);
  EXPECT_EQ(saturatingInt64(-1e30), kMin);
  EXPECT_EQ(saturatingInt64(std::nan("")), 0);
  EXPECT_EQ(saturatingInt64(-1.9), -1);
}

TEST(Numeric, TimeLimitsAreClamped) {
  using std::chrono::milliseconds;
  EXPECT_EQ(timeLimitOf(Value(250).element()), milliseconds(250));
  EXPECT_EQ(timeLimitOf(Value(kMax).element()), milliseconds(2'147'483'647));
  EXPECT_EQ(timeLimitOf(Value(1e300).element()), milliseconds(2'147'483'647));
  EXPECT_EQ(timeLimitOf(Value(-5).element()), milliseconds(0));
}

}  // namespace
}  // namespace troupe::bson
