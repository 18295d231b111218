#include "actors/machines/primary_only_service.hpp"

#include <gtest/gtest.h>

#include "test/unit/actors/machines/errand_node.hpp"

namespace troupe::machines::test {
namespace {

constexpr ServiceLimits kReplicated{.primaryFromStart = false};

bson::Document asking(const std::string& id) {
  return bson::doc("_id", id, "version", 1, "sum", int64_t{0}, "phase", "asking");
}

Status control(ErrandNode& n, const char* child, schema::ControlChild::Action action) {
  const auto asked = n.ask(n.service, build<schema::ControlChild>([&](auto wanted) {
    wanted.setChild(child);
    wanted.setAction(action);
  }));
  return asked->answer ? asked->answer->status() : Status(ErrorCode::kInternalError, "no answer");
}

TEST(PrimaryOnlyService, JoinsAnIdenticalRequestAndRefusesAnother) {
  ErrandNode n;
  n.peer->answer = nullptr;
  const auto first = n.begin("a"), same = n.begin("a");
  ASSERT_TRUE(first->answer && same->answer);
  EXPECT_TRUE(first->answer->isOK());
  EXPECT_TRUE(same->answer->isOK());
  EXPECT_EQ(n.peer->asked.size(), 1u) << "one instance runs for both";
  const auto other = n.ask(n.service, local(StartMachine<Errand>{{.id = "a", .sum = 7}}));
  ASSERT_TRUE(other->answer);
  EXPECT_EQ(other->answer->status().code(), ErrorCode::kConflictingOperationInProgress);
}

TEST(PrimaryOnlyService, RefusesWhatGetsIntoTheWayOfARunningInstance) {
  ErrandNode n;
  n.peer->answer = nullptr;
  n.begin("a1");
  const auto inTheWay = n.begin("a2");
  ASSERT_TRUE(inTheWay->answer);
  EXPECT_EQ(inTheWay->answer->status().code(), ErrorCode::kConflictingOperationInProgress);
  EXPECT_TRUE(n.begin("b1")->answer->isOK());
}

TEST(PrimaryOnlyService, RunsNothingWhileItIsNotPrimary) {
  auto disk = std::make_shared<probe::MemoryStore>();
  disk->set(asking("a"));
  ErrandNode n(disk, kReplicated);
  n.node.run();
  EXPECT_TRUE(n.peer->asked.empty());
  EXPECT_EQ(n.begin("b")->answer->status().code(), ErrorCode::kNotWritablePrimary);
  const auto up = n.ask(n.service, local(BecomePrimary{3}));
  n.node.advance(10ms);
  ASSERT_TRUE(up->answer && up->answer->isOK());
  EXPECT_EQ((*up->answer)->local<ServiceRebuilt>().instances, 1u);
  EXPECT_EQ(n.peer->asked, std::vector<std::string>{"a"});
}

TEST(PrimaryOnlyService, InterruptsItsInstancesOnStepDownAndRebuildsThemOnStepUp) {
  ErrandNode n;
  n.peer->answer = nullptr;
  const auto waiter = n.begin("a", true);
  const auto down = n.ask(n.service, local(StepDown{}));
  ASSERT_TRUE(down->answer && down->answer->isOK());
  ASSERT_TRUE(waiter->answer);
  EXPECT_EQ(waiter->answer->status().code(), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_EQ(n.phaseOf("a"), "none");
  EXPECT_EQ(n.store->documents().size(), 1u) << "its document stays";
  n.ask(n.service, local(BecomePrimary{4}));
  n.node.advance(10ms);
  EXPECT_EQ(n.phaseOf("a"), "asking");
  EXPECT_EQ(n.peer->asked.size(), 2u);
}

TEST(PrimaryOnlyService, HoldsNewRequestsWhileItRebuilds) {
  auto disk = std::make_shared<probe::MemoryStore>();
  for (int i = 0; i < 10; ++i) disk->set(asking("z" + std::to_string(i)));
  ErrandNode n(disk, {.loadBatch = 2});
  const auto started = n.begin("a");
  EXPECT_FALSE(started->answer) << "still rebuilding";
  n.node.advance(100ms);
  ASSERT_TRUE(started->answer);
  EXPECT_TRUE(started->answer->isOK());
}

TEST(PrimaryOnlyService, AStepDownInTheMiddleOfARebuildLeavesNothingRunning) {
  auto disk = std::make_shared<probe::MemoryStore>();
  for (int i = 0; i < 10; ++i) disk->set(asking("z" + std::to_string(i)));
  ErrandNode n(disk, {.loadBatch = 2});
  n.peer->answer = nullptr;
  n.node.step();
  n.node.run();
  n.ask(n.service, local(StepDown{}));
  n.node.advance(1s);
  EXPECT_EQ(n.node.registry().rows({.under = "/errands"}).size(), 1u);
  EXPECT_LT(n.peer->asked.size(), 10u);
}

TEST(PrimaryOnlyService, SetsADocumentAsideThatItCannotRead) {
  auto disk = std::make_shared<probe::MemoryStore>();
  disk->set(asking("good"));
  disk->set(bson::doc("_id", "newer", "version", 99, "phase", "asking"));
  disk->set(bson::doc("_id", "torn", "version", 1, "sum", int64_t{0}, "phase", "flying"));
  ErrandNode n(disk);
  n.node.run();
  EXPECT_EQ(n.phaseOf("good"), "telling");
  EXPECT_EQ(n.phaseOf("newer"), "parked");
  EXPECT_EQ(n.phaseOf("torn"), "parked");
  EXPECT_NE(n.node.registry().row("/errands/torn")->lastError.find("phase"), std::string::npos)
      << n.node.registry().row("/errands/torn")->lastError;

  disk->set(asking("torn"));
  EXPECT_TRUE(control(n, "torn", schema::ControlChild::Action::RESUME).isOK());
  EXPECT_EQ(n.phaseOf("torn"), "telling") << "mended and resumed";
}

TEST(PrimaryOnlyService, BuildsAnInstanceThatFailedAgainAndSetsItAsideWhenThatDoesNotHelp) {
  ErrandNode n;
  n.measureFails.assign(6, Status(ErrorCode::kBadValue, "broken for good"));
  n.begin("a");
  EXPECT_EQ(n.phaseOf("a"), "pausing");
  n.node.advance(30s);
  EXPECT_EQ(n.measured.size(), 6u) << "the first life and five more";
  EXPECT_EQ(n.phaseOf("a"), "parked");
  EXPECT_TRUE(control(n, "a", schema::ControlChild::Action::RESUME).isOK());
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(PrimaryOnlyService, RestartsAndParksAnInstanceForAnOperator) {
  ErrandNode n;
  n.peer->answer = nullptr;
  n.begin("a");
  EXPECT_TRUE(control(n, "a", schema::ControlChild::Action::RESTART).isOK());
  EXPECT_EQ(n.peer->asked.size(), 2u);
  EXPECT_TRUE(control(n, "a", schema::ControlChild::Action::PARK).isOK());
  EXPECT_EQ(n.phaseOf("a"), "parked");
  EXPECT_EQ(control(n, "nobody", schema::ControlChild::Action::RESTART).code(), ErrorCode::kNoSuchKey);
}

TEST(PrimaryOnlyService, EndsAnInstanceWhoseDocumentWasRemoved) {
  ErrandNode n;
  n.peer->answer = nullptr;
  const auto waiter = n.begin("a", true);
  n.store->erase("a");
  n.node.tell(n.service, local(DocumentRemoved{bson::doc("_id", "a")}));
  n.node.run();
  EXPECT_EQ(n.phaseOf("a"), "none");
  ASSERT_TRUE(waiter->answer);
  EXPECT_EQ(waiter->answer->status().code(), ErrorCode::kInterrupted);
}

TEST(PrimaryOnlyService, ItsInstancesGoWithItWhenItFailsAndTheNextOneBuildsThemAgain) {
  ErrandNode n;
  n.peer->answer = nullptr;
  n.begin("a");
  n.node.kill(n.service, Status(ErrorCode::kInternalError, "broken"));
  // At once, as a supervisor without a pause would: the old instance has not ended yet.
  while (n.node.postOffice().exists(n.service)) n.node.step();
  HostOptions<Errand> options;
  n.service = n.node.spawn<PrimaryOnlyService<Errand>>("/errands", n.store, options);
  n.node.run();
  EXPECT_EQ(n.phaseOf("a"), "asking");
  EXPECT_EQ(n.peer->asked.size(), 2u) << "by one host after the other";
  EXPECT_EQ(n.node.registry().rows({.under = "/errands"}).size(), 2u);
}

TEST(PrimaryOnlyService, SaysThatThereIsNoSuchInstance) {
  ErrandNode n;
  n.node.run();
  EXPECT_EQ(n.ask(n.service, local(Nudge{"nobody"}))->answer->status().code(), ErrorCode::kNoSuchKey);
}

}  // namespace
}  // namespace troupe::machines::test
