#include "storage/query/expression/expression.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {
namespace {

using bson::operator""_json;

TEST(Expression, FoldsConstantsAndKeepsWhatDependsOnTheDocument) {
  ParseContext context;
  const auto constant = R"({"v": {"$add": [1, {"$multiply": [2, 3]}]}})"_json;
  EXPECT_NE(parseExpression(constant["v"], context).value()->constant(), nullptr);
  const auto open = R"({"v": {"$add": [1, "$a.b"]}})"_json;
  const auto parsed = parseExpression(open["v"], context);
  EXPECT_EQ((*parsed)->constant(), nullptr);
  Dependencies dependencies;
  (*parsed)->addDependencies(dependencies);
  EXPECT_EQ(dependencies.paths, std::set<std::string>{"a.b"});
  const auto random = R"({"v": {"$rand": {}}})"_json;
  EXPECT_EQ(parseExpression(random["v"], context).value()->constant(), nullptr);
}

TEST(Expression, SerializesToWhatCanBeParsedAgain) {
  ParseContext context;
  const auto spec =
      R"({"v": {"$cond": [{"$gt": ["$a", 1]}, {"$map": {"input": "$list", "as": "i", "in": "$$i.x"}}, {"$dateToString": {"date": "$d"}}]}})"_json;
  const auto once = parseExpression(spec["v"], context);
  ASSERT_TRUE(once.isOK());
  bson::Builder first;
  (*once)->serialize("v", first);
  const auto text = first.finish();
  const auto again = parseExpression(text["v"], context);
  ASSERT_TRUE(again.isOK()) << bson::toRelaxedJson(text.view());
  bson::Builder second;
  (*again)->serialize("v", second);
  EXPECT_EQ(bson::toRelaxedJson(text.view()), bson::toRelaxedJson(second.finish().view()));
}

}  // namespace
}  // namespace troupe::query
