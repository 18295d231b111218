#include "test/checkers/history_file.hpp"

#include <gtest/gtest.h>

namespace troupe::checkers {
namespace {

const std::string kGood =
    R"({"process": 2, "begin": 2000, "end": 2500, "outcome": "ok", "read": {"key": "a", "contents": [1]}})"
    "\n"
    R"({"process": 1, "begin": 1000, "end": 1500, "outcome": "ok", "append": {"key": "a", "value": 1}})"
    "\n\n"
    R"({"process": 3, "begin": 1100, "outcome": "unknown", "append": {"key": "a", "value": 2}})"
    "\n"
    R"({"process": 4, "begin": 1100, "end": 1200, "outcome": "failed", "read": {"key": "a"}})"
    "\n"
    R"({"process": 5, "begin": 1100, "end": 1200, "outcome": "ok", "set": {"key": "r", "value": 7}})"
    "\n"
    R"({"process": 5, "begin": 1000, "end": 1050, "outcome": "ok", "get": {"key": "r", "value": null}})";

std::string brokenIn(const std::string& text, Isolation isolation = Isolation::kStrictSerializable) {
  const auto history = readHistory(text);
  EXPECT_TRUE(history.isOK()) << history.status().toString();
  return history.isOK() ? checkRecorded(*history, isolation).broken : "unreadable";
}

std::string reasonFor(const std::string& text) {
  const auto history = readHistory(text);
  EXPECT_EQ(history.status(), ErrorCode::kFailedToParse) << text;
  return history.status().reason();
}

TEST(HistoryFile, IsReadInTheOrderOfInvocation) {
  const auto history = readHistory(kGood);
  ASSERT_TRUE(history.isOK()) << history.status().toString();
  const auto& lists = history->lists.events();
  ASSERT_EQ(lists.size(), 4u);
  EXPECT_EQ(lists[0].process, 1);
  EXPECT_EQ(lists[0].operation.toString(), "append a 1");
  EXPECT_EQ(lists[0].begin, TimePoint(std::chrono::microseconds(1000)));
  EXPECT_EQ(lists[0].end, TimePoint(std::chrono::microseconds(1500)));
  EXPECT_EQ(lists[1].outcome, Outcome::kUnknown);
  EXPECT_EQ(lists[1].end, TimePoint::max());
  EXPECT_EQ(lists[2].outcome, Outcome::kFailed);
  EXPECT_EQ(lists[3].operation.toString(), "read a [1]");
  ASSERT_EQ(history->registers.size(), 2u);
  EXPECT_EQ(history->registers.events()[0].operation.read, std::nullopt);
  EXPECT_EQ(history->registers.events()[1].operation.value, 7);
}

TEST(HistoryFile, OfAHistoryThatIsAsPromisedHasNothingBroken) { EXPECT_EQ(brokenIn(kGood), ""); }

TEST(HistoryFile, OfAnAcknowledgedAppendThatIsLostIsBroken) {
  const std::string later =
      R"({"process": 6, "begin": 3000, "end": 3100, "outcome": "ok", "read": {"key": "a", "contents": []}})";
  EXPECT_NE(brokenIn(kGood + "\n" + later).find("with real time"), std::string::npos);
  EXPECT_EQ(brokenIn(kGood + "\n" + later, Isolation::kSerializable), "") << "it may be of an earlier time";
}

TEST(HistoryFile, OfAReadOfWhatHasFailedIsBroken) {
  const std::string failed =
      R"({"process": 6, "begin": 1, "end": 2, "outcome": "failed", "append": {"key": "b", "value": 1}})"
      "\n"
      R"({"process": 7, "begin": 3, "end": 4, "outcome": "ok", "read": {"key": "b", "contents": [1]}})";
  EXPECT_NE(brokenIn(failed, Isolation::kReadCommitted).find("aborted read (G1a)"), std::string::npos);
}

TEST(HistoryFile, OfARegisterThatIsStaleIsBroken) {
  const std::string stale =
      R"({"process": 6, "begin": 3000, "end": 3100, "outcome": "ok", "get": {"key": "r", "value": null}})";
  EXPECT_NE(brokenIn(kGood + "\n" + stale).find("not linearizable"), std::string::npos);
}

TEST(HistoryFile, OfWhatIsNoOperationIsRefusedWithItsLine) {
  EXPECT_NE(reasonFor(kGood + "\n{").find("line 8"), std::string::npos);
  const auto with = [](const char* rest) { return std::string(R"({"process": 1, "begin": 5, )") + rest + "}"; };
  for (const char* rest :
       {R"("end": 6, "append": {"key": "a", "value": 1})", R"("end": 6, "outcome": "ok")",
        R"("outcome": "ok", "append": {"key": "a", "value": 1})",
        R"("end": 4, "outcome": "ok", "append": {"key": "a", "value": 1})",
        R"("end": 6, "outcome": "ok", "append": {"value": 1})", R"("end": 6, "outcome": "ok", "append": {"key": "a"})",
        R"("end": 6, "outcome": "ok", "read": {"key": "a"})",
        R"("end": 6, "outcome": "ok", "read": {"key": "a", "contents": ["x"]})",
        R"("end": 6, "outcome": "ok", "get": {"key": "r"})"})
    EXPECT_NE(reasonFor(with(rest)).find("line 1"), std::string::npos) << rest;
  EXPECT_NE(reasonFor(R"({"outcome": "ok", "end": 1, "append": {"key": "a", "value": 1}})").find("no process"),
            std::string::npos);
}

}  // namespace
}  // namespace troupe::checkers
