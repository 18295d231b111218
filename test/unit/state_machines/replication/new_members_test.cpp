// A reconfig asks the members that it adds before it is installed: ELE-037.
#include "test/unit/state_machines/replication/reconfig_kit.hpp"

namespace troupe::replication::test {
namespace {

// A mistyped name with a vote would leave a set of one without a primary.
TEST(Reconfig, IsNotInstalledWhereTheNewConfigWouldHaveNoPrimary) {
  Cluster set = Cluster::running(ofOne());
  EXPECT_FALSE(set.command("a:1", Reconfig{withMember(nextOf(ofOne()), "x:1")}));
  set.run(Secs(9));
  EXPECT_FALSE(reconfigOutcome(set, "a:1")) << "it may be slow to answer";
  set.run(Secs(2));
  ASSERT_TRUE(reconfigOutcome(set, "a:1"));
  EXPECT_EQ(reconfigOutcome(set, "a:1")->code(), ErrorCode::kNodeNotFound);
  EXPECT_NE(reconfigOutcome(set, "a:1")->reason().find("x:1"), std::string::npos);
  EXPECT_FALSE(set.config("a:1").has("x:1"));
  EXPECT_EQ(set.phase("a:1"), Phase::kPrimary);
  set.forget();
  set.add("d:1");
  set.command("a:1", Reconfig{withMember(nextOf(set.config("a:1")), "d:1")});
  set.run(Secs(1));
  EXPECT_TRUE(reconfigOutcome(set, "a:1")->isOK()) << "another one may follow";
}

TEST(Reconfig, AMemberThatIsDownIsAddedIfTheOthersAreAMajorityWithoutIt) {
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary();
  set.command(primary, Reconfig{withMember(nextOf(set.config(primary)), "d:1")});
  set.run(Millis(500));
  EXPECT_FALSE(reconfigOutcome(set, primary)) << "it may have a reason to refuse";
  set.run(Secs(1));
  ASSERT_TRUE(reconfigOutcome(set, primary));
  EXPECT_TRUE(reconfigOutcome(set, primary)->isOK());
  EXPECT_TRUE(set.config(primary).has("d:1"));
}

TEST(Reconfig, AMemberThatIsDownIsNotAddedBesideAnotherOne) {
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), dead = set.others().front();
  set.kill(dead);
  set.run(Secs(3));
  ASSERT_EQ(set.phase(primary), Phase::kPrimary);
  set.command(primary, Reconfig{withMember(nextOf(set.config(primary)), "d:1")});
  set.run(Secs(11));
  ASSERT_TRUE(reconfigOutcome(set, primary));
  EXPECT_EQ(reconfigOutcome(set, primary)->code(), ErrorCode::kNodeNotFound);
  EXPECT_NE(reconfigOutcome(set, primary)->reason().find(dead + ", d:1"), std::string::npos);
}

// It counts as alive for an election timeout: for that long others tell of it.
TEST(Reconfig, AMemberThatHasJustDiedIsNotThere) {
  const Snapshot<Topology> primary = when(memberOf(kConfig, "a:1", Phase::kPrimary), Unreachable{"c:1"}).next;
  const Outcome asks = when(primary, Reconfig{withMember(nextOf(), "d:1")});
  const Outcome late = when(asks.next, MembersDeadline{});
  EXPECT_EQ(did<Conclude>(late)->outcome.code(), ErrorCode::kNodeNotFound);
  EXPECT_NE(did<Conclude>(late)->outcome.reason().find("c:1, d:1"), std::string::npos);
  EXPECT_EQ(late.next.document.config->version, 1);
  ReplicaSetConfig without = nextOf();
  std::erase_if(without.members, [](const auto& member) { return member.host == "b:1"; });
  EXPECT_EQ(refusalIn(when(primary, Reconfig{without})), ErrorCode::kNodeNotFound);
}

TEST(Reconfig, WaitsNoLongerForTheRestOnceThereIsAMajority) {
  ReplicaSetConfig two = withMember(nextOf(ofOne()), "d:1");
  two = withMember(two, "x:1");
  two.members.back().id = 10;
  two.members.back().votes = 0;
  two.members.back().priority = 0;
  Cluster set = Cluster::running(ofOne());
  set.add("d:1");
  set.command("a:1", Reconfig{two});
  set.run(Secs(3));
  ASSERT_TRUE(reconfigOutcome(set, "a:1"));
  EXPECT_TRUE(reconfigOutcome(set, "a:1")->isOK());
}

TEST(Reconfig, ForceEndsTheQuestions) {
  const Outcome asks = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{withMember(nextOf(), "d:1")});
  const Outcome forced = when(asks.next, Reconfig{nextOf(), true, 0});
  EXPECT_EQ(did<Conclude>(forced)->outcome.code(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_TRUE(forced.next.memory.awaited.empty());
  EXPECT_FALSE(forced.next.memory.change);
  const Outcome late = when(forced.next, MembersDeadline{});
  EXPECT_TRUE(late.next.memory == forced.next.memory) << "a deadline that was on its way changes nothing";
  EXPECT_TRUE(late.effects.empty());
}

TEST(Reconfig, FailsAtOnceWhenANewMemberRefuses) {
  const Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  const Outcome asks = when(primary, Reconfig{withMember(nextOf(), "d:1")});
  EXPECT_EQ(asks.next.memory.change->stage, ConfigChange::Stage::kAsking);
  EXPECT_EQ(asks.next.document.config->version, 1);
  ASSERT_EQ(said<HeartbeatRequest>(asks).size(), 1u) << "the others are asked nothing";
  const auto [host, question] = said<HeartbeatRequest>(asks)[0];
  EXPECT_EQ(host, "d:1");
  const Outcome refuses = when(when(blank("d:1"), OwnData{true}).next, question);
  const Outcome failed = when(asks.next, said<HeartbeatReply>(refuses)[0].second);
  EXPECT_EQ(did<Conclude>(failed)->outcome.code(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_NE(did<Conclude>(failed)->outcome.reason().find("d:1 has data of its own"), std::string::npos);
  EXPECT_FALSE(failed.next.memory.change);
  EXPECT_EQ(failed.next.document.config->version, 1);
}

// It would be REMOVED before it is added.
TEST(Reconfig, ANewMemberThatIsAskedTakesNoConfig) {
  const Outcome asks = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{withMember(nextOf(), "d:1")});
  const Outcome asked = when(blank("d:1"), said<HeartbeatRequest>(asks)[0].second);
  EXPECT_TRUE(said<HeartbeatRequest>(asked).empty()) << "it does not ask for the config";
  EXPECT_EQ(phaseAfter(asked), Phase::kStartup);
}

TEST(Reconfig, AQuestionThatWasLostIsAskedAgain) {
  Cluster set = Cluster::running(ofOne());
  set.add("d:1");
  set.cut("a:1", "d:1");
  set.command("a:1", Reconfig{withMember(nextOf(ofOne()), "d:1")});
  set.run(Secs(1));
  set.heal();
  set.run(Secs(3));
  ASSERT_TRUE(reconfigOutcome(set, "a:1"));
  EXPECT_TRUE(reconfigOutcome(set, "a:1")->isOK());
}

// Asked as if there were no config yet it shows the one that it has.
TEST(Reconfig, TheTermOfAHostThatIsAskedEndsNoLeadership) {
  ReplicaSetConfig past = kConfig;
  past.version = 3;
  const Snapshot<Topology> primary = memberOf(past, "a:1", Phase::kPrimary);
  const Outcome asks = when(primary, Reconfig{withMember(nextOf(past), "d:1")});
  HeartbeatReply reply = shown(memberOf(withMember(kConfig, "d:1"), "d:1", Phase::kFollower, 9), "a:1");
  reply.newer = withMember(kConfig, "d:1");
  const Outcome told = when(asks.next, reply);
  EXPECT_EQ(phaseAfter(told), Phase::kPrimary);
  EXPECT_EQ(told.next.memory.term, primary.memory.term);
  EXPECT_FALSE(told.next.memory.awaited.contains("d:1")) << "it is there all the same";
  reply.newer = nextOf(nextOf(past));
  reply.newer->term = 9;
  reply.sender.config = reply.newer->configVersion();
  EXPECT_EQ(phaseAfter(when(asks.next, reply)), Phase::kFollower) << "this node has missed a config of its set";
}

// As any later term does that a member tells. Nothing is lost but the time of an election.
TEST(Reconfig, TheLaterTermOfANewMemberCostsTheSetAnElection) {
  constexpr int64_t kLater = 40;
  Cluster set = Cluster::running(kConfig);
  set.add("d:1");
  set.kill("d:1");
  set["d:1"].now.document.lastVote = {kLater, "d:1"};
  set.restart("d:1");
  const NodeName primary = set.primary();
  ReplicaSetConfig next = withMember(nextOf(set.config(primary)), "d:1");
  next.members.back().priority = 0;
  set.command(primary, Reconfig{next});
  set.run(Secs(10));
  ASSERT_NE(set.primary(), "");
  EXPECT_GT(set.memory(set.primary()).term, kLater);
  EXPECT_TRUE(set.config(set.primary()).has("d:1"));
  EXPECT_EQ(primaryOf(set["d:1"].now), set.primary());
}

TEST(Reconfig, ThatAsksEndsWithTheLeadership) {
  const Outcome asks = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{withMember(nextOf(), "d:1")});
  Snapshot<Topology> other = memberOf(kConfig, "b:1", Phase::kPrimary, 4);
  const Outcome down = when(asks.next, shown(other, "a:1"));
  EXPECT_EQ(did<Conclude>(down)->outcome.code(), ErrorCode::kPrimarySteppedDown);
  EXPECT_TRUE(down.next.memory.awaited.empty());
}

}  // namespace
}  // namespace troupe::replication::test
