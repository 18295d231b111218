#include "supervisors/cli/extended_json.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

TEST(ExtendedJson, GivesBackEveryType) {
  bson::Builder b;
  b.append("double", 1.5)
      .append("string", "x\ty")
      .append("document", bson::doc("a", bson::Code{"f()"}))
      .append("int", 1);
  b.append("long", int64_t{1}).append("bool", true).append("null", bson::Null{}).append("undefined", bson::Undefined{});
  b.append("id", bson::ObjectId{}).append("date", bson::Date{-1}).append("timestamp", bson::Timestamp{1, 2});
  b.append("regex", bson::Regex{"^a/", "i"})
      .append("binary", bson::Binary{0, std::string_view("\0\xff", 2)})
      .append("uuid", bson::Uuid{});
  b.append("symbol", bson::Symbol{"s"})
      .append("code", bson::Code{"return 1"})
      .append("pointer", bson::DBPointer{"a.b", {}});
  b.append("min", bson::MinKey{})
      .append("max", bson::MaxKey{})
      .append("decimal", bson::Decimal128{1, 0x3040000000000000});
  b.append("array", bson::array(bson::Code{"g"}, 1, bson::doc("p", bson::DBPointer{"x", {}}), bson::array()));
  const auto document = b.finish();
  const auto read = parseExtendedJson(bson::toCanonicalJson(document));
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ(bson::toCanonicalJson(*read), bson::toCanonicalJson(document));
  EXPECT_EQ(*read, document);
}

TEST(ExtendedJson, ReadsCodeWithItsScope) {
  const auto read = parseExtendedJson(R"({"c": {"$code": "f", "$scope": {"n": {"$numberLong": "5"}}}})");
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ((*read)["c"].type(), bson::Type::kCodeWithScope);
  EXPECT_EQ((*read)["c"].codeWithScopeCode(), "f");
  EXPECT_EQ((*read)["c"].codeWithScopeScope(), bson::doc("n", int64_t{5}).view());
}

TEST(ExtendedJson, RefusesHalfOfAType) {
  for (const char* text :
       {R"({"a": {"$code": 1}})", R"({"a": {"$code": "f", "x": 1}})", R"({"a": {"$dbPointer": {"$ref": "c"}}})",
        R"({"a": {"$dbPointer": {"$ref": "c", "$id": {"$oid": "12"}}}})", R"([{"$code": "f"}])", R"({"$code": "f")"})
    EXPECT_EQ(parseExtendedJson(text).status(), ErrorCode::kFailedToParse) << text;
}

}  // namespace
}  // namespace troupe::supervisors
