#include "state_machines/replication/topology.hpp"

#include <random>

#include "messaging/description/bson_archive.hpp"
#include "state_machines/core/diagram.hpp"
#include "test/unit/state_machines/core/machine_page.hpp"
#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

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
  EXPECT_EQ(facts.all(),
            (std::map<std::string, std::string>{{"leader of term 3", "a:1"}, {"vote of a:1 in term 3", "a:1"}}));
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

/// Everything that may happen to a set of five, drawn from a seed. The cluster checks invariants and facts at each
/// step.
void runWithFaults(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int below) { return static_cast<int>(random() % below); };
  const std::vector<NodeName> hosts = {"a:1", "b:1", "c:1", "d:1", "e:1"};
  ReplicaSetConfig config = configOf(hosts);
  config.members[0].priority = 2;
  if (seed % 3 == 0) config.members[4].priority = 0, config.members[4].arbiterOnly = true;
  Cluster set = Cluster::running(config);
  ASSERT_FALSE(set.primary().empty());
  set.fate = [&] {
    std::vector<Millis> arrivals;
    for (int copies = draw(10) == 0 ? 0 : draw(10) == 0 ? 2 : 1; copies > 0; --copies)
      arrivals.push_back(Millis(draw(10) == 0 ? draw(3000) : 1 + draw(20)));
    return arrivals;
  };
  for (int i = 0; i < 60; ++i) {
    const NodeName& host = hosts[draw(5)];
    switch (draw(9)) {
      case 0: set[host].alive ? set.kill(host) : set.restart(host); break;
      case 1: set.isolate(host); break;
      case 2: set.cut(host, hosts[draw(5)]); break;
      case 3: set.heal(); break;
      case 4:
        set.command(host, StepDown{.force = draw(2) == 0, .stepDownPeriod = Secs(3), .catchUpPeriod = Secs(1)});
        break;
      case 5: set.command(host, StepUp{draw(2) == 0}); break;
      case 6: set.command(host, Freeze{Secs(draw(3))}); break;
      case 7: {
        ReplicaSetConfig next = set.config(host);
        ++next.version;
        auto& member = next.members[1 + draw(3)];
        member.votes = 1 - member.votes;
        member.priority = member.votes;
        set.command(host, Reconfig{next});
        break;
      }
      default:
        if (!set.primary().empty())
          set.report(set.primary(), AppliedAdvanced{{set.term(), {static_cast<uint32_t>(i), 0}}});
    }
    set.run(Millis(draw(1500)));
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << i;
  }
  set.heal();
  set.fate = [] { return std::vector{Millis(1)}; };
  for (const NodeName& host : hosts)
    if (!set[host].alive) set.restart(host);
  set.run(Secs(40));
  EXPECT_FALSE(set.primary().empty()) << "seed " << seed;
  for (const NodeName& host : hosts) EXPECT_EQ(primaryOf(set[host].now), set.primary()) << host << ", seed " << seed;
}

TEST(Topology, KeepsItsPromisesUnderFaultsAndHasAPrimaryAfterThem) {  // ELE-025
  for (unsigned seed = 1; seed <= 30 && !HasFailure(); ++seed) runWithFaults(seed);
}

TEST(Topology, ItsPageShowsTheMachineAsItIs) {
  machines::test::expectPageShows<Topology>("docs/protocols/elections.md");
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
  const Snapshot<Topology> steppingDown = when(memberOf(kConfig, "a:1", Phase::kPrimary), StepDown{}).next;
  const Outcome out = when(steppingDown, WritesEnded{steppingDown.memory.term, {}});
  ASSERT_FALSE(out.effects.empty());
  const auto* first = std::get_if<machines::Do<Topology>>(&out.effects.front());
  ASSERT_TRUE(first && std::holds_alternative<AnnounceRole>(first->action));
  EXPECT_EQ(std::get<AnnounceRole>(first->action).state, MemberState::kSecondary);
}

}  // namespace
}  // namespace troupe::replication::test
