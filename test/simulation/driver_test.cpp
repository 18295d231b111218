#include "test/simulation/driver.hpp"

#include <gtest/gtest.h>

#include <set>

#include "test/simulation/scripted_server.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using checkers::Outcome;

class DriverTest : public ScriptedServer {
 protected:
  DriverReply run(std::deque<std::optional<std::string>> replies, Driver::Retry retry = Driver::Retry::kNever) {
    script = std::move(replies);
    outcome.reset();
    client.start(ask(retry));
    cluster.runUntil([this] { return outcome.has_value(); }, 60s);
    return outcome ? std::move(*outcome) : DriverReply();
  }

  std::optional<DriverReply> outcome;

 private:
  Task<void> ask(Driver::Retry retry) {
    const bson::Document command = bson::doc("find", "c");
    DriverReply reply = co_await driver.run("test", command, retry);
    outcome.emplace(std::move(reply));
  }
};

TEST_F(DriverTest, TellsWhatCertainlyDidNothingFromWhatNobodyKnows) {
  EXPECT_EQ(run({R"({"ok": 1, "n": 1})"}).outcome, Outcome::kOk);
  EXPECT_EQ(run({R"({"ok": 1, "writeErrors": [{"index": 0, "code": 11000, "errmsg": "there"}]})"}).outcome,
            Outcome::kFailed);
  EXPECT_EQ(run({failure(10107)}).outcome, Outcome::kFailed);
  EXPECT_EQ(run({failure(11602)}).outcome, Outcome::kUnknown);
  EXPECT_EQ(run({R"({"ok": 1, "n": 1, "writeConcernError": {"code": 64, "errmsg": "so"}})"}).outcome,
            Outcome::kUnknown);
  EXPECT_EQ(run({std::nullopt}).outcome, Outcome::kUnknown) << "no answer";
  ASSERT_EQ(heard.size(), 6u);
}

TEST_F(DriverTest, AnErrorThatNoFaultExplainsIsToldFromOthers) {
  for (const int code : {11000, 10107, 11602, 91}) EXPECT_TRUE(run({failure(code)}).isExplained) << code;
  for (const int code : {1, 2, 8, 26, 43, 50, 112}) EXPECT_FALSE(run({failure(code)}).isExplained) << code;
  run({failure(10107)});
  isPrimary = false;
  const DriverReply never = run({});
  EXPECT_EQ(never.status, ErrorCode::kFailedToSatisfyReadPreference);
  EXPECT_EQ(never.outcome, Outcome::kFailed);
  EXPECT_FALSE(never.isExplained) << "no fault lasts as long as a selection";
}

TEST_F(DriverTest, AReadIsSentAgainOnceWhenItsConnectionBreaksOrItsServerChangesItsRole) {
  EXPECT_EQ(run({std::nullopt}, Driver::Retry::kOnce).outcome, Outcome::kUnknown) << "twice without an answer";
  EXPECT_EQ(commands, 2);
  EXPECT_EQ(run({failure(10107), R"({"ok": 1})"}, Driver::Retry::kOnce).outcome, Outcome::kOk);
  EXPECT_EQ(run({failure(11602), failure(11602)}, Driver::Retry::kOnce).outcome, Outcome::kUnknown) << "once only";
  EXPECT_EQ(run({failure(11000), R"({"ok": 1})"}, Driver::Retry::kOnce).outcome, Outcome::kFailed) << "not for that";
}

TEST_F(DriverTest, ANumberedWriteIsSentAgainAsItWas) {
  constexpr auto kNumbered = Driver::Retry::kNumbered;
  EXPECT_EQ(run({std::nullopt, failure(10107), R"({"ok": 1})"}, kNumbered).outcome, Outcome::kOk);
  ASSERT_EQ(commands, 3);
  EXPECT_EQ(std::set<int64_t>(numbers.begin(), numbers.end()), std::set<int64_t>({1}));
  EXPECT_EQ(run({R"({"ok": 1})"}, kNumbered).outcome, Outcome::kOk);
  EXPECT_EQ(numbers.back(), 2);
  EXPECT_EQ(run({std::nullopt, failure(10107), failure(10107), failure(10107), failure(10107)}, kNumbered).outcome,
            Outcome::kUnknown)
      << "the attempt without an answer may have been carried out";
  EXPECT_EQ(run({failure(10107), failure(11000)}, kNumbered).outcome, Outcome::kFailed);
}

TEST_F(DriverTest, AWriteThatMayBeRolledBackIsSentAgainIfAnotherServerMayKeepIt) {
  const std::string unsafe = R"({"ok": 1, "n": 1, "writeConcernError": {"code": 189, "errmsg": "so"}})";
  const DriverReply reply = run({unsafe, failure(10107), R"({"ok": 1})"}, Driver::Retry::kNumbered);
  EXPECT_EQ(reply.outcome, Outcome::kOk);
  ASSERT_EQ(reply.earlier.size(), 1u);
  EXPECT_EQ(reply.earlier[0]["n"].toInt64(), 1);
  EXPECT_FALSE(reply.followsUnanswered) << "what was refused was not carried out";
  EXPECT_EQ(run({unsafe, failure(10107)}, Driver::Retry::kOnce).outcome, Outcome::kUnknown);
  EXPECT_TRUE(run({std::nullopt, R"({"ok": 1})"}, Driver::Retry::kNumbered).followsUnanswered);
  EXPECT_TRUE(run({failure(11602), R"({"ok": 1})"}, Driver::Retry::kNumbered).followsUnanswered);
}

TEST_F(DriverTest, AWriteThatIsGivenUpIsNumberedAndGoesOnce) {
  EXPECT_TRUE(run({std::nullopt}, Driver::Retry::kNumberedOnce).mayPass);
  EXPECT_EQ(numbers, std::vector<int64_t>({1}));
  EXPECT_EQ(run({failure(10107)}, Driver::Retry::kNumberedOnce).outcome, Outcome::kFailed);
  EXPECT_EQ(numbers, std::vector<int64_t>({1, 2}));
}

TEST_F(DriverTest, AServerThatChangedItsRoleIsSelectedAnew) {
  run({R"({"ok": 1})"});
  run({R"({"ok": 1})"});
  EXPECT_EQ(connections, 1);
  run({failure(10107)});
  run({R"({"ok": 1})"});
  EXPECT_EQ(connections, 2);
}

}  // namespace
}  // namespace troupe::sim
