#include "supervisors/cli/command_line.hpp"

#include <gtest/gtest.h>

namespace troupe::supervisors {
namespace {

TEST(CommandLine, WaitsForAnAnswerForThirtySecondsUnlessTheUriSaysOtherwise) {
  const auto limitOf = [](const std::string& uri) { return targetOf({.uri = uri})->socketTimeoutMs; };
  EXPECT_EQ(limitOf("example.org:1"), 30'000);
  EXPECT_EQ(limitOf("mongodb://example.org:1/?appName=x"), 30'000);
  EXPECT_EQ(limitOf("mongodb://example.org:1/?socketTimeoutMS=250"), 250);
  EXPECT_EQ(limitOf("mongodb://example.org:1/?appName=x&socketTimeoutMS=0"), 0) << "no limit";
  EXPECT_EQ(targetOf({.uri = "example.org:1", .answerTimeoutMs = 0})->socketTimeoutMs, 0);
  EXPECT_EQ(targetOf({.uri = "mongodb+srv://x"}).status(), ErrorCode::kFailedToParse);
}

}  // namespace
}  // namespace troupe::supervisors
