// Catch-up and drain: actors of the topology in whole nodes on a simulated network, whose data layer is left out. What
// is asked of it is noted, and the test says what came of it. test/integration/replica_catch_up_test.py has real data.
#include <gtest/gtest.h>

#include "test/simulation/topology_fixture.hpp"

namespace troupe::replication {
namespace {

OpTime at(uint32_t seconds) { return {1, {seconds, 0}}; }

class CatchUpTest : public TopologyActorTest {
 protected:
  CatchUpTest() {
    members.hasData = true;
    for (const auto& name : kNames) cluster.kill(name), cluster.restart(name);
    cluster.run(10ms);
  }

  /// n1 and n2 have what a majority has, n3 has more; n1 is elected. The settings are those of the config.
  void electOneThatIsBehind(Millis catchUpTimeout, Millis takeoverDelay = Millis(-1)) {
    ReplicaSetConfig wanted = config();
    wanted.settings.catchUpTimeoutMillis = catchUpTimeout;
    wanted.settings.catchUpTakeoverDelayMillis = takeoverDelay;
    wanted.members[2].priority = 0.5;  // no priority takeover: only its data speak for it
    wanted.members[1].priority = 0;
    ask("n1:1", Initiate{wanted, "n1:1", {}});
    const std::vector<std::string> wantedPrimary{"n1:1"};
    for (int i = 0; i < 240 && members.primaries() != wantedPrimary; ++i) {
      cluster.run(500ms);
      drainAll();
    }
    ASSERT_EQ(members.primaries(), wantedPrimary) << cluster.trace().text();
    for (const auto& name : kNames) tell(name, AppliedAdvanced{at(name == "n3:1" ? 100 : 50)});
    cluster.run(3s);  // all hear of it, and nobody takes over yet
    const int64_t term = members.view("n1:1")->topology.memory.term;
    tell("n3:1", Freeze{60s});
    ask("n1:1", StepDown{.force = true, .stepDownPeriod = 100ms, .catchUpPeriod = 0ms, .handoff = false});
    cluster.run(1s);
    const auto stepUp = ask("n1:1", StepUp{true});
    ASSERT_TRUE(cluster.runUntil([&] { return !members.catchUps["n1:1"].empty(); }, 20s))
        << (*stepUp ? (*stepUp)->status().toString() : "no answer") << cluster.trace().text();
    EXPECT_GT(members.view("n1:1")->topology.memory.term, term);
  }
  template <class Report>
  void tell(const std::string& node, Report report) {
    Node& at = cluster.life(node).node();
    at.tell(at.address(kTopologyPath), local(std::move(report)));
  }
  void drainAll() {
    for (const auto& [node, drains] : std::exchange(members.drains, {})) tell(node, DrainDone{drains.back().term});
  }
  std::shared_ptr<const ReplicaView> one() const { return members.view("n1:1"); }
  Topology::Phase phase() const { return one()->topology.memory.phase; }
};

TEST_F(CatchUpTest, AsksForWhatTheNewestAnswerToldOfAndTakesNoWritesUntilItHasDrained) {  // ELE-019 to ELE-022
  electOneThatIsBehind(Millis(-1));
  EXPECT_EQ(members.catchUps["n1:1"].back().target, at(100));
  EXPECT_EQ(one()->state(), MemberState::kPrimary);
  EXPECT_FALSE(one()->isWritable());
  tell("n1:1", AppliedAdvanced{at(80)});
  cluster.run(20s);
  EXPECT_EQ(phase(), Topology::Phase::kCatchingUp) << "as long as it takes";
  tell("n1:1", AppliedAdvanced{at(100)});
  ASSERT_TRUE(cluster.runUntil([&] { return !members.drains["n1:1"].empty(); }, 1s));
  cluster.run(20s);
  EXPECT_EQ(one()->state(), MemberState::kPrimary) << "and stays elected";
  EXPECT_FALSE(one()->isWritable()) << "while it applies what it has fetched";
  drainAll();
  EXPECT_TRUE(cluster.runUntil([&] { return one()->isWritable(); }, 1s));
}

TEST_F(CatchUpTest, EndsAfterItsTimeoutAndTheNodeStaysElected) {  // ELE-020
  electOneThatIsBehind(Millis(3000));
  cluster.run(2s);
  EXPECT_EQ(phase(), Topology::Phase::kCatchingUp);
  ASSERT_TRUE(cluster.runUntil([&] { return !members.drains["n1:1"].empty(); }, 2s));
  drainAll();
  EXPECT_TRUE(cluster.runUntil([&] { return one()->isWritable(); }, 1s));
}

TEST_F(CatchUpTest, WhoIsAheadOfAPrimaryThatCatchesUpTakesOverAfterTheDelay) {  // ELE-003
  electOneThatIsBehind(Millis(-1), Millis(4000));
  tell("n3:1", Freeze{});
  const Duration elected = cluster.elapsed();
  ASSERT_TRUE(cluster.runUntil([&] { return !members.drains["n3:1"].empty(); }, 30s)) << cluster.trace().text();
  EXPECT_GE(cluster.elapsed() - elected, 3s);
  drainAll();
  EXPECT_TRUE(cluster.runUntil([&] { return members.primaries() == std::vector<std::string>{"n3:1"}; }, 5s));
  EXPECT_EQ(members.view("n3:1")->topology.memory.applied, at(100));
}

}  // namespace
}  // namespace troupe::replication
