#include "actors/machines/primary_only_service.hpp"

#include <gtest/gtest.h>

#include "test/unit/actors/machines/errand_node.hpp"

namespace troupe::machines::test {
namespace {

const ServiceLimits kReplicated{.term = [] { return std::nullopt; }};

bson::Document asking(const std::string& id) {
  return bson::doc("_id", id, "version", 1, "sum", int64_t{0}, "phase", "asking");
}
std::vector<bson::Document> tenDocuments() {
  std::vector<bson::Document> found;
  for (int i = 0; i < 10; ++i) found.push_back(asking("z" + std::to_string(i)));
  return found;
}

probe::Question control(ErrandNode& n, const char* child, schema::ControlChild::Action action) {
  return n.kit.ask(n.service, build<schema::ControlChild>([&](auto wanted) {
                     wanted.setChild(child);
                     wanted.setAction(action);
                   }));
}
using ChildAction = schema::ControlChild::Action;
using schema::ChildControlled;

TEST(PrimaryOnlyService, JoinsAnIdenticalRequestAndRefusesAnother) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  auto first = n.begin("a"), same = n.begin("a");
  first.expectAnswer<MachineStarted>();
  same.expectAnswer<MachineStarted>();
  n.peer.expect<Prepare>();
  n.peer.expectNone();  // one instance runs for both
  n.kit.ask(n.service, StartMachine<Errand>{{.id = "a", .sum = 7}})
      .expectFailure(ErrorCode::kConflictingOperationInProgress);
}

TEST(PrimaryOnlyService, RefusesWhatGetsIntoTheWayOfARunningInstance) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a1");
  n.begin("a2").expectFailure(ErrorCode::kConflictingOperationInProgress);
  n.begin("b1").expectAnswer<MachineStarted>();
}

TEST(PrimaryOnlyService, RunsNothingWhileItIsNotPrimary) {
  ErrandNode n({asking("a")}, kReplicated);
  n.peer.expectNone();
  n.begin("b").expectFailure(ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(n.kit.ask(n.service, BecomePrimary{3}).expectAnswer<ServiceRebuilt>()->instances, 1u);
  EXPECT_EQ(n.peer.expect<Prepare>()->id, "a");
}

/// It was parked, or failed, while the role changed: what it would have been told went to nobody.
TEST(PrimaryOnlyService, StartsInTheTermThatItsNodeHasBegunMeanwhile) {
  ErrandNode n({asking("a")}, {.term = [] { return std::optional<int64_t>(4); }});
  EXPECT_EQ(n.peer.expect<Prepare>()->id, "a");
  EXPECT_EQ(n.store.term(), 4);
  EXPECT_EQ(n.kit.ask(n.service, BecomePrimary{4}).expectAnswer<ServiceRebuilt>()->instances, 1u) << "it is that";
}

TEST(PrimaryOnlyService, HasNothingToInterruptWhileItStandsBy) {
  ErrandNode n({asking("a")}, kReplicated);
  n.kit.ask(n.service, StepDown{}).expectAnswer<ServiceInterrupted>();
  EXPECT_EQ(n.kit.phase("/errands"), "standing by");
}

TEST(PrimaryOnlyService, InterruptsItsInstancesOnStepDownAndRebuildsThemOnStepUp) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  auto waiter = n.begin("a", true);
  n.peer.expect<Prepare>();
  n.kit.ask(n.service, StepDown{}).expectAnswer<ServiceInterrupted>();
  waiter.expectFailure(ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_EQ(n.phaseOf("a"), "none");
  EXPECT_EQ(n.store.documents().size(), 1u) << "its document stays";
  n.kit.ask(n.service, BecomePrimary{4}).expectAnswer<ServiceRebuilt>();
  EXPECT_EQ(n.phaseOf("a"), "asking");
  n.peer.expect<Prepare>();
}

TEST(PrimaryOnlyService, HoldsNewRequestsWhileItRebuilds) {
  ErrandNode n(tenDocuments(), {.batch = 2}, 1ms);
  auto started = n.begin("a");
  EXPECT_FALSE(started.isAnswered()) << "still rebuilding";
  started.expectAnswer<MachineStarted>();
}

TEST(PrimaryOnlyService, AStepDownInTheMiddleOfARebuildLeavesNothingRunning) {
  ErrandNode n(tenDocuments(), {.batch = 2}, 1ms);
  n.kit.advance(3ms);
  n.kit.ask(n.service, StepDown{}).expectAnswer<ServiceInterrupted>();
  n.kit.advance(1s);
  EXPECT_EQ(n.kit.node().registry().rows({.under = "/errands"}).size(), 1u);
  n.peer.expect<Prepare>();
  EXPECT_EQ(n.store.documents().size(), 10u);
  EXPECT_EQ(n.store.documents().at("z9")["phase"].toStringOr(), "asking") << "its instance had not begun";
}

TEST(PrimaryOnlyService, SetsADocumentAsideThatItCannotRead) {
  ErrandNode n({asking("good"), bson::doc("_id", "newer", "version", 99, "phase", "asking"),
                bson::doc("_id", "torn", "version", 1, "sum", int64_t{0}, "phase", "flying")});
  EXPECT_EQ(n.phaseOf("good"), "telling");
  EXPECT_EQ(n.phaseOf("newer"), "parked");
  EXPECT_EQ(n.phaseOf("torn"), "parked");
  const std::string error = n.kit.node().registry().row("/errands/torn")->lastError;
  EXPECT_NE(error.find("phase"), std::string::npos) << error;

  n.store.set(asking("torn"));
  control(n, "torn", ChildAction::RESUME).expectAnswer<ChildControlled>();
  EXPECT_EQ(n.phaseOf("torn"), "telling") << "mended and resumed";
}

TEST(PrimaryOnlyService, BuildsAnInstanceThatFailedAgainAndSetsItAsideWhenThatDoesNotHelp) {
  ErrandNode n;
  n.measureFails.assign(6, Status(ErrorCode::kBadValue, "broken for good"));
  n.begin("a");
  EXPECT_EQ(n.phaseOf("a"), "pausing");
  n.kit.expectPhase("/errands/a", "parked", 30s);
  EXPECT_EQ(n.measured.size(), 6u) << "the first life and five more";
  control(n, "a", ChildAction::RESUME).expectAnswer<ChildControlled>();
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(PrimaryOnlyService, RestartsAndParksAnInstanceForAnOperator) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  n.peer.expect<Prepare>();
  control(n, "a", ChildAction::RESTART).expectAnswer<ChildControlled>();
  n.peer.expect<Prepare>();
  control(n, "a", ChildAction::PARK).expectAnswer<ChildControlled>();
  EXPECT_EQ(n.phaseOf("a"), "parked");
  control(n, "nobody", ChildAction::RESTART).expectFailure(ErrorCode::kNoSuchKey);
}

TEST(PrimaryOnlyService, NobodyResumesAnInstanceDuringAStepDown) {
  std::vector<bson::Document> found = tenDocuments();
  found.push_back(bson::doc("_id", "torn", "version", 1, "sum", int64_t{0}, "phase", "flying"));
  ErrandNode n(found, {.batch = 1});
  ASSERT_EQ(n.phaseOf("torn"), "parked");
  n.store.set(asking("torn"));
  n.kit.node().tell(n.service, local(StepDown{}));
  control(n, "torn", ChildAction::RESUME).expectFailure(ErrorCode::kNotWritablePrimary);
  n.kit.advance(1s);
  EXPECT_EQ(n.kit.phase("/errands"), "standing by");
  EXPECT_EQ(n.phaseOf("torn"), "none") << "nobody would end its host";
}

TEST(PrimaryOnlyService, EndsAnInstanceWhoseDocumentWasRemoved) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  auto waiter = n.begin("a", true);
  n.store.erase("a");
  n.kit.tell(n.service, DocumentRemoved{bson::doc("_id", "a")});
  waiter.expectFailure(ErrorCode::kInterrupted);
  EXPECT_EQ(n.phaseOf("a"), "none");
}

TEST(PrimaryOnlyService, ItsInstancesGoWithItWhenItFailsAndTheNextOneBuildsThemAgain) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  Node& node = n.kit.node();
  node.kill(n.service, Status(ErrorCode::kInternalError, "broken"));
  // At once, as a supervisor without a pause would: the old instance has not ended yet.
  while (node.postOffice().exists(n.service)) node.step();
  n.kit.service<Errand>("/errands");
  EXPECT_EQ(n.phaseOf("a"), "asking");
  n.peer.expect<Prepare>();
  n.peer.expect<Prepare>();
  n.peer.expectNone();  // one host after the other
  EXPECT_EQ(node.registry().rows({.under = "/errands"}).size(), 2u);
}

/// A host that the last life of the service has started, and watched, and left behind.
class LeftHost final : public Actor {
 public:
  Behaviour behaviour() override { return {}; }
};

TEST(PrimaryOnlyService, HearsOnceOfTheEndOfAHostThatItsLastLifeHasLeftBehind) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  Node& node = n.kit.node();
  node.spawn("/errands/a", std::make_unique<LeftHost>(), SpawnOptions{.parent = n.service, .watched = true});
  n.kit.run();
  node.kill(n.service, Status(ErrorCode::kInternalError, "broken"));
  while (node.postOffice().exists(n.service)) node.step();
  ASSERT_TRUE(node.postOffice().exists(n.kit.address("/errands/a")));
  n.store.set(asking("a"));
  n.kit.service<Errand>("/errands");
  EXPECT_EQ(n.phaseOf("a"), "asking") << "the host of the document lives";
  EXPECT_EQ(node.registry().row("/errands/a")->restarts, 0);
}

TEST(PrimaryOnlyService, SaysThatThereIsNoSuchInstance) {
  ErrandNode n;
  n.kit.ask(n.service, Nudge{"nobody"}).expectFailure(ErrorCode::kNoSuchKey);
}

}  // namespace
}  // namespace troupe::machines::test
