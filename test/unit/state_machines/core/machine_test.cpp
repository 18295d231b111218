#include "state_machines/core/machine.hpp"

#include <gtest/gtest.h>

#include "test/unit/state_machines/core/lease_handoff.hpp"

namespace troupe::machines::test {
namespace {

using Phase = LeaseHandoff::Phase;

Snapshot<LeaseHandoff> in(Phase phase) { return {{.id = "L", .from = "a", .to = "b", .phase = phase}, {}}; }

TEST(Machine, GoesToTheNextPhaseAndAsksForItsDurabilityBeforeItsEffects) {
  const auto out = advance(in(Phase::kOffering), LeaseHandoff::Event(Accepted{}));
  EXPECT_EQ(phaseOf(out.next), Phase::kDraining);
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.durability, Durability::kMajority);
  ASSERT_EQ(out.effects.size(), 1u);
  const auto& asked = std::get<Ask<LeaseHandoff>>(out.effects[0]);
  EXPECT_EQ(asked.to, "a");
  EXPECT_EQ(std::get<Drain>(asked.message).lease, "L");
}

TEST(Machine, IgnoresAnEventThatMeansNothingInItsPhase) {
  const auto out = advance(in(Phase::kOffering), LeaseHandoff::Event(Drained{}));
  EXPECT_EQ(out.row, nullptr);
  EXPECT_FALSE(out.persist);
  EXPECT_EQ(phaseOf(out.next), Phase::kOffering);
  EXPECT_TRUE(out.effects.empty());
}

TEST(Machine, FinishesWithTheOutcomeForThoseWhoWait) {
  const auto out = advance(in(Phase::kOffering), LeaseHandoff::Event(Declined{"b is full"}));
  ASSERT_TRUE(out.finished.has_value());
  EXPECT_EQ(out.finished->code(), ErrorCode::kIllegalOperation);
  EXPECT_TRUE(out.persist) << "its document has to go";
}

TEST(Machine, ResumesWithTheEffectsOfItsPhaseAndPersistsNothing) {
  const auto out = resumed<LeaseHandoff>(in(Phase::kDraining).document);
  EXPECT_FALSE(out.persist);
  ASSERT_EQ(out.effects.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Ask<LeaseHandoff>>(out.effects[0]));
}

struct Go {};
/// Has its phase in memory, and goes where its table doesn't say.
struct Liar : Machine<Liar> {
  static constexpr const char* kName = "liar";
  enum class Phase { kHere, kThere };
  static constexpr auto kPhases = phases<Phase>({{Phase::kHere, "here", ""}, {Phase::kThere, "there", ""}});
  struct Document {
    int revision = 0;
  };
  struct Memory {
    Phase phase = Phase::kHere;
  };
  using Event = std::variant<Go>;
  static const Transitions<Liar>& transitions() {
    static const Transitions<Liar> table{
        anywhere<Go>({}, [](const Document&, const Go&) { return to(Phase::kThere); })};
    return table;
  }
  static Step<Liar> resume(const Document&) { return stay(); }
  static std::vector<Invariant> invariants() { return {}; }
};

TEST(Machine, MayNotGoWhereItsTableDoesNotSay) {
  EXPECT_THROW(advance(Snapshot<Liar>{}, Liar::Event(Go{})), BrokenMachine);
}

TEST(Machine, WithItsPhaseInMemoryPersistsOnlyChangedDocuments) {
  static_assert(!kPhaseIsPersisted<Liar>);
  const auto out = detail::applied<Liar>({}, Liar::to(Liar::Phase::kThere));
  EXPECT_FALSE(out.persist);
  EXPECT_EQ(phaseOf(out.next), Liar::Phase::kThere);
  EXPECT_TRUE(detail::applied<Liar>({}, Liar::stay().with({7})).persist);
}

TEST(Facts, RefuseASecondValueForASubject) {
  Facts facts;
  EXPECT_TRUE(facts.state("leader of term 3", "n1"));
  EXPECT_TRUE(facts.state("leader of term 3", "n1"));
  EXPECT_EQ(facts.contradiction(), "");
  EXPECT_FALSE(facts.state("leader of term 3", "n2"));
  EXPECT_EQ(facts.contradiction(), "leader of term 3 was n1 and is now n2");
}

TEST(World, ShowsEachMachineOfATypeToTheInvariants) {
  const auto first = in(Phase::kDraining), second = in(Phase::kGranted);
  const Snapshot<Liar> other;
  World world;
  world.add<LeaseHandoff>("a", true, &first);
  world.add<LeaseHandoff>("b", false, &second);
  world.add<Liar>("a", true, &other);
  auto any = [](const auto&) { return true; };
  EXPECT_EQ(world.count<LeaseHandoff>(any), 1) << "b is not alive";
  EXPECT_EQ(world.count<Liar>(any), 1);
  int seen = 0;
  world.each<LeaseHandoff>([&](const NodeName&, bool, const auto&) { ++seen; });
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace troupe::machines::test

TROUPE_DESCRIBE(troupe::machines::test::Go, 0)
