#include "supervisors/cli/document_source.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

/// Every outcome as text: "line: json", "line: !" for a failure.
std::vector<std::string> outcomes(DocumentSource& source) {
  std::vector<std::string> result;
  while (!source.ended()) {
    const auto next = source.next();
    if (next.isOK() && !*next) break;
    result.push_back(std::to_string(source.line()) + ": " + (next.isOK() ? bson::toRelaxedJson(**next) : "!"));
  }
  return result;
}
std::vector<std::string> json(const std::string& text, bool byLine = false) {
  std::istringstream in(text);
  return outcomes(*jsonSource(in, byLine));
}
using Lines = std::vector<std::string>;

TEST(DocumentSource, ReadsADocumentALineOrOverSeveral) {
  EXPECT_EQ(json("{\"a\": 1}\n\n{\"a\":\n 2} {\"a\": 3}\n"),
            (Lines{"1: { \"a\" : 1 }", "3: { \"a\" : 2 }", "4: { \"a\" : 3 }"}));
  EXPECT_EQ(json(""), Lines{});
}

TEST(DocumentSource, ABrokenLineCostsNoOther) {
  for (const char* broken : {R"({"a": "b})", R"({"a": {"b": 1})", R"({"a":)", R"({"a": "b\)", R"({"a": [)", "{",
                             R"("a": 1})", R"({"a": oops})"}) {
    SCOPED_TRACE(broken);
    EXPECT_EQ(json("{\"a\": 1}\n" + std::string(broken) + "\n{\"a\": 3}\n\n{\"a\": 5}", true),
              (Lines{"1: { \"a\" : 1 }", "2: !", "3: { \"a\" : 3 }", "5: { \"a\" : 5 }"}));
  }
  EXPECT_EQ(json("[{\"a\":\n 1}]", true), (Lines{"1: { \"a\" : 1 }"})) << "an array has no lines";
}

TEST(DocumentSource, ReadsAnArray) {
  EXPECT_EQ(json("[\n{\"a\": 1},\n{\"a\": \"}]\\\"\"}\n]\n"), (Lines{"2: { \"a\" : 1 }", "3: { \"a\" : \"}]\\\"\" }"}));
  EXPECT_EQ(json("[]"), Lines{});
  EXPECT_EQ(json("[{\"a\": 1}"), (Lines{"1: { \"a\" : 1 }", "1: !"}));
  EXPECT_EQ(json("[] x"), (Lines{"1: !"}));
}

TEST(DocumentSource, GoesOnBehindABadDocument) {
  EXPECT_EQ(json("{\"a\": 1}\n{\"a\": nonsense}\nrubbish\n{\"a\": 2}\n"),
            (Lines{"1: { \"a\" : 1 }", "2: !", "3: !", "4: { \"a\" : 2 }"}));
  EXPECT_EQ(json("{\"a\": 1}\n{\"a\": "), (Lines{"1: { \"a\" : 1 }", "2: !"}));
}

TEST(DocumentSource, TakesTheColumnsOfCsvFromItsFirstRecordOrFromTheOptions) {
  std::istringstream headed("a,b\n1,x\n1,2,3\n2,\n"), bare("1,x\n");
  EXPECT_EQ(outcomes(*csvSource(headed, {.inferTypes = true})),
            (Lines{"2: { \"a\" : 1, \"b\" : \"x\" }", "3: !", "4: { \"a\" : 2 }"}));
  EXPECT_EQ(outcomes(*csvSource(bare, {.columns = {"n", "t"}})), (Lines{"1: { \"n\" : \"1\", \"t\" : \"x\" }"}));
}

TEST(DocumentSource, RefusesAHeaderThatIsNotOne) {
  std::istringstream twice("a,a\n1,2\n"), nameless("a,,b\n");
  EXPECT_EQ(outcomes(*csvSource(twice, {})), (Lines{"1: !"}));
  EXPECT_EQ(outcomes(*csvSource(nameless, {})), (Lines{"1: !"}));
}

}  // namespace
}  // namespace troupe::supervisors
