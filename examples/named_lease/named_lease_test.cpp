#include "named_lease.hpp"

#include <gtest/gtest.h>

#include "test/model/crash_matrix.hpp"
#include "test/model/explorer.hpp"
#include "test/model/mutation.hpp"
#include "test/model/script.hpp"
#include "test/probe/machine_kit.hpp"
#include "test/probe/test_kit.hpp"

namespace named_lease {
namespace {
using namespace troupe::model;
using namespace troupe::probe;

const Lease::Document kHeldByA{"L", "a", "a", 1};

// What the machine decides.

TEST(Lease, IsTakenFromItsHolderBeforeTheNextOneGetsIt) {
  given<Lease>(kHeldByA)
      .when(Move{"L", "b"})
      .then(becomes(Lease::Document{"L", "a", "b", 2, Lease::Phase::kRevoking}, Durability::kMajority), replies(Done{}),
            asks("a", Revoke{"L", 2}))
      .when(Done{})
      .then(movesTo(Lease::Phase::kGranting, Durability::kMajority), asks("b", Grant{"L", 2}))
      .when(Done{})
      .then(becomes(Lease::Document{"L", "b", "b", 2}, Durability::kMajority));
}

TEST(Lease, GoesToOneNodeAtATime) {
  const Lease::Document moving{"L", "a", "b", 2, Lease::Phase::kRevoking};
  given<Lease>(moving).when(Move{"L", "b"}).then(replies(Done{}));
  given<Lease>(moving).when(Move{"L", "c"}).then(refuses(
      {troupe::ErrorCode::kConflictingOperationInProgress, "it moves to b"}));
}

TEST(Holder, HeedsNothingOlderThanItKnows) {
  const Holder::Document holding{"L", 3, Holder::Phase::kHolding};
  given<Holder>(holding).when(Revoke{"L", 2}).then(replies(Done{}));
  given<Holder>(holding).when(Revoke{"L", 4}).then(
      becomes(Holder::Document{"L", 4}, Durability::kMajority), replies(Done{}));
}

// The actors around it: the test plays the nodes a and b.

TEST(Leases, AskTheHolderAgainAfterACrash) {
  TestKit kit("c");
  kit.store("/node/services/leases").set(toBson(kHeldByA));
  const auto leases = kit.service<Lease>("/node/services/leases");
  Probe a = kit.probe("a", kHolders), b = kit.probe("b", kHolders);
  kit.ask(leases, Move{"L", "b"}).expectAnswer<Done>();
  EXPECT_EQ(a.expect<Revoke>()->epoch, 2);
  kit.crash();
  kit.restart();
  a.expect<Revoke>().reply(Done{});
  b.expect<Grant>().reply(Done{});
  kit.expectPhase("/node/services/leases/L", "held");
  EXPECT_EQ(kit.store("/node/services/leases").documents().at("L")["holder"].toStringOr(), "b");
}

TEST(Leases, SayThatALeaseIsOnItsWay) {
  TestKit kit("c");
  const auto leases = kit.service<Lease>("/node/services/leases");
  kit.ask(leases, Move{"L", "b"}).expectAnswer<Done>();
  kit.ask(leases, Move{"L", "a"}).expectFailure(troupe::ErrorCode::kConflictingOperationInProgress);
}

// All that may happen: c moves the lease from a to b, and perhaps back.

Model leases() {
  Model model;
  model.machine<Lease>("c", {"L", "a", "b", 2, Lease::Phase::kRevoking});
  model.machine<Holder>("a", {"L", 1, Holder::Phase::kHolding});
  model.machine<Holder>("b", {"L"});
  model.goal("the lease is held where its document says", [](const World& world) {
    std::string wanted, holding;
    world.each<Lease>([&](auto&, bool, auto& lease) {
      if (phaseOf(lease) == Lease::Phase::kHeld) wanted = lease.document.holder;
    });
    world.each<Holder>([&](auto& node, bool, auto& holder) {
      if (phaseOf(holder) == Holder::Phase::kHolding) holding = node;
    });
    return !wanted.empty() && wanted == holding;
  });
  return model;
}

TEST(NamedLease, HasNeverTwoHoldersWhateverIsLostDoubledOrCrashes) {
  Model model = leases();
  model.client<Lease>("c", Move{"L", "a"});
  model.faults = {.crashes = 1, .losses = 1, .duplications = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

// The crash matrix: the coordinator dies at each point of each phase.

TEST(NamedLease, MovesWhereverItsCoordinatorDies) {
  const Sample sample{.type = "Lease", .make = leases, .node = "c", .outcome = {}, .without = {{"held", "it is over"}}};
  const CrashMatrix matrix = crashMatrix(sample);
  EXPECT_TRUE(matrix.phasesWithoutCell.empty()) << matrix.text();
  for (const auto& cell : matrix.cells) EXPECT_TRUE(cell.isRight()) << matrix.text();
}

// A mutant: would the invariant notice a bug?

TEST(NamedLease, AHolderThatGoesOnAfterItSaidItHadStoppedIsNoticed) {
  const auto bug = Mutation<Holder>::on<Revoke>(
      [](const auto&, const auto&, const Revoke&) { return Holder::stay().then(Holder::reply(Done{})); });
  const Report report = check(leases());
  EXPECT_EQ(report.broken, "two nodes hold one lease") << report;
}

// A script: what a newcomer reads to learn the protocol.

constexpr const char* kScript = R"(model leases
start
  c         : revoking, id=L holder=a next=b epoch=2
  a         : holding, id=L epoch=1
  b         : idle, id=L epoch=0
lose c -> a Revoke
ask again c -> a Revoke
deliver c -> a Revoke
  c -> a      Revoke id=L epoch=2
  a         : idle, epoch=2 (majority)
crash c
restart c
  c         : resumes revoking
settle
  c -> a      Revoke id=L epoch=2
  a -> c      Done
  c         : granting (majority)
  c -> b      Grant id=L epoch=2
  b         : holding, epoch=2 (majority)
  b -> c      Done
  c         : held, holder=b (majority)
)";

Model faultyLeases(const std::string&) {
  Model model = leases();
  model.faults = {.crashes = kAnyNumber, .losses = kAnyNumber};
  return model;
}

TEST(NamedLease, GoesLikeThis) { EXPECT_EQ(playScript(kScript, faultyLeases), kScript); }

}  // namespace
}  // namespace named_lease
