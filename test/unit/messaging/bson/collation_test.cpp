#include "messaging/bson/collation.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "test/unit/messaging/bson/arbitrary.hpp"

namespace troupe::bson {
namespace {

StatusWith<std::shared_ptr<const Collator>> parse(std::string_view json) {
  return Collator::parse(fromJson(json)->view());
}
ErrorCode refusal(std::string_view json) { return parse(json).status().code(); }

RC_GTEST_PROP(Collation, ComparisonKeysAreInTheOrderOfTheStrings, ()) {
  static const auto collator = parse(R"({"locale": "de", "strength": 1})").value();
  const std::string a = arbitrary::text(), b = arbitrary::text();
  const int keys = collator->comparisonKey(a).compare(collator->comparisonKey(b));
  RC_ASSERT((keys > 0) - (keys < 0) == collator->compare(a, b));
  RC_ASSERT(collator->comparisonKey(a).find('\0') == std::string::npos);
}

TEST(Collation, SimpleHasNoCollator) {
  EXPECT_EQ(parse(R"({"locale": "simple"})").value(), nullptr);
  EXPECT_EQ(refusal(R"({"locale": "simple", "strength": 1})"), ErrorCode::kFailedToParse);
}

TEST(Collation, ShowsAllFieldsWithTheDefaultsOfTheLocale) {
  EXPECT_EQ(
      toRelaxedJson(parse(R"({"locale": "fr_CA"})").value()->specification()),
      R"({ "locale" : "fr_CA", "caseLevel" : false, "caseFirst" : "off", "strength" : 3, "numericOrdering" : false, )"
      R"("alternate" : "non-ignorable", "maxVariable" : "punct", "normalization" : false, "backwards" : true, )"
      R"("version" : "57.1" })");
}

TEST(Collation, ItsOwnSpecificationGivesTheSameCollator) {
  const auto first = parse(R"({"locale": "en", "strength": 2, "caseLevel": true, "alternate": "shifted"})").value();
  const auto again = Collator::parse(first->specification()).value();
  EXPECT_TRUE(Collator::same(first.get(), again.get()));
  EXPECT_FALSE(Collator::same(first.get(), parse(R"({"locale": "en"})").value().get()));
  EXPECT_FALSE(Collator::same(first.get(), nullptr));
  EXPECT_TRUE(Collator::same(nullptr, nullptr));
}

TEST(Collation, OptionsChangeTheOrder) {
  EXPECT_EQ(parse(R"({"locale": "en", "strength": 1})").value()->compare("\xC3\xA9", "E"), 0);
  EXPECT_NE(parse(R"({"locale": "en", "strength": 2})").value()->compare("\xC3\xA9", "E"), 0);
  EXPECT_EQ(parse(R"({"locale": "en"})").value()->compare("10", "9"), -1);
  EXPECT_EQ(parse(R"({"locale": "en", "numericOrdering": true})").value()->compare("10", "9"), 1);
  EXPECT_EQ(parse(R"({"locale": "en", "caseFirst": "upper"})").value()->compare("A", "a"), -1);
  EXPECT_EQ(parse(R"({"locale": "en", "caseFirst": "lower"})").value()->compare("A", "a"), 1);
  EXPECT_EQ(parse(R"({"locale": "en", "alternate": "shifted"})").value()->compare("a-b", "ab"), 0);
  EXPECT_NE(parse(R"({"locale": "en", "alternate": "shifted", "maxVariable": "space"})").value()->compare("a-b", "ab"),
            0);
}

TEST(Collation, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal("{}"), ErrorCode::kMissingRequiredField);
  EXPECT_EQ(refusal(R"({"locale": "en", "other": 1})"), ErrorCode::kUnknownField);
  EXPECT_EQ(refusal(R"({"locale": 1})"), ErrorCode::kTypeMismatch);
  EXPECT_EQ(refusal(R"({"locale": "en", "caseLevel": 1})"), ErrorCode::kTypeMismatch);
  EXPECT_EQ(refusal(R"({"locale": "xx"})"), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"locale": ""})"), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"locale": "en", "strength": 0})"), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"locale": "en", "strength": 6})"), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"locale": "en", "caseFirst": "none"})"), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"locale": "en", "version": "1.0"})"), ErrorCode::kIncompatibleCollationVersion);
}

TEST(Collation, RefusesCombinationsWithoutEffect) {
  EXPECT_EQ(refusal(R"({"locale": "en", "strength": 1, "backwards": true})"), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"locale": "en", "strength": 2, "caseFirst": "upper"})"), ErrorCode::kBadValue);
  EXPECT_TRUE(parse(R"({"locale": "en", "strength": 2, "caseFirst": "upper", "caseLevel": true})").isOK());
}

TEST(Collation, ReplacesStringsByTheirKeysAtAnyDepth) {
  const auto collator = parse(R"({"locale": "en", "strength": 2})").value();
  const Value upper(doc("a", array("X", doc("b", "Y"), 5))), lower(doc("a", array("x", doc("b", "y"), 5)));
  const Value keys = withComparisonKeys(upper.element(), *collator);
  EXPECT_EQ(keys.valueBytes(), withComparisonKeys(lower.element(), *collator).valueBytes());
  EXPECT_EQ(keys.element().asDocument().at("a.2").asInt32(), 5);
  EXPECT_EQ(keys.element().asDocument().at("a.0").asString(), collator->comparisonKey("x"));
}

}  // namespace
}  // namespace troupe::bson
