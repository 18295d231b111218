#include "state_machines/replication/topology.hpp"

#include "state_machines/core/diagram.hpp"
#include "state_machines/description/bson_archive.hpp"
#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

const ReplicaSetConfig kConfig = configOf(kThree);

/// Names of the invariants that a world of these machines breaks.
std::vector<std::string> broken(const std::vector<Snapshot<Topology>>& nodes) {
  machines::World world;
  for (const auto& node : nodes) world.add<Topology>(node.document.self, true, &node);
  std::vector<std::string> names;
  for (const auto& invariant : Topology::invariants())
    if (invariant.broken(world)) names.push_back(invariant.name);
  return names;
}
using Names = std::vector<std::string>;

TEST(Topology, AnInitiatedSetElectsOnePrimary) {
  Cluster set = Cluster::running(kConfig);
  ASSERT_FALSE(set.primary().empty());
  EXPECT_EQ(set.term(), 1);
  for (const NodeName& other : set.others()) {
    EXPECT_EQ(set.phase(other), Phase::kFollower);
    EXPECT_EQ(primaryOf(set[other].now), set.primary());
    EXPECT_EQ(stateOf(set[other].now), MemberState::kSecondary);
  }
}

TEST(Topology, AWorldInOrderBreaksNoInvariant) {
  Snapshot<Topology> leader = memberOf(kConfig, "a:1", Phase::kCatchingUp), voter = memberOf(kConfig, "b:1");
  voter.document.lastVote = {3, "a:1"};
  EXPECT_EQ(broken({leader, voter, memberOf(kConfig, "c:1")}), Names{});
}

TEST(Topology, HasNeverTwoPrimariesInATerm) {  // ELE-025
  const auto a = memberOf(kConfig, "a:1", Phase::kPrimary), b = memberOf(kConfig, "b:1", Phase::kDraining);
  EXPECT_EQ(broken({a, b}), Names{"two primaries in one term"});
  EXPECT_EQ(broken({a, memberOf(kConfig, "b:1", Phase::kPrimary, 4)}), Names{}) << "of two terms, for a while";
}

TEST(Topology, HasNeverAPrimaryThatNoMajorityVotedFor) {
  const auto leader = memberOf(kConfig, "a:1", Phase::kCatchingUp);
  Snapshot<Topology> voter = memberOf(kConfig, "b:1");
  EXPECT_EQ(broken({leader, voter, memberOf(kConfig, "c:1")}), Names{"a primary that no majority has voted for"});
  voter.memory.term = 5;
  voter.document.lastVote = {5, "c:1"};
  EXPECT_EQ(broken({leader, voter, memberOf(kConfig, "c:1")}), Names{}) << "it may have, before it voted again";
}

TEST(Topology, OtherThingsThatMustNeverBe) {
  Snapshot<Topology> node = memberOf(kConfig, "a:1");
  node.document.lastVote = {8, "b:1"};
  EXPECT_EQ(broken({node}), Names{"a node in a term before its own vote"});
  EXPECT_EQ(broken({memberOf(kConfig, "a:1", Phase::kCandidate)}), Names{"a candidate that has not voted for itself"});
  ReplicaSetConfig config = kConfig;
  config.members[0].priority = 0;
  EXPECT_EQ(broken({memberOf(config, "a:1", Phase::kPrimary)}), Names{"a primary that may not be one"});
}

TEST(Topology, StatesWhoLedAndWhoVotedForWhom) {
  machines::Facts facts;
  Topology::facts("a:1", memberOf(kConfig, "a:1", Phase::kPrimary), facts);
  EXPECT_EQ(facts.all(), (std::map<std::string, std::string>{{"leader of term 3", "a:1"}, {"vote of a:1 in term 3", "a:1"}}));
  Topology::facts("b:1", memberOf(kConfig, "b:1", Phase::kDraining), facts);
  EXPECT_EQ(facts.contradiction(), "leader of term 3 was a:1 and is now b:1");
}

TEST(Topology, ItsDocumentIsReadableAndComesBackTheSame) {
  Snapshot<Topology> now = memberOf(kConfig, "a:1", Phase::kPrimary);
  now.document.config->members[1].tags = {{"dc", "east"}};
  now.document.config->settings.replicaSetId = bson::ObjectId{};
  const bson::Document written = machines::toBson(now.document);
  EXPECT_EQ(written.view().at("lastVote.candidate").asString(), "a:1");
  EXPECT_EQ(written.view().at("config.members.1.tags.dc").asString(), "east");
  const auto loaded = machines::fromBson<Topology::Document>(written);
  ASSERT_TRUE(loaded.isOK()) << loaded.status().toString();
  EXPECT_EQ(*loaded, now.document);
}

TEST(Topology, EveryPhaseIsReachedByItsTable) {
  const auto outline = machines::outlineOf<Topology>();
  for (const auto& phase : outline.phases) {
    if (std::string(phase.name) == "startup") continue;
    bool reached = false;
    for (const auto& row : outline.rows)
      for (const char* target : row.targets) reached |= target && std::string(target) == phase.name;
    EXPECT_TRUE(reached) << phase.name;
  }
}

TEST(Topology, AnnouncesARoleBeforeItDoesAnythingElse) {
  const Outcome out = when(memberOf(kConfig, "a:1", Phase::kPrimary), StepDown{});
  ASSERT_FALSE(out.effects.empty());
  const auto* first = std::get_if<machines::Do<Topology>>(&out.effects.front());
  ASSERT_TRUE(first && std::holds_alternative<AnnounceRole>(first->action));
  EXPECT_EQ(std::get<AnnounceRole>(first->action).state, MemberState::kSecondary);
}

}  // namespace
}  // namespace troupe::replication::test
