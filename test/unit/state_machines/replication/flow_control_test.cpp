#include "state_machines/replication/flow_control.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::replication::test {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMost = 1000;
constexpr TimePoint kStart{1000s};

bson::Timestamp ts(uint32_t seconds, uint32_t increment = 1) { return {seconds, increment}; }
OpTime at(uint32_t seconds, uint32_t increment = 1) { return {1, ts(seconds, increment)}; }

// --- The formulas

TEST(FlowControlTickets, AtTheThresholdAreWhatTheSustainerAppliesAndALittleLess) {  // LCK-017
  EXPECT_EQ(ticketsWhileLagged({}, 5, 1000, 1), 950);
}

TEST(FlowControlTickets, DecayWithTheLag) {  // LCK-017
  EXPECT_EQ(ticketsWhileLagged({}, 10, 1000, 1), 475) << "0.5 ^ 1";
  EXPECT_EQ(ticketsWhileLagged({}, 15, 1000, 1), 237) << "0.5 ^ 2";
  EXPECT_EQ(ticketsWhileLagged({.decayConstant = 0.8}, 10, 1000, 1), 760);
  EXPECT_EQ(ticketsWhileLagged({.targetLagSeconds = 20}, 20, 1000, 1), 475) << "the threshold is half of the target";
  EXPECT_EQ(ticketsWhileLagged({.thresholdLagPercentage = 0.25}, 5, 1000, 1), 475);
  EXPECT_EQ(ticketsWhileLagged({.fudgeFactor = 1}, 5, 1000, 1), 1000);
}

TEST(FlowControlTickets, AreLocksAndNotEntries) {  // LCK-017
  EXPECT_EQ(ticketsWhileLagged({}, 5, 1000, 2), 1900);
  EXPECT_EQ(ticketsWhileLagged({.minTicketsPerSecond = 1}, 5, 1000, 0.01), 9);
}

TEST(FlowControlTickets, AreNeverFewerThanTheLeast) {
  EXPECT_EQ(ticketsWhileLagged({}, 5, 0, 1), 100);
  EXPECT_EQ(ticketsWhileLagged({}, 500, 1000, 1), 100);
  EXPECT_EQ(ticketsWhileLagged({.minTicketsPerSecond = 7}, 500, 1000, 1), 7);
}

TEST(FlowControlTickets, GrowWhileTheSetKeepsUp) {  // LCK-018
  EXPECT_EQ(ticketsWhileKeepingUp({}, 100), 630) << "(100 + 500) * 1.05";
  EXPECT_EQ(ticketsWhileKeepingUp({.ticketAdderConstant = 0, .ticketMultiplierConstant = 2}, 300), 600);
  EXPECT_EQ(ticketsWhileKeepingUp({}, FlowRule::kUnlimited), FlowRule::kUnlimited);
  EXPECT_EQ(ticketsWhileKeepingUp({}, FlowRule::kUnlimited - 1), FlowRule::kUnlimited);
}

// --- Samples of the log

TEST(WriteSamples, CountEntriesExactlyAtSamples) {
  WriteSamples samples;
  samples.add(ts(10, 5), kStart, 100, kMost);
  samples.add(ts(12, 3), kStart + 2s, 600, kMost);
  EXPECT_EQ(samples.operationsUpTo(ts(10, 5)), 100);
  EXPECT_EQ(samples.operationsUpTo(ts(12, 3)), 600);
  EXPECT_EQ(samples.operationsUpTo(ts(99)), 600) << "nothing is known of what comes later";
  EXPECT_EQ(samples.operationsUpTo(ts(1)), 100) << "nor of what came before";
}

TEST(WriteSamples, CountByIncrementsWithinASecond) {
  WriteSamples samples;
  samples.add(ts(10, 5), kStart, 100, kMost);
  samples.add(ts(11, 400), kStart + 1s, 700, kMost);
  EXPECT_EQ(samples.operationsUpTo(ts(10, 25)), 120);
  EXPECT_EQ(samples.operationsUpTo(ts(11, 50)), 150) << "at least those of its own second";
  EXPECT_EQ(samples.operationsUpTo(ts(10, 5000)), 700) << "never more than the next sample has";
}

TEST(WriteSamples, TheLagIsTheTimeSinceTheFirstEntryThatIsNotCommitted) {
  WriteSamples samples;
  samples.add(ts(10), kStart, 1, kMost);
  samples.add(ts(14), kStart + 4s, 2, kMost);
  samples.add(ts(17), kStart + 7s, 3, kMost);
  EXPECT_EQ(samples.lagOf(ts(17)), 0s);
  EXPECT_EQ(samples.lagOf(ts(14)), 3s);
  EXPECT_EQ(samples.lagOf(ts(12)), 7s) << "what follows may be as old as the sample after the newest that it has";
  EXPECT_EQ(samples.lagOf(ts(3)), 7s) << "at least";
}

/// An idle primary notes something every ten seconds: in the moment before that is committed, nobody lags by ten.
TEST(WriteSamples, TimeWithoutWritesIsNoLag) {
  WriteSamples samples;
  samples.add(ts(10), kStart, 1, kMost);
  samples.add(ts(10), kStart + 9s, 1, kMost);
  samples.add(ts(20), kStart + 10s, 2, kMost);
  EXPECT_EQ(samples.lagOf(ts(10)), 1s);
  samples.add(ts(20), kStart + 60s, 2, kMost);
  EXPECT_EQ(samples.lagOf(ts(10)), 1s) << "nor does it grow while nothing is written";
}

TEST(WriteSamples, ARollbackForgetsWhatWasLater) {
  WriteSamples samples;
  samples.add(ts(10), kStart, 10, kMost);
  samples.add(ts(20), kStart + 10s, 20, kMost);
  samples.add(ts(15), kStart + 11s, 21, kMost);
  EXPECT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples.operationsUpTo(ts(30)), 21);
}

TEST(WriteSamples, ForgetWhatNobodyNeeds) {
  WriteSamples samples;
  for (uint32_t i = 0; i < 10; ++i) samples.add(ts(10 * i), kStart + i * 10s, i, kMost);
  samples.forgetBefore(ts(55));
  EXPECT_EQ(samples.size(), 5u);
  EXPECT_EQ(samples.operationsUpTo(ts(50)), 5) << "the last one before is still there";
}

TEST(WriteSamples, TooManyBecomeCoarserAndReachBackAsFar) {
  WriteSamples samples;
  for (uint32_t i = 0; i < 100; ++i) samples.add(ts(10 * i), kStart + i * 10s, i, 8);
  EXPECT_LE(samples.size(), 8u);
  EXPECT_EQ(samples.lagOf(ts(0)), 990s);
  EXPECT_EQ(samples.operationsUpTo(ts(990)), 99);
}

// --- The sustainer

ReplicaSetConfig setOf(const std::string& members) {
  auto config = ReplicaSetConfig::parse(*bson::fromJson(R"({"_id": "rs", "members": [)" + members + "]}"));
  EXPECT_TRUE(config.isOK()) << config.status().toString();
  return *config;
}
ReplicaSetConfig ofThree() {
  return setOf(R"({"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"}, {"_id": 2, "host": "c:1"})");
}
Position applied(const OpTime& time) { return {time, {}}; }

TEST(Sustainer, IsTheLastOfTheBestMajority) {
  EXPECT_EQ(sustainerOf(ofThree(), {{"a:1", applied(at(9))}, {"b:1", applied(at(3))}, {"c:1", applied(at(7))}}), "c:1");
  EXPECT_EQ(sustainerOf(ofThree(), {{"a:1", applied(at(9))}, {"b:1", applied(at(3))}}), "b:1");
}

TEST(Sustainer, IsAVoterWithData) {
  const auto config = setOf(R"({"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"},
    {"_id": 2, "host": "arbiter:1", "arbiterOnly": true}, {"_id": 3, "host": "x:1", "votes": 0, "priority": 0})");
  EXPECT_EQ(sustainerOf(config, {{"a:1", applied(at(9))}, {"b:1", applied(at(3))}, {"x:1", applied(at(8))}}), "b:1");
  EXPECT_EQ(sustainerOf(config, {{"a:1", applied(at(9))}, {"b:1", applied(at(3))}, {"arbiter:1", applied(at(8))}}),
            "b:1");
  EXPECT_EQ(sustainerOf(ReplicaSetConfig(), {}), "");
}

// --- The rule

/// A primary "a" of three that writes a thousand entries a second, one lock each; "b" is the faster of the others.
struct FlowRuleTest : testing::Test {
  FlowControlSettings settings;
  ReplicaSetConfig config = ofThree();
  FlowRule rule;
  WriteSamples samples;
  uint32_t second = 100;
  int64_t operations = 0, locks = 0;
  int64_t writes = 1000;
  bool mayWrite = true;
  OpTime b = at(100);

  /// A second later; "b" has come to that entry, and so has the commit point.
  FlowDecision look(const OpTime& reached, int64_t locksTaken = 1000) {
    ++second;
    operations += writes;
    locks += locksTaken;
    b = reached;
    const TimePoint now = kStart + std::chrono::seconds(second);
    samples.add(ts(second, 1000), now, operations, kMost);
    const Positions positions{{"a:1", applied(at(second, 1000))}, {"b:1", applied(b)}, {"c:1", applied(at(50))}};
    return rule.decide(settings,
                       {.now = now,
                        .mayWrite = mayWrite,
                        .config = config,
                        .positions = positions,
                        .commitPoint = b,
                        .operations = operations,
                        .locks = locks},
                       samples);
  }
  FlowDecision keepUp() { return look(at(second + 1, 1000)); }
  /// "b" applies nothing for so many seconds.
  FlowDecision standStill(int seconds) {
    FlowDecision last;
    for (int i = 0; i < seconds; ++i) last = look(b);
    return last;
  }
};

TEST_F(FlowRuleTest, NothingIsHeldBackWhileTheSetKeepsUp) {  // LCK-015
  for (int i = 0; i < 5; ++i) EXPECT_EQ(keepUp().tickets, FlowRule::kUnlimited);
  EXPECT_EQ(rule.last().sustainer, "b:1");
  EXPECT_EQ(rule.last().sustainerRate, 1000);
}

TEST_F(FlowRuleTest, ItBeginsAtTheThreshold) {  // LCK-015
  keepUp();
  const FlowDecision before = standStill(4);
  EXPECT_FALSE(before.isLagged);
  EXPECT_EQ(before.lag, 4s);
  EXPECT_EQ(before.tickets, FlowRule::kUnlimited);
  const FlowDecision then = standStill(1);
  EXPECT_TRUE(then.isLagged);
  EXPECT_EQ(then.lag, 5s);
  EXPECT_EQ(then.tickets, 100) << "the sustainer applies nothing";
}

TEST_F(FlowRuleTest, TheBaseIsWhatTheSustainerHasApplied) {  // LCK-017
  keepUp();
  standStill(5);
  // It has come on by 800 entries, and is as far behind as before: five seconds of the log.
  const FlowDecision decision = look(at(second - 4, 800));
  EXPECT_TRUE(decision.isLagged);
  EXPECT_EQ(decision.sustainerRate, 800);
  EXPECT_EQ(decision.tickets, ticketsWhileLagged(settings, 6, 800, 1));
}

TEST_F(FlowRuleTest, TheTicketsAreOfSoManyLocksAsAnEntryTakes) {  // LCK-017
  keepUp();
  standStill(5);
  const FlowDecision decision = look(at(second - 4, 800), 2000);
  EXPECT_EQ(decision.locksPerOperation, 2);
  EXPECT_EQ(decision.tickets, ticketsWhileLagged(settings, 6, 800, 2));
}

TEST_F(FlowRuleTest, ASecondWithoutWritesSaysNothingOfTheirLocks) {
  keepUp();
  look(at(second + 1, 1000), 3000);
  writes = 0;
  EXPECT_EQ(look(b, 5).locksPerOperation, 3);
  writes = 1000;
  EXPECT_EQ(look(b, 0).locksPerOperation, 3);
}

TEST_F(FlowRuleTest, ALateLookCountsBySecondsAllTheSame) {
  keepUp();
  ++second;
  operations += writes;
  EXPECT_EQ(keepUp().sustainerRate, 1000) << "two thousand entries in two seconds";
}

TEST_F(FlowRuleTest, TheRateGrowsAgainWhenTheLagIsOver) {  // LCK-018
  keepUp();
  standStill(8);
  EXPECT_EQ(keepUp().tickets, 630);
  EXPECT_EQ(keepUp().tickets, 1186);
  EXPECT_FALSE(rule.last().isLagged);
}

TEST_F(FlowRuleTest, CountsHowOftenAndHowLongItWasLagged) {
  keepUp();
  standStill(7);
  keepUp();
  standStill(5);
  EXPECT_EQ(rule.last().timesLagged, 2);
  EXPECT_EQ(rule.last().timeLagged, 3s);
}

TEST_F(FlowRuleTest, DisabledItHoldsNothingBackButGoesOnSampling) {  // LCK-019, LCK-020
  settings.enabled = false;
  keepUp();
  const FlowDecision decision = standStill(8);
  EXPECT_EQ(decision.tickets, FlowRule::kUnlimited);
  EXPECT_FALSE(decision.isLagged);
  EXPECT_EQ(decision.lag, 8s);
  settings.enabled = true;
  EXPECT_EQ(look(at(second - 7, 500)).tickets, ticketsWhileLagged(settings, 9, 500, 1)) << "its base is known at once";
}

TEST_F(FlowRuleTest, ANodeThatMayNotWriteHoldsNothingBack) {  // LCK-019
  mayWrite = false;
  keepUp();
  const FlowDecision decision = standStill(8);
  EXPECT_EQ(decision.tickets, FlowRule::kUnlimited);
  EXPECT_FALSE(decision.isLagged);
}

TEST_F(FlowRuleTest, ANodeThatMayWriteNoMoreLetsAllGoOnAtOnce) {  // LCK-019
  keepUp();
  EXPECT_EQ(standStill(8).tickets, 100);
  mayWrite = false;
  EXPECT_EQ(standStill(1).tickets, FlowRule::kUnlimited);
}

TEST_F(FlowRuleTest, TheRateStaysWhenItIsNotKnownWhatTheSustainerApplies) {
  samples.add(ts(90), kStart + 90s, 0, kMost);
  samples.add(ts(91), kStart + 91s, 0, kMost);
  const FlowDecision first = look(at(90));
  EXPECT_TRUE(first.isLagged);
  EXPECT_EQ(first.tickets, FlowRule::kUnlimited) << "the first look knows of no other";
  EXPECT_EQ(look(at(90)).tickets, 100);
}

}  // namespace
}  // namespace troupe::replication::test
