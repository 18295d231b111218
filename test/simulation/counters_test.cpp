#include "test/simulation/counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/simulation/scripted_server.hpp"
#include "test/simulation/stormy_set.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using checkers::Outcome;
using testing::AnyOf;
using testing::HasSubstr;

std::string firstBroken(const std::string& wrong, uint64_t seeds = 2) {
  return firstBrokenOfStormySet("[[workload]]\nkind = \"counters\"\nrate = 40\n" + wrong, seeds);
}

TEST(Counters, AreExactWhilePrimariesAreKilled) { EXPECT_EQ(firstBroken(""), ""); }

TEST(Counters, AnOperationThatIsCarriedOutTwiceIsFound) {
  const std::string broken = firstBroken("torn = 0.2");
  EXPECT_TRUE(broken.starts_with(kCountersHold)) << broken;
}

TEST(Counters, AReadOfWhatIsRolledBackIsFound) {
  const std::string broken = firstBroken("dirty = 1", 20);
  EXPECT_TRUE(broken.starts_with(kCountersHold)) << broken;
  // By the read, a later answer, or what is left in the end.
  EXPECT_THAT(broken, AnyOf(HasSubstr("majority"), HasSubstr("was told"), HasSubstr("stands at")));
}

constexpr uint64_t kOnce = 20, kTwice = 16;           ///< chances: of an answer that is final, or asked for again
constexpr uint64_t kAfterKnown = 84, kAnyTime = 276;  ///< of a read of a member that has to show what is known, or not

/// What one session makes of the answers of its server.
class CountersTest : public ScriptedServer {
 protected:
  /// Carries out one operation; what is complained of, if anything is.
  std::string run(Counters::Kind kind, uint64_t chance, std::deque<std::optional<std::string>> replies) {
    script = std::move(replies);
    bool done = false;
    client.start(operate(kind, chance, &done));
    cluster.runUntil([&] { return done; }, 60s);
    EXPECT_TRUE(done);
    EXPECT_TRUE(script.empty()) << script.size() << " replies were not asked for";
    return counters.broken();
  }
  std::string add(uint64_t chance, std::deque<std::optional<std::string>> replies) {
    return run(Counters::Kind::kAdd, chance, std::move(replies));
  }
  std::string addAndTell(uint64_t chance, std::deque<std::optional<std::string>> replies) {
    return run(Counters::Kind::kAddAndTellAfter, chance, std::move(replies));
  }
  std::string readPrimary(const std::string& found) { return read(Counters::Kind::kReadOfPrimary, kOnce, found); }
  std::string read(Counters::Kind kind, uint64_t chance, const std::string& found) {
    return run(kind, chance,
               {R"({"ok": 1, "cursor": {"id": 0, "ns": "test.counters", "firstBatch": [)" + found + "]}}"});
  }

  Counters counters{1, Safety::ofSet()};

 private:
  Task<void> operate(Counters::Kind kind, uint64_t chance, bool* done) {
    co_await counters.run({driver, driver}, 0, kind, chance, {});
    *done = true;
  }
};

const std::string kAdded = R"({"ok": 1, "n": 1, "nModified": 1})";
const std::string kAddedBefore = R"({"ok": 1, "n": 1, "nModified": 1, "retriedStmtIds": [0]})";
const std::string kUnsafe =
    R"({"ok": 1, "n": 1, "nModified": 1, "writeConcernError": {"code": 189, "errmsg": "stepped down"}})";

std::string told(int n, const std::string& rest = "") {
  return R"({"ok": 1, "lastErrorObject": {"n": 1}, "value": {"_id": "s0c0", "by": 1, "n": )" + std::to_string(n) + "}" +
         rest + "}";
}
const std::string kAsRetried = R"(, "retriedStmtId": 0, "operationTime": 3)";

TEST_F(CountersTest, AnAnswerIsTheSameEachTime) {
  EXPECT_EQ(add(kTwice, {kAdded, kAddedBefore}), "");
  EXPECT_EQ(add(kTwice, {std::nullopt, kAddedBefore, failure(10107), kAddedBefore}), "");
  EXPECT_EQ(add(kOnce, {kUnsafe, kAddedBefore}), "");
  EXPECT_EQ(add(kOnce, {kUnsafe, kAdded}), "") << "it was rolled back";
}

TEST_F(CountersTest, ADocumentIsToldTheSameEachTime) {
  EXPECT_EQ(addAndTell(kTwice, {told(1), told(1, kAsRetried)}), "");
}

TEST_F(CountersTest, ARepeatedFindAndModifyThatTellsAnotherDocumentIsFound) {
  EXPECT_NE(addAndTell(kTwice, {told(1), told(2, kAsRetried)}).find("and again with"), std::string::npos);
}

TEST_F(CountersTest, ARepeatedUpsertThatTellsNoIdIsFound) {
  const std::string upserted = R"({"ok": 1, "n": 1, "nModified": 0, "upserted": [{"index": 0, "_id": "s0c0"}]})";
  EXPECT_NE(add(kTwice, {upserted, kAddedBefore}).find("and again with"), std::string::npos);
}

TEST_F(CountersTest, ARepeatedOperationThatIsCarriedOutAgainIsFound) {
  EXPECT_NE(add(kTwice, {kAdded, kAdded}).find("carried out again"), std::string::npos);
}

TEST_F(CountersTest, AnAttemptThatTellsAnotherDocumentThanTheOneBeforeIsFound) {
  const std::string unsafe = R"(, "writeConcernError": {"code": 189, "errmsg": "stepped down"})";
  EXPECT_NE(addAndTell(kOnce, {told(2, unsafe), told(1, kAsRetried)}).find("and again with"), std::string::npos);
}

TEST_F(CountersTest, AFirstAttemptThatIsAnsweredAsRetriedIsFound) {
  EXPECT_NE(add(kOnce, {kAddedBefore}).find("before its first attempt"), std::string::npos);
}

TEST_F(CountersTest, ARefusalOfWhatWasAcknowledgedIsFound) {
  for (const int code : {217, 225, 11601}) {
    Counters* const fresh = &counters;
    std::destroy_at(fresh);
    std::construct_at(fresh, size_t{1}, Safety::ofSet());
    EXPECT_NE(add(kTwice, {kAdded, failure(code)}).find("acknowledged, and then refused"), std::string::npos) << code;
  }
}

TEST_F(CountersTest, AMemberThatHasJoinedMayNotKnowWhatWasAcknowledged) {
  Counters* const joined = &counters;
  std::destroy_at(joined);
  std::construct_at(joined, size_t{1}, Safety::ofSet(), true);
  EXPECT_EQ(add(kTwice, {kAdded, failure(217)}), "");
  EXPECT_NE(add(kTwice, {kAdded, failure(225)}).find("acknowledged, and then refused"), std::string::npos);
}

TEST_F(CountersTest, ARefusalThatPassesIsNone) {
  EXPECT_EQ(add(kTwice, {kAdded, failure(10107), std::nullopt, failure(11602), failure(91), failure(189)}), "");
}

TEST_F(CountersTest, ARefusalOfAnAttemptIsFound) {
  EXPECT_NE(add(kOnce, {std::nullopt, failure(217)}).find("was refused"), std::string::npos);
}

TEST_F(CountersTest, AReadOfThePrimaryShowsWhatItHasAcknowledged) {
  EXPECT_EQ(readPrimary(""), "");
  EXPECT_EQ(add(kOnce, {kAdded}), "");
  EXPECT_EQ(readPrimary(R"({"_id": "s0c0", "n": 1, "by": 1})"), "");
  EXPECT_NE(readPrimary("").find("was acknowledged before it"), std::string::npos);
}

TEST_F(CountersTest, AnotherConnectionMayBeBehind) {
  EXPECT_EQ(add(kOnce, {kAdded}), "");
  EXPECT_EQ(run(Counters::Kind::kReadOfPrimary, kOnce, {failure(13435), failure(13435)}), "");
  EXPECT_EQ(readPrimary(""), "");
  EXPECT_EQ(read(Counters::Kind::kReadOfMember, kAnyTime, ""), "");
  EXPECT_NE(read(Counters::Kind::kReadOfMember, kAfterKnown, "").find("was acknowledged before it"), std::string::npos);
}

}  // namespace
}  // namespace troupe::sim
