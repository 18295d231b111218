#include "messaging/bson/decimal.hpp"

#include <bson/bson.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "test/unit/messaging/bson/arbitrary.hpp"

namespace troupe::bson {
namespace {

Decimal128 dec(std::string_view text) { return decimalFromString(text).value(); }
rc::Gen<Decimal128> decimals() { return rc::gen::resize(arbitrary::kSize, rc::gen::exec(&arbitrary::decimal)); }
void showDecimal(Decimal128 v) { RC_LOG(toString(v)); }

RC_GTEST_PROP(Decimal, TextRestoresTheSameBits, ()) {
  const Decimal128 v = *decimals();
  showDecimal(v);
  RC_ASSERT(dec(toString(v)) == v || isNaN(v));
}

RC_GTEST_PROP(Decimal, PartsRestoreTheSameBits, ()) {
  const Decimal128 v = *decimals();
  if (!isNaN(v) && !isInfinite(v)) RC_ASSERT(fromParts(partsOf(v)) == v);
}

RC_GTEST_PROP(Decimal, OrderIsAntisymmetric, ()) {
  const Decimal128 a = *decimals(), b = *decimals();
  RC_ASSERT(compareDecimals(a, b) == -compareDecimals(b, a));
}

RC_GTEST_PROP(Decimal, TruncationToDoubleAndBackNeverGrows, ()) {
  const Decimal128 v = abs(*decimals());
  if (isNaN(v) || isInfinite(v)) return;
  const auto truncated = truncatedToDouble(v);
  const auto back = truncatedToDecimal(truncated.value);
  RC_ASSERT(compareDecimals(back.value, v) <= 0);
  if (truncated.exact) RC_ASSERT(compareDecimals(back.value, v) == 0);
}

TEST(Decimal, ReadsTextAsLibbsonDoesAndRoundsWhatIsTooLong) {
  EXPECT_EQ(toString(dec("1.50")), "1.50");
  EXPECT_EQ(toString(dec("-0E+3")), "-0E+3");
  EXPECT_EQ(toString(dec("0E-7000")), "0E-6176");
  EXPECT_EQ(toString(dec("-inf")), "-Infinity");
  EXPECT_TRUE(isNaN(dec("NaN")));
  EXPECT_EQ(toString(dec("12345678901234567890123456789012345678")), "1.234567890123456789012345678901235E+37");
}

TEST(Decimal, RefusesTextThatIsNoNumberOrOutOfRange) {
  for (const char* text : {"", "x", "1x", "--1", "1E", ".", "+", "1E6145", "1E-6177", "0x10", " 1"})
    EXPECT_EQ(decimalFromString(text).status().code(), ErrorCode::kFailedToParse) << text;
}

TEST(Decimal, ConvertsDoublesTo15Digits) {
  EXPECT_EQ(toString(decimalFromDouble(0.1)), "0.100000000000000");
  EXPECT_EQ(toString(decimalFromDouble(2.5)), "2.50000000000000");
  EXPECT_EQ(toString(decimalFromDouble(9.999999999999999)), "10.0000000000000");
  EXPECT_EQ(toString(decimalFromDouble(-1e300)), "-1.00000000000000E+300");
  EXPECT_EQ(toString(decimalFromDouble(0)), "0");
  EXPECT_EQ(toString(decimalFromDouble(INFINITY)), "Infinity");
}

TEST(Decimal, CalculatesWith34Digits) {
  EXPECT_EQ(toString(add(dec("0.1"), dec("0.20"))), "0.30");
  EXPECT_EQ(toString(subtract(dec("1"), dec("1.0"))), "0.0");
  EXPECT_EQ(toString(multiply(dec("1.5"), dec("2"))), "3.0");
  EXPECT_EQ(toString(divide(dec("1"), dec("3"))), "0.3333333333333333333333333333333333");
  EXPECT_EQ(toString(remainder(dec("-7.5"), dec("2"))), "-1.5");
  EXPECT_EQ(toString(sqrt(dec("2"))), "1.414213562373095048801688724209698");
  EXPECT_EQ(toString(exp(dec("1"))), "2.718281828459045235360287471352662");
  EXPECT_EQ(toString(ln(dec("10"))), "2.302585092994045684017991454684364");
  EXPECT_EQ(compareDecimals(pow(dec("10"), dec("20")), dec("1E20")), 0);
}

TEST(Decimal, RoundsToAPlace) {
  EXPECT_EQ(toString(roundTo(dec("2.5"), 0, Rounding::kHalfEven)), "2");
  EXPECT_EQ(toString(roundTo(dec("3.5"), 0, Rounding::kHalfEven)), "4");
  EXPECT_EQ(toString(roundTo(dec("-2.71"), 1, Rounding::kDown)), "-2.8");
  EXPECT_EQ(toString(roundTo(dec("-2.71"), 1, Rounding::kUp)), "-2.7");
  EXPECT_EQ(toString(roundTo(dec("2.79"), 1, Rounding::kTowardsZero)), "2.7");
  EXPECT_EQ(toString(roundTo(dec("1234"), -2, Rounding::kHalfEven)), "1.2E+3");
  EXPECT_EQ(toString(roundTo(dec("1.2"), 5, Rounding::kHalfEven)), "1.2");
}

TEST(Decimal, TruncatesToInt64WithinItsRange) {
  EXPECT_EQ(truncatedInt64(dec("-9223372036854775808.9")), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(truncatedInt64(dec("9223372036854775808")), std::nullopt);
  EXPECT_EQ(truncatedInt64(dec("NaN")), std::nullopt);
  EXPECT_EQ(truncatedInt64(dec("-0.5")), 0);
}

}  // namespace
}  // namespace troupe::bson
