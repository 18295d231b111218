#include "messaging/bson/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "messaging/bson/json.hpp"
#include "test/unit/messaging/bson/decimal_value.hpp"

namespace troupe::bson {
namespace {

Status failed(const StatusWith<Value>& v) { return v.status(); }

TEST(Convert, TruncatesNumbersToIntegers) {
  EXPECT_EQ(toInt32Value(Value(-1.9).element())->element().asInt32(), -1);
  EXPECT_EQ(toInt32Value(decimalValue("2147483647.9").element())->element().asInt32(), 2147483647);
  EXPECT_EQ(toInt64Value(Value(true).element())->element().asInt64(), 1);
  EXPECT_EQ(toInt64Value(Value(Date{77}).element())->element().asInt64(), 77);
}

TEST(Convert, FailsWhereAnIntegerIsOutOfRange) {
  EXPECT_EQ(failed(toInt32Value(Value(2147483648.0).element())).code(), ErrorCode::kConversionFailure);
  EXPECT_EQ(failed(toInt64Value(Value(9223372036854775808.0).element())).code(), ErrorCode::kConversionFailure);
  EXPECT_EQ(failed(toInt64Value(decimalValue("1E30").element())).code(), ErrorCode::kConversionFailure);
  EXPECT_EQ(failed(toInt64Value(Value(std::nan("")).element())).reason(),
            "Attempt to convert NaN value to integer type in $convert with no onError value");
  EXPECT_EQ(failed(toInt32Value(Value(INFINITY).element())).code(), ErrorCode::kConversionFailure);
  EXPECT_EQ(failed(toDoubleValue(decimalValue("1E400").element())).code(), ErrorCode::kConversionFailure);
}

TEST(Convert, ReadsStrings) {
  EXPECT_EQ(toInt32Value(Value("-5").element())->element().asInt32(), -5);
  EXPECT_EQ(toInt64Value(Value("+5").element())->element().asInt64(), 5);
  EXPECT_EQ(toDoubleValue(Value("5.5e3").element())->element().asDouble(), 5500);
  EXPECT_EQ(toString(toDecimalValue(Value("5.50").element())->element().asDecimal()), "5.50");
  for (const char* text : {"", "x", "5x", "5.5", " 5", "+-5", "99999999999999999999"})
    EXPECT_EQ(failed(toInt64Value(Value(text).element())).code(), ErrorCode::kConversionFailure) << text;
  EXPECT_EQ(failed(toInt32Value(Value("5.5").element())).reason(),
            "Failed to parse number '5.5' in $convert with no onError value: Did not consume whole string.");
}

TEST(Convert, RefusesTypesWithoutANumber) {
  EXPECT_EQ(failed(toInt32Value(Value(ObjectId{}).element())).reason(),
            "Unsupported conversion from objectId to int in $convert with no onError value");
  EXPECT_EQ(failed(toInt32Value(Value(Date{1}).element())).code(), ErrorCode::kConversionFailure);
  EXPECT_EQ(failed(toDecimalValue(Value(doc()).element())).code(), ErrorCode::kConversionFailure);
}

TEST(Convert, OnlyZeroAndFalseAreFalse) {
  EXPECT_FALSE(toBoolValue(Value(0.0).element())->element().asBool());
  EXPECT_FALSE(toBoolValue(Value(false).element())->element().asBool());
  EXPECT_TRUE(toBoolValue(Value("").element())->element().asBool());
  EXPECT_TRUE(toBoolValue(Value("false").element())->element().asBool());
}

}  // namespace
}  // namespace troupe::bson
