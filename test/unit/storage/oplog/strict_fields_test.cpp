#include "storage/oplog/strict_fields.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::storage {
namespace {

TEST(StrictFields, ReadsADocumentOfAnyNumberOfFields) {
  for (const int count : {0, 1, 19, 20, 21, 60}) {
    bson::Builder builder;
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) builder.append(names.emplace_back("f" + std::to_string(i)), i);
    const bson::Document document = builder.finish();
    const StrictFields fields("a test", document);
    for (int i = 0; i < count; ++i) EXPECT_EQ(fields.field(names[static_cast<size_t>(i)]).toInt64(-1), i) << count;
    EXPECT_FALSE(fields.field("other").ok());
    EXPECT_FALSE(fields.required("other", bson::Type::kInt32).isOK());
    const std::vector<std::string_view> allowed(names.begin(), names.end());
    EXPECT_TRUE(fields.allowOnly(allowed).isOK());
  }
}

TEST(StrictFields, TakesFieldsInAnyOrder) {
  const std::string longName(70, 'n'), longerName(80, 'n');
  const std::array<std::string_view, 5> names{"a", "b", "ab", longName, longerName};
  for (const auto& order : {std::array{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 3, 1}}) {
    bson::Builder builder;
    for (const int i : order) builder.append(names[static_cast<size_t>(i)], i);
    const bson::Document document = builder.finish();
    const StrictFields fields("a test", document);
    EXPECT_TRUE(fields.allowOnly(names).isOK());
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(fields.field(names[i]).toInt64(-1), static_cast<int64_t>(i));
    EXPECT_FALSE(fields.field("c").ok());
    EXPECT_FALSE(fields.field("abc").ok());
    EXPECT_FALSE(fields.allowOnly(std::span(names).first(4)).isOK());
    EXPECT_FALSE(fields.allowOnly(std::span(names).last(4)).isOK());
  }
}

TEST(StrictFields, NamesTheFieldThatIsWrong) {
  bson::Builder builder;
  builder.append("a", 1).append("b", "x").append("a", 2);
  const bson::Document document = builder.finish();
  const StrictFields fields("a test", document);
  EXPECT_EQ(fields.allowOnly(std::array<std::string_view, 1>{"a"}).reason(), "a test: the field 'b' is not known");
  EXPECT_EQ(fields.allowOnly(std::array<std::string_view, 2>{"a", "b"}).reason(),
            "a test: the field 'a' is there twice");
  EXPECT_EQ(fields.optional("b", bson::Type::kInt32).status().reason(), "a test: 'b' must be of type int, not string");
}

}  // namespace
}  // namespace troupe::storage
