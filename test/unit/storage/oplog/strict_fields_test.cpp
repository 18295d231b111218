#include "storage/oplog/strict_fields.hpp"

#include <gtest/gtest.h>

#include <array>
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
