#include "messaging/bson/arithmetic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "messaging/bson/json.hpp"
#include "test/unit/messaging/bson/decimal_value.hpp"

namespace troupe::bson {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();

std::string shown(const Value& v) { return toCanonicalJson(doc("", v)); }
std::string shown(const StatusWith<Value>& v) {
  return v.isOK() ? shown(*v) : std::to_string(static_cast<int>(v.status().code()));
}

template <class Function, class... Args>
std::string of(Function function, const Value& a, const Args&... rest) {
  if constexpr (sizeof...(rest) == 0) return shown(function(a.element()));
  else return shown(function(a.element(), rest.element()...));
}
const auto kDivide = [](const Element& a, const Element& b) { return divide(a, b); };
const auto kModulo = [](const Element& a, const Element& b) { return modulo(a, b); };
const auto kPow = [](const Element& a, const Element& b) { return pow(a, b); };
const auto kLog = [](const Element& a, const Element& b) { return log(a, b); };
const auto kAbs = [](const Element& a) { return abs(a); };
const auto kLn = [](const Element& a) { return ln(a); };
const auto kSqrt = [](const Element& a) { return sqrt(a); };

TEST(Arithmetic, DivisionOfIntegersGivesDoubles) {
  EXPECT_EQ(of(kDivide, Value(4), Value(2)), shown(Value(2.0)));
  EXPECT_EQ(of(kDivide, decimalValue("1"), Value(4)), shown(decimalValue("0.25")));
  EXPECT_EQ(of(kDivide, Value(1), Value(0.0)), "2");
}

TEST(Arithmetic, RemaindersKeepTheSignOfTheDividend) {
  EXPECT_EQ(of(kModulo, Value(-7), Value(3)), shown(Value(-1)));
  EXPECT_EQ(of(kModulo, Value(7), Value(int64_t{3})), shown(Value(int64_t{1})));
  EXPECT_EQ(of(kModulo, Value(7.5), Value(2)), shown(Value(1.5)));
  EXPECT_EQ(of(kModulo, Value(kMin), Value(-1)), shown(Value(int64_t{0})));
  EXPECT_EQ(of(kModulo, Value(1), Value(0)), "16610");
}

TEST(Arithmetic, AbsoluteValuesWidenTheLeastInt32AndRefuseTheLeastInt64) {
  EXPECT_EQ(of(kAbs, Value(std::numeric_limits<int32_t>::min())), shown(Value(int64_t{2147483648})));
  EXPECT_EQ(of(kAbs, Value(kMin)), "28680");
  EXPECT_EQ(of(kAbs, decimalValue("-1.50")), shown(decimalValue("1.50")));
}

TEST(Arithmetic, RoundsHalfToEvenAtAnyPlace) {
  EXPECT_EQ(shown(round(Value(2.5).element())), shown(Value(2.0)));
  EXPECT_EQ(shown(round(Value(1.25).element(), 1)), shown(Value(1.2)));
  EXPECT_EQ(shown(round(Value(1250).element(), -2)), shown(Value(1200)));
  EXPECT_EQ(shown(round(Value(std::numeric_limits<int32_t>::max()).element(), -1)), shown(Value(int64_t{2147483650})));
  EXPECT_EQ(shown(round(Value(kMax).element(), -1)), "51080");
  EXPECT_EQ(shown(truncate(Value(-2.79).element(), 1)), shown(Value(-2.7)));
  EXPECT_EQ(shown(truncate(Value(1999).element(), -3)), shown(Value(1000)));
  EXPECT_EQ(shown(round(Value(INFINITY).element(), 3)), shown(Value(INFINITY)));
}

TEST(Arithmetic, CeilingAndFloorKeepTheType) {
  EXPECT_EQ(shown(ceil(Value(-1.5).element())), shown(Value(-1.0)));
  EXPECT_EQ(shown(floor(decimalValue("-1.5").element())), shown(decimalValue("-2")));
  EXPECT_EQ(shown(floor(Value(3).element())), shown(Value(3)));
}

TEST(Arithmetic, PowersStayIntegersWhileTheyFit) {
  EXPECT_EQ(of(kPow, Value(2), Value(30)), shown(Value(1073741824)));
  EXPECT_EQ(of(kPow, Value(2), Value(31)), shown(Value(int64_t{2147483648})));
  EXPECT_EQ(of(kPow, Value(2), Value(63)), shown(Value(9223372036854775808.0)));
  EXPECT_EQ(of(kPow, Value(2), Value(-1)), shown(Value(0.5)));
  EXPECT_EQ(of(kPow, Value(-1), Value(int64_t{1000000001})), shown(Value(int64_t{-1})));
  EXPECT_EQ(of(kPow, Value(0), Value(-1)), "28764");
  EXPECT_EQ(of(kPow, Value(0), Value(1000000000)), shown(Value(0)));
}

TEST(Arithmetic, LogarithmsAndRootsRefuseWhatTheyAreNotDefinedFor) {
  EXPECT_EQ(of(kSqrt, Value(9)), shown(Value(3.0)));
  EXPECT_EQ(of(kSqrt, Value(-1)), "28714");
  EXPECT_EQ(of(kLn, Value(0)), "28766");
  EXPECT_EQ(shown(log10(Value(-1).element())), "28761");
  EXPECT_EQ(of(kLog, Value(8), Value(2)), shown(Value(3.0)));
  EXPECT_EQ(of(kLog, Value(0), Value(2)), "28758");
  EXPECT_EQ(of(kLog, Value(8), Value(1)), "28759");
  EXPECT_EQ(shown(exp(Value(0).element())), shown(Value(1.0)));
}

}  // namespace
}  // namespace troupe::bson
