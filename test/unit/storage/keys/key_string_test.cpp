#include "storage/keys/key_string.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/validate.hpp"
#include "test/unit/messaging/bson/arbitrary.hpp"

namespace troupe::storage::key_string {
namespace {

using bson::Document;
using bson::Element;
using bson::Value;
using bson::operator""_json;

struct Key {
  std::string bytes, typeBits;
};

Key keyOf(bson::View values, Ordering ordering = {}, const bson::Collator* collator = nullptr) {
  Builder builder(ordering);
  for (const Element& e : values) builder.append(e, collator);
  return {std::string(builder.bytes()), std::string(builder.typeBits())};
}

Key keyOf(const Value& value, Ordering ordering = {}) {
  Builder builder(ordering);
  builder.append(value.element());
  return {std::string(builder.bytes()), std::string(builder.typeBits())};
}

/// Index keys never tell undefined from absent, so values are compared where both are present.
int expectedOrder(bson::View a, bson::View b, Ordering ordering, const bson::Collator* collator = nullptr) {
  auto i = a.begin(), j = b.begin();
  for (size_t field = 0; i != a.end() && j != b.end(); ++i, ++j, ++field) {
    if (const int c = bson::compareValues(*i, *j, collator)) return ordering.isDescending(field) ? -c : c;
  }
  return 0;
}

Document valuesOf(std::initializer_list<Value> values) {
  bson::Builder b;
  for (const Value& v : values) b.append("", v);
  return b.finish();
}

RC_GTEST_PROP(KeyString, BytesOfNumbersAreInTheOrderOfTheirMathematicalValues, ()) {
  const Value a = *bson::arbitrary::number(), b = *bson::arbitrary::number();
  RC_ASSERT(compare(keyOf(a).bytes, keyOf(b).bytes) == bson::compareValues(a.element(), b.element()));
}

RC_GTEST_PROP(KeyString, BytesAreInTheOrderOfValues, (Value a, Value b)) {
  RC_ASSERT(compare(keyOf(a).bytes, keyOf(b).bytes) == bson::compareValues(a.element(), b.element()));
}

RC_GTEST_PROP(KeyString, BytesOfCompoundKeysFollowTheDirectionsOfTheirFields, (uint8_t mask)) {
  const Ordering ordering(mask);
  const Value shared = *bson::arbitrary::value(1);
  const bool sharing = *rc::gen::arbitrary<bool>();
  const Document a =
      valuesOf({sharing ? shared : *bson::arbitrary::value(1), *bson::arbitrary::value(1), *bson::arbitrary::value(1)});
  const Document b =
      valuesOf({sharing ? shared : *bson::arbitrary::value(1), *bson::arbitrary::value(1), *bson::arbitrary::value(1)});
  RC_ASSERT(compare(keyOf(a, ordering).bytes, keyOf(b, ordering).bytes) == expectedOrder(a, b, ordering));
}

RC_GTEST_PROP(KeyString, DecodingRestoresEveryValueExactly, (uint8_t mask)) {
  const Ordering ordering(mask);
  bson::Builder b;
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) b.append(std::to_string(i), *bson::arbitrary::value());
  const Document values = b.finish();
  const Key key = keyOf(values, ordering);
  const auto decoded = decode(key.bytes, key.typeBits, ordering);
  RC_ASSERT(decoded.isOK());
  RC_ASSERT(Document(decoded->element().asArray()) == values);
}

RC_GTEST_PROP(KeyString, RecordIdsOrderEqualKeysAndAreFoundAtTheEnd, (Value value, int64_t one, int64_t other)) {
  Builder a, b;
  a.append(value.element()).appendRecordId(one);
  b.append(value.element()).appendRecordId(other);
  RC_ASSERT(compare(a.bytes(), b.bytes()) == (one < other ? -1 : one > other));
  RC_ASSERT(recordIdAtEnd(a.bytes()) == std::optional(one));
  RC_ASSERT(withoutRecordId(a.bytes()) == keyOf(value).bytes);
}

RC_GTEST_PROP(KeyString, BoundsStandBeforeAndAfterAllKeysTheyArePrefixesOf, (Value first, Value second, uint8_t mask)) {
  const Ordering ordering(mask);
  Builder before(ordering), after(ordering), key(ordering);
  before.append(first.element()).finish(Discriminator::kExclusiveBefore);
  after.append(first.element()).finish(Discriminator::kExclusiveAfter);
  key.append(first.element()).append(second.element()).appendRecordId(7);
  RC_ASSERT(compare(before.bytes(), key.bytes()) < 0);
  RC_ASSERT(compare(key.bytes(), after.bytes()) < 0);
}

RC_GTEST_PROP(KeyString, DamagedKeysAreRefusedOrGiveAWellFormedDocument, (Value value)) {
  Key key = keyOf(value);
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i)
    key.bytes[*rc::gen::inRange<size_t>(0, key.bytes.size())] = *rc::gen::arbitrary<char>();
  key.bytes.resize(*rc::gen::inRange<size_t>(0, key.bytes.size() + 1));
  const auto decoded = decode(key.bytes, *rc::gen::arbitrary<std::string>(), {});
  if (decoded.isOK()) RC_ASSERT(bson::validate(decoded->element().asArray().bytes(), {.maxDepth = 255}).isOK());
}

RC_GTEST_PROP(KeyString, BytesFollowTheCollation, ()) {
  static const auto collator = bson::Collator::parse(R"({"locale": "fr", "strength": 2})"_json).value();
  const auto text = rc::gen::exec(&bson::arbitrary::text);
  const Document a = bson::doc("", *text, "", *text), b = bson::doc("", *text, "", *text);
  RC_ASSERT(compare(keyOf(a, {}, collator.get()).bytes, keyOf(b, {}, collator.get()).bytes) ==
            expectedOrder(a, b, {}, collator.get()));
}

TEST(KeyString, OrdersIntegersBeyondTheReachOfDoublesExactly) {
  const Value below(int64_t{9007199254740992}), above(int64_t{9007199254740993}), real(9007199254740992.0);
  EXPECT_EQ(keyOf(below).bytes, keyOf(real).bytes);
  EXPECT_LT(keyOf(real).bytes, keyOf(above).bytes);
}

TEST(KeyString, OrdersDoublesAmongDecimalsThatDifferInTheLastPlace) {
  const Value real(0.1);
  const Value below(bson::decimalFromString("0.1").value());
  const Value above(bson::decimalFromString("0.1000000000000000055511151231257828").value());
  EXPECT_LT(keyOf(below).bytes, keyOf(real).bytes);
  EXPECT_LT(keyOf(real).bytes, keyOf(above).bytes);
}

TEST(KeyString, PutsNaNBelowAllNumbersAndInfinityAboveTheLargestDecimal) {
  const Value nan(std::nan("")), minus(-INFINITY), plus(INFINITY);
  const Value largest(bson::decimalFromString("9.999999999999999999999999999999999E+6144").value());
  EXPECT_LT(keyOf(nan).bytes, keyOf(minus).bytes);
  EXPECT_LT(keyOf(largest).bytes, keyOf(plus).bytes);
}

TEST(KeyString, KeepsTheTypeOfEqualNumbersInTypeBitsOnly) {
  const Value values[] = {Value(int32_t{42}), Value(int64_t{42}), Value(42.0),
                          Value(bson::decimalFromString("42.00").value())};
  for (const Value& v : values) {
    const Key key = keyOf(v);
    EXPECT_EQ(key.bytes, keyOf(values[0]).bytes);
    EXPECT_EQ(decode(key.bytes, key.typeBits, {})->element().asArray().first().valueBytes(), v.valueBytes());
  }
}

TEST(KeyString, NeedsNoTypeBitsForTheUsualValues) {
  EXPECT_EQ(
      keyOf(R"({"a": 1, "b": "text", "c": 1.5, "d": {"$oid": "0123456789abcdef01234567"}, "e": true})"_json.view())
          .typeBits,
      "");
  EXPECT_EQ(keyOf(Value(int64_t{5'000'000'000})).typeBits, "");
}

TEST(KeyString, OrdersStringsWithNulsAfterTheirPrefixInBothDirections) {
  const Value shorter(std::string("a")), longer(std::string("a\0", 2)), longest(std::string("a\0b", 3)),
      next(std::string("a\x01"));
  const Ordering descending(1);
  EXPECT_LT(keyOf(shorter).bytes, keyOf(longer).bytes);
  EXPECT_LT(keyOf(longer).bytes, keyOf(longest).bytes);
  EXPECT_LT(keyOf(longest).bytes, keyOf(next).bytes);
  EXPECT_GT(keyOf(shorter, descending).bytes, keyOf(longer, descending).bytes);
  EXPECT_GT(keyOf(longest, descending).bytes, keyOf(next, descending).bytes);
}

TEST(KeyString, IsWrittenInTheDocumentedFormat) {
  Builder builder(Ordering(0b10));
  builder.append(Value(int32_t{1}).element()).append(Value("b").element()).appendRecordId(1);
  EXPECT_EQ(builder.bytes(), std::string("\x36\x02"
                                         "\xB9\x9D\xFF"
                                         "\x04"
                                         "\x80\0\0\0\0\0\0\x01",
                                         14));
}

TEST(KeyString, DecodesWithTheNamesOfTheKeyPattern) {
  const Document pattern = R"({"a": 1, "b.c": -1})"_json;
  const Key key = keyOf(bson::doc("", 1, "", "x"), Ordering::fromKeyPattern(pattern).value());
  EXPECT_EQ(decodeWithNames(key.bytes, key.typeBits, pattern).value(), bson::doc("a", 1, "b.c", "x"));
}

TEST(KeyString, WritesAbsentValuesAsNull) {
  Builder builder;
  builder.append(Element());
  EXPECT_EQ(builder.bytes(), keyOf(bson::doc("", bson::Null{}).view()).bytes);
}

TEST(KeyString, ABuilderMayBeUsedAgain) {
  Builder builder;
  builder.append(Value(-0.0).element()).appendRecordId(3);
  builder.reset(Ordering(1));
  builder.append(Value("x").element());
  EXPECT_EQ(builder.bytes(), keyOf(Value("x"), Ordering(1)).bytes);
  EXPECT_EQ(builder.typeBits(), "");
}

TEST(Ordering, TakesDescendingFieldsFromTheKeyPattern) {
  const auto ordering = Ordering::fromKeyPattern(R"({"a": 1, "b": -1, "c": "hashed", "d": -2.5})"_json);
  EXPECT_EQ(ordering.value(), Ordering(0b1010));
}

TEST(Ordering, RefusesMoreThan32Fields) {
  bson::Builder b;
  for (int i = 0; i < 32; ++i) b.append("f" + std::to_string(i), 1);
  EXPECT_TRUE(Ordering::fromKeyPattern(bson::Builder(b).finish()).isOK());
  b.append("one more", 1);
  EXPECT_EQ(Ordering::fromKeyPattern(b.finish()).status().code(), ErrorCode::kCannotCreateIndex);
}

}  // namespace
}  // namespace troupe::storage::key_string
