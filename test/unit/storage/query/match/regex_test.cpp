#include "storage/query/match/regex.hpp"

#include <gtest/gtest.h>

namespace troupe::query {
namespace {

std::string prefixOf(const char* pattern) { return literalPrefix(pattern, ""); }

TEST(CompiledRegex, KnowsTheLiteralPrefixOfAnAnchoredPattern) {
  EXPECT_EQ("lib", prefixOf("^lib"));
  EXPECT_EQ("lib", prefixOf("^lib.*dev"));
  EXPECT_EQ("li", prefixOf("^lib?"));
  EXPECT_EQ("a.b", prefixOf("^a\\.b"));
  EXPECT_EQ("", prefixOf("lib"));
  EXPECT_EQ("", prefixOf("^a|b"));
  EXPECT_EQ("a", prefixOf("^aü*"));
}

TEST(CompiledRegex, RefusesWhatDoesNotCompile) {
  EXPECT_EQ(ErrorCode(51091), CompiledRegex::compile("(", "").status().code());
  EXPECT_EQ(ErrorCode(51108), CompiledRegex::compile("a", "g").status().code());
}

TEST(CompiledRegex, GivesUpOnCatastrophicBacktrackingWithAnError) {
  const auto regex = *CompiledRegex::compile("(a+)+$", "");
  const auto matched = regex->matches(std::string(40, 'a') + "b", nullptr);
  EXPECT_EQ(ErrorCode(51156), matched.status().code());
}

}  // namespace
}  // namespace troupe::query
