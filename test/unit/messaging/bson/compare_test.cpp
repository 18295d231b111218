#include "messaging/bson/compare.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "messaging/bson/collation.hpp"
#include "test/unit/messaging/bson/arbitrary.hpp"

namespace troupe::bson {
namespace {

int order(const Value& a, const Value& b) { return compareValues(a.element(), b.element()); }

RC_GTEST_PROP(Compare, IsATotalOrder, (Value a, Value b, Value c)) {
  RC_ASSERT(order(a, a) == 0);
  RC_ASSERT(order(a, b) == -order(b, a));
  if (order(a, b) <= 0 && order(b, c) <= 0) RC_ASSERT(order(a, c) <= 0);
}

RC_GTEST_PROP(Compare, EqualNumbersHashAlike, ()) {
  const Value a = *arbitrary::number(), b = *arbitrary::number();
  if (order(a, b) == 0) RC_ASSERT(hashValue(a.element()) == hashValue(b.element()));
}

RC_GTEST_PROP(Compare, DocumentsCompareAsNestedValuesDo, (Document a, Document b)) {
  RC_ASSERT(compareDocuments(a, b) == order(Value(a), Value(b)));
}

TEST(Compare, OrdersTypesByRank) {
  const Value ascending[] = {Value(MinKey{}),
                             Value(Undefined{}),
                             Value(Null{}),
                             Value(std::nan("")),
                             Value(1),
                             Value("a"),
                             Value(doc("a", 1)),
                             array(1),
                             Value(Binary{0, "a"}),
                             Value(ObjectId{}),
                             Value(false),
                             Value(true),
                             Value(Date{-5}),
                             Value(Timestamp{1, 1}),
                             Value(Regex{"a", ""}),
                             Value(DBPointer{"a", {}}),
                             Value(Code{"a"}),
                             Value(MaxKey{})};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i) EXPECT_EQ(order(ascending[i], ascending[i + 1]), -1) << i;
}

TEST(Compare, AbsentIsBetweenMinKeyAndNull) {
  EXPECT_EQ(compareValues(Element(), Value(MinKey{}).element()), 1);
  EXPECT_EQ(compareValues(Element(), Value(Undefined{}).element()), 0);
  EXPECT_EQ(compareValues(Element(), Value(Null{}).element()), -1);
}

TEST(Compare, DocumentsGoByRankThenNameThenValue) {
  EXPECT_LT(compareDocuments(doc("b", 1), doc("a", "x")), 0);
  EXPECT_LT(compareDocuments(doc("a", 2), doc("b", 1)), 0);
  EXPECT_LT(compareDocuments(doc("a", 1), doc("a", 2)), 0);
  EXPECT_LT(compareDocuments(doc("a", 1), doc("a", 1, "b", Null{})), 0);
}

TEST(Compare, BinaryGoesByLengthThenSubtypeThenBytes) {
  EXPECT_EQ(order(Value(Binary{5, "z"}), Value(Binary{0, "aa"})), -1);
  EXPECT_EQ(order(Value(Binary{0, "z"}), Value(Binary{5, "a"})), -1);
  EXPECT_EQ(order(Value(Binary{0, "\x01"}), Value(Binary{0, "\xFF"})), -1);
}

TEST(Compare, BytesOfStringsAreUnsignedAndSymbolsAreStrings) {
  EXPECT_EQ(order(Value("a"), Value("\xC3\xA9")), -1);
  EXPECT_EQ(order(Value("a"), Value(Symbol{"a"})), 0);
  EXPECT_EQ(order(Value(std::string("a\0", 2)), Value("a")), 1);
}

TEST(Compare, DatesAreSignedAndTimestampsAreNot) {
  EXPECT_EQ(order(Value(Date{-1}), Value(Date{0})), -1);
  EXPECT_EQ(order(Value(Timestamp{0xFFFFFFFF, 0}), Value(Timestamp{1, 9})), 1);
}

TEST(Compare, FollowsTheCollationInNestedStringsToo) {
  const auto collator = Collator::parse(R"({"locale": "en", "strength": 2})"_json).value();
  const Value a(doc("s", array("A"))), b(doc("s", array("a")));
  EXPECT_EQ(order(a, b), -1);
  EXPECT_EQ(compareValues(a.element(), b.element(), collator.get()), 0);
  EXPECT_EQ(hashValue(a.element(), collator.get()), hashValue(b.element(), collator.get()));
}

}  // namespace
}  // namespace troupe::bson
