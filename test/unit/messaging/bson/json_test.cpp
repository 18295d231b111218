#include "messaging/bson/json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "test/unit/messaging/bson/arbitrary.hpp"

namespace troupe::bson {
namespace {

RC_GTEST_PROP(Json, CanonicalTextRestoresEveryDocument, (Document document)) {
  const std::string text = toCanonicalJson(document);
  if (text.find("$dbPointer") != std::string::npos || text.find("$code") != std::string::npos) return;
  const auto back = fromJson(text);
  RC_ASSERT(back.isOK());
  RC_ASSERT(*back == document);
}

TEST(Json, RelaxedTextIsForPeople) {
  EXPECT_EQ(toRelaxedJson(doc("a", 1, "b", array("x", int64_t{2}))), R"({ "a" : 1, "b" : [ "x", 2 ] })");
}

TEST(Json, CanonicalTextKeepsTypes) {
  EXPECT_EQ(toCanonicalJson(doc("a", 1, "b", int64_t{1})),
            R"({ "a" : { "$numberInt" : "1" }, "b" : { "$numberLong" : "1" } })");
}

TEST(Json, ShowsSingleValues) {
  EXPECT_EQ(toRelaxedJson(Value("a\"b").element()), R"("a\"b")");
  EXPECT_EQ(toRelaxedJson(Value(12).element()), "12");
  EXPECT_EQ(toRelaxedJson(Value(doc("a", 1)).element()), R"({ "a" : 1 })");
  EXPECT_EQ(toRelaxedJson(Element()), "missing");
}

TEST(Json, TextThatIsNotUtf8StillGivesSomething) { EXPECT_FALSE(toRelaxedJson(doc("a", "\xFF")).empty()); }

TEST(Json, MalformedTextAndCodeAndDBPointersAreRefused) {
  EXPECT_EQ(fromJson("{\"a\": ").status().code(), ErrorCode::kFailedToParse);
  EXPECT_EQ(fromJson("").status().code(), ErrorCode::kFailedToParse);
  const std::string_view unsupported[] = {
      R"x({"p": [{"$dbPointer": {"$ref": "a", "$id": {"$oid": "000000000000000000000000"}}}]})x",
      R"x({"p": [{"$code": "f()"}]})x"};
  for (const auto text : unsupported) EXPECT_EQ(fromJson(text).status().code(), ErrorCode::kFailedToParse) << text;
  EXPECT_THROW("{"_json, std::invalid_argument);
}

}  // namespace
}  // namespace troupe::bson
