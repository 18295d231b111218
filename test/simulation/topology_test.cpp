#include "actors/replication/topology_actor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/simulation/topology_fixture.hpp"

namespace troupe::replication {
namespace {

TEST_F(TopologyActorTest, ThreeMembersElectAPrimaryAndKeepIt) {
  const std::string primary = elect();
  ASSERT_NE(primary, "") << cluster.trace().text();
  const int64_t term = members.view(primary)->topology.memory.term;
  cluster.run(60s);  // six election timeouts: only signs of the primary keep the others from standing
  for (const auto& name : kNames) {
    EXPECT_EQ(members.view(name)->primary(), primary);
    EXPECT_EQ(members.view(name)->topology.memory.term, term);
  }
  EXPECT_EQ(members.primaries(), std::vector<std::string>{primary});
}

TEST_F(TopologyActorTest, TheOthersElectANewPrimaryWhenItIsKilled) {
  const std::string first = elect();
  ASSERT_NE(first, "");
  const int64_t term = members.view(first)->topology.memory.term;
  cluster.kill(first);
  ASSERT_TRUE(cluster.runUntil([&] { return members.primaries().size() == 1; }, 60s)) << cluster.trace().text();
  EXPECT_GT(members.view(members.primaries()[0])->topology.memory.term, term);
  cluster.restart(first);
  cluster.run(10s);
  EXPECT_EQ(members.view(first)->state(), MemberState::kSecondary) << cluster.trace().text();
  EXPECT_EQ(members.view(first)->primary(), members.primaries()[0]);
}

TEST_F(TopologyActorTest, WhoIsRefusedAConnectionByThePrimaryDoesNotWaitForTheElectionTimeout) {
  const std::string first = elect();
  ASSERT_NE(first, "");
  cluster.run(5s);
  cluster.kill(first);
  EXPECT_TRUE(cluster.runUntil([&] { return members.primaries().size() == 1; }, 3s))
      << "of an election timeout of 10 s\n"
      << cluster.trace().text();
}

TEST_F(TopologyActorTest, AnActorThatFailsIsNoPrimaryUntilItIsBack) {
  const std::string first = elect();
  ASSERT_NE(first, "");
  Node& node = cluster.life(first).node();
  node.kill(node.address(kTopologyPath), Status(ErrorCode::kInternalError, "broken"));
  cluster.run(1ms);
  EXPECT_FALSE(members.view(first)->isWritable());
  EXPECT_EQ(members.view(first)->state(), MemberState::kStartup);
  EXPECT_TRUE(members.view(first)->config().has_value());
}

TEST_F(TopologyActorTest, AVoteSurvivesTheCrashOfTheVoter) {
  const std::string primary = elect();
  ASSERT_NE(primary, "");
  cluster.run(1s);
  const auto voteOf = [&](const std::string& name) { return members.view(name)->topology.document.lastVote; };
  const auto voter = std::ranges::find_if(
      kNames, [&](const std::string& name) { return name != primary && voteOf(name).candidate == primary; });
  ASSERT_NE(voter, kNames.end()) << "nobody has voted for the primary but itself";
  const LastVote vote = voteOf(*voter);
  EXPECT_EQ(vote.term, members.view(primary)->topology.memory.term);
  cluster.kill(*voter);
  cluster.restart(*voter);
  cluster.run(100ms);
  EXPECT_EQ(voteOf(*voter), vote);
  EXPECT_TRUE(members.view(*voter)->config().has_value());
}

TEST_F(TopologyActorTest, StepsDownWithAHandoffFarBelowTheElectionTimeout) {
  const std::string first = elect();
  ASSERT_NE(first, "");
  cluster.run(5s);
  const auto answer = ask(first, StepDown{});
  ASSERT_TRUE(cluster.runUntil([&] { return members.primaries().size() == 1 && members.primaries()[0] != first; }, 2s))
      << cluster.trace().text();
  cluster.run(1s);
  ASSERT_TRUE(*answer);
  EXPECT_TRUE((*answer)->isOK()) << (*answer)->status().toString();
}

TEST_F(TopologyActorTest, HelloAndStatusTellWhatTheSetKnows) {
  const std::string primary = elect();
  ASSERT_NE(primary, "");
  cluster.run(5s);
  bson::Builder hello;
  appendHello(hello, members.membership("n3:1"), *members.view("n3:1"), {}, EntryDates(), true);
  const bson::Document shown = hello.finish();
  EXPECT_EQ(shown["setName"].toStringOr(), "rs");
  EXPECT_EQ(shown["primary"].toStringOr(), primary);
  EXPECT_EQ(shown["me"].toStringOr(), "n3:1");
  EXPECT_EQ(bson::View(shown["hosts"].asArray()).count(), 3);
  bson::Builder status;
  appendStatus(status, members.membership("n3:1"), *members.view("n3:1"), {}, EntryDates(),
               cluster.life("n3:1").time().wallNow(), 5);
  const bson::Document told = status.finish();
  int healthy = 0;
  const bson::View other = told["members"].asArray()["0"].asDocument();
  EXPECT_GT(other["uptime"].toInt64(), 0) << "of n1, as n3 has known it";
  for (const auto& member : told["members"].asArray()) healthy += member.asDocument()["health"].toInt64() == 1 ? 1 : 0;
  EXPECT_EQ(healthy, 3);
}

TEST(ElectionId, GrowsWithTheTerm) {
  EXPECT_EQ(electionIdOf(1).toString(), "7fffffff0000000000000001");
  EXPECT_LT(electionIdOf(255).toString(), electionIdOf(256).toString());
}

}  // namespace
}  // namespace troupe::replication
