// Regular expressions that would take all time or all memory: the limits of matching, the interrupt and the budget of
// their operation end them, and never as "no match".
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "storage/query/expression/expression.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/match/regex.hpp"
#include "storage/query/plan/plan_stage.hpp"
#include "test/unit/storage/query/match/filter_json.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

const std::string kBacktracking = "(a+)+$";

class HostileRegexes : public ::testing::Test {
 protected:
  HostileRegexes() { context.work = &work; }

  Status match(std::string_view filter, bson::View document) {
    TROUPE_ASSIGN(const auto parsed, parseMatch(filterJson(filter), context));
    MatchDetails details;
    details.work = &work;
    parsed->matches(document, &details);
    return details.error;
  }
  /// An operator of regular expressions over `text`, evaluated for each document, not folded.
  StatusWith<bson::Value> evaluate(std::string_view op, std::string_view pattern, const std::string& text) {
    const auto document = bson::doc("text", text);
    const auto spec = bson::doc("v", bson::doc(op, bson::doc("input", "$text", "regex", pattern)));
    TROUPE_ASSIGN(const auto expression, parseExpression(spec.view()["v"], context));
    Variables variables(&work);
    return expression->evaluate(document, variables);
  }

  TestWork work;
  ParseContext context;
  const std::string text = std::string(40, 'a') + "b";
};

TEST_F(HostileRegexes, FailAtTheLimitOfMatchingWhereverTheyStand) {
  const auto document = bson::doc("a", text, "list", bson::array(text));
  for (const char* filter : {
           R"({"a": {"%regex": "(a+)+$"}})",
           R"({"a": {"%not": {"%regex": "(a+)+$"}}})",
           R"({"%nor": [{"a": {"%regex": "(a+)+$"}}]})",
           R"({"list": {"%elemMatch": {"%regex": "(a+)+$"}}})",
           R"({"list": {"%elemMatch": {"%not": {"%regex": "(a+)+$"}}}})",
           R"({"%jsonSchema": {"properties": {"a": {"pattern": "(a+)+$"}}}})",
           R"({"%jsonSchema": {"properties": {"a": {"not": {"pattern": "(a+)+$"}}}}})",
       })
    EXPECT_EQ(match(filter, document).code(), ErrorCode(51156)) << filter;

  const auto in = bson::doc("a", bson::doc("$in", bson::array(bson::Regex{kBacktracking, ""})));
  const auto parsed = parseMatch(in, context);
  MatchDetails details;
  (*parsed)->matches(document, &details);
  EXPECT_EQ(details.error.code(), ErrorCode(51156));
  for (const char* op : {"$regexMatch", "$regexFind", "$regexFindAll"})
    EXPECT_EQ(evaluate(op, kBacktracking, text).status().code(), ErrorCode(51156)) << op;
}

TEST_F(HostileRegexes, EndWithTheirOperation) {
  work.killAtLook = 3;
  EXPECT_EQ(match(R"({"a": {"%regex": "(a+)+$"}})", bson::doc("a", text)).code(), ErrorCode::kInterrupted);
  EXPECT_EQ(work.looks, 3);
  for (const char* op : {"$regexMatch", "$regexFind", "$regexFindAll"}) {
    work.looks = 0;
    work.killed = false;
    EXPECT_EQ(evaluate(op, kBacktracking, text).status().code(), ErrorCode::kInterrupted) << op;
    EXPECT_EQ(work.looks, 3);
  }
}

TEST_F(HostileRegexes, ALargeClassOverALongTextEndsWithItsOperation) {
  const auto utf8 = [](int codePoint) {
    std::string out;
    for (const int bits : {0xE0 | codePoint >> 12, 0x80 | (codePoint >> 6 & 63), 0x80 | (codePoint & 63)})
      out += static_cast<char>(bits);
    return out;
  };
  std::string ranges;
  for (int i = 0; i < 3000; ++i) ranges += utf8(0x1000 + 2 * i);
  std::string longText;
  for (int i = 0; i < 500'000; ++i) longText += utf8(0x1001 + 2 * (i % 3000));
  for (const std::string& pattern : {"^[^" + ranges + "]*$", "[^" + ranges + "]+z", "x|[" + ranges + "a]{2,}?b"}) {
    work.killed = false;
    work.killAtLook = 0;
    const auto document = bson::doc("a", longText);
    const auto parsed = parseMatch(bson::doc("a", bson::Regex{pattern, ""}), context);
    ASSERT_TRUE(parsed.isOK());
    work.looks = 0;
    work.killAtLook = 4;
    MatchDetails details;
    details.work = &work;
    (*parsed)->matches(document, &details);
    EXPECT_EQ(details.error.code(), ErrorCode::kInterrupted) << pattern.substr(0, 4);
    EXPECT_EQ(work.looks, 4);
  }
}

TEST_F(HostileRegexes, ALargeClassMatchesTheSameWhereItIsWatched) {
  std::string ranges;
  for (int i = 0; i < 300; ++i) ranges += std::string("\u00e9\\]\\[[:digit:]");
  const std::string padding(400'000, '-');
  for (const auto& [pattern, text, matches] : std::vector<std::tuple<std::string, std::string, bool>>{
           {"a[" + ranges + "]+b", padding + "a5]b", true},
           {"a[" + ranges + "]+b", padding + "a5xb", false},
           {"a[]" + ranges + "]{2}b", padding + "a5]b", true},
           {"a[^" + ranges + "]*+b", padding + "axyb", false},
           {"a(?<=[" + ranges + "a])b", padding + "ab", true},
           {"\\[[" + ranges + "]\\]", padding + "[7]", true},
       }) {
    const auto regex = CompiledRegex::compile(pattern, "", nullptr);
    ASSERT_TRUE(regex.isOK()) << regex.status().toString();
    const auto answer = (*regex)->matches(text, nullptr);
    ASSERT_TRUE(answer.isOK()) << answer.status().toString();
    EXPECT_EQ(*answer, matches) << pattern.substr(0, 6) << " " << text.substr(text.size() - 6);
    EXPECT_EQ(*(*regex)->matches(text.substr(padding.size()), nullptr), matches);
  }
}

TEST_F(HostileRegexes, EndWithTheirOperationWhereverTheyCompareInLongTexts) {
  // It backtracks once at each place, which no count of backtracks notices, and reads the rest of the text for each.
  const std::string pattern = "a*[bc]", longText(1'000'000, 'a');
  work.killAtLook = 30;
  EXPECT_EQ(evaluate("$regexMatch", pattern, longText).status().code(), ErrorCode::kInterrupted);
  // Comparing with a group does not show by the place.
  EXPECT_EQ(match(R"({"a": {"%regex": "^(a*)\\1x"}})", bson::doc("a", longText + "x")).code(), ErrorCode::kInterrupted);
}

TEST_F(HostileRegexes, OrdinaryPatternsMayBacktrackInLongTexts) {
  std::string words;
  while (words.size() < 100'000)
    words += "the quick brown fox jumps over a lazy dog and goes home again without looking back, as one would expect ";
  const auto notFound = [&](const char* pattern, size_t size) {
    const auto found = evaluate("$regexMatch", pattern, words.substr(0, size));
    EXPECT_TRUE(found.isOK()) << found.status().toString();
    return found.isOK() && !found->element().truthy();
  };
  EXPECT_TRUE(notFound("the.*cat", words.size()));
  EXPECT_TRUE(notFound("the.*fox.*cat", 8'000));
  EXPECT_TRUE(match(R"({"a": {"%regex": "the.*cat"}})", bson::doc("a", words)).isOK());
  EXPECT_TRUE(match(R"({"a": {"%regex": "the.*fox.*cat"}})", bson::doc("a", words.substr(0, 8'000))).isOK());
}

TEST_F(HostileRegexes, BackReferencesAreChargedForWhatTheyCompare) {
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "word" + std::to_string(i) + " ";
  const auto found = evaluate("$regexMatch", R"(\b(\w+) \1\b)", words + "twice twice");
  ASSERT_TRUE(found.isOK()) << found.status().toString();
  EXPECT_TRUE(found->element().truthy());
}

TEST_F(HostileRegexes, TooLargeToBeWatchedEndWithTheirOperation) {
  std::string pattern = "(a+)+$|";  // 64 KiB at most once it is compiled, but more with a call before each item
  for (int i = 0; i < 8'000; ++i) pattern += "xy";
  ASSERT_TRUE(CompiledRegex::compile(pattern, "").isOK());
  EXPECT_EQ((*CompiledRegex::compile(pattern, ""))->matches(text, nullptr).status().code(), ErrorCode(51156));
  work.killAtLook = 4;
  EXPECT_EQ((*CompiledRegex::compile(pattern, ""))->matches(text, &work).status().code(), ErrorCode::kInterrupted);
}

TEST_F(HostileRegexes, PayForTheMemoryOfMatching) {
  PeakMemory peak;
  peak.restart();
  EXPECT_EQ(evaluate("$regexMatch", "^(?:(a|b))*$", std::string(1'000'000, 'a')).status().code(),
            ErrorCode::kExceededMemoryLimit);
  EXPECT_LT(peak.grown(), 3 * kBudget);
  EXPECT_EQ(work.budget.used(), 0);
}

TEST_F(HostileRegexes, PayForTimeAndMemoryOfCompiling) {
  bson::Builder b;
  b.openDocument("a").openArray("$in");
  for (int i = 0; i < 2000; ++i) b.push(bson::Regex{"(a{1,900}){1,30}", ""});
  const auto filter = b.close().close().finish();
  PeakMemory peak;
  peak.restart();
  EXPECT_EQ(parseMatch(filter, context).status().code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_LT(peak.grown(), 2 * kBudget);
  EXPECT_EQ(work.budget.used(), 0);
  work.killed = true;
  EXPECT_EQ(parseMatch(filter, context).status().code(), ErrorCode::kInterrupted);
  const std::string longPattern = "x?" + std::string(200, 'a');
  Status status;
  for (int i = 0; i < 100 && status.isOK(); ++i)
    status = evaluate("$regexMatch", longPattern + std::to_string(i), "").status();
  EXPECT_EQ(status.code(), ErrorCode::kInterrupted);
}

TEST_F(HostileRegexes, WhatNeedsADeepStackMatches) {
  const auto regex = *CompiledRegex::compile("^(?:(a|b)x?)*$", "");
  for (const size_t size : {1000, 20'000, 100'000}) {
    const auto matched = regex->matches(std::string(size, 'a'), nullptr);
    ASSERT_TRUE(matched.isOK()) << size << matched.status().toString();
    EXPECT_TRUE(*matched) << size;
  }
}

/// What a filter of rows says of a small document for an operation that was killed.
Status passesWhenKilled(std::string_view json, TestWork& work, const ParseContext& context) {
  const auto filter = parseMatch(filterJson(json), context);
  EXPECT_TRUE(filter.isOK());
  const RowFilter rows(filter->get());
  work.killed = true;
  const auto document = bson::doc("a", "text");
  Status status;
  for (int i = 0; i < 5000 && status.isOK(); ++i) status = rows.passes(document, &work).status();
  return status;
}

TEST_F(HostileRegexes, AFilterThatMayBeSlowIsWatchedOverSmallDocumentsToo) {
  EXPECT_EQ(passesWhenKilled(R"({"a": {"%regex": "x"}})", work, context).code(), ErrorCode::kInterrupted);
  std::string many = R"({"%or": [{"b": 0})";
  for (int i = 1; i < 100; ++i) many += R"(, {"b": )" + std::to_string(i) + "}";
  work.killed = false;
  EXPECT_EQ(passesWhenKilled(many + "]}", work, context).code(), ErrorCode::kInterrupted);
}

TEST_F(HostileRegexes, APlainFilterOverSmallDocumentsCostsNoLook) {
  EXPECT_TRUE(passesWhenKilled(R"({"a": "x", "b": {"%gt": 5}})", work, context).isOK());
  EXPECT_EQ(work.looks, 0);
}

TEST_F(HostileRegexes, MatchesOfLongTextsAreFound) {
  const std::string haystack = std::string(100'000, 'x') + "needle 42" + std::string(100'000, 'y');
  EXPECT_TRUE(*(*CompiledRegex::compile("n[d-l]+ (\\d+)y*$", ""))->matches(haystack, &work));
  EXPECT_FALSE(*(*CompiledRegex::compile("needles", ""))->matches(haystack, &work));
  const auto found = evaluate("$regexFind", "(n)(z)?e+dle (\\d+)", haystack);
  ASSERT_TRUE(found.isOK()) << found.status().toString();
  const auto result = found->element().asDocument();
  EXPECT_EQ(result["match"].asString(), "needle 42");
  EXPECT_EQ(result["idx"].toInt64(), 100'000);
  EXPECT_EQ(result["captures"].asArray().count(), 3);
  EXPECT_TRUE(result["captures"].asArray()["1"].is(bson::Type::kNull));
}

}  // namespace
}  // namespace troupe::query
