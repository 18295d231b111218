#include "storage/query/update/update.hpp"

#include <gtest/gtest.h>

namespace troupe::query {
namespace {

using bson::Document;

TEST(Update, RefusesADocumentOverTheSizeLimit) {
  const std::string large(9 << 20, 'x');
  const Document update = bson::doc("u", bson::doc("$set", bson::doc("b", large)));
  const Document before = bson::doc("_id", 1, "a", large);
  UpdateInput input;
  input.document = before;
  const auto parsed = parseUpdate(update["u"], {}, {});
  EXPECT_EQ(ErrorCode::kResultTooLarge, (*parsed)->apply(input).status().code());
}

}  // namespace
}  // namespace troupe::query
