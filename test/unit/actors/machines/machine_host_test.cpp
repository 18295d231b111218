#include "actors/machines/machine_host.hpp"

#include <gtest/gtest.h>

#include "test/unit/actors/machines/errand_node.hpp"

namespace troupe::machines::test {
namespace {

TEST(MachineHost, WritesTheDocumentBeforeItsEffectsAreSeen) {
  ErrandNode n;
  n.node.run();
  n.store->hold();
  const auto started = n.begin("a");
  EXPECT_EQ(n.store->waitingWrites(), 1u);
  EXPECT_TRUE(n.peer->asked.empty()) << "nothing is done for a document that is not safe";
  EXPECT_FALSE(started->answer);
  n.store->release();
  n.node.run();
  EXPECT_EQ(n.peer->asked, std::vector<std::string>{"a"});
  ASSERT_TRUE(started->answer && started->answer->isOK());
}

TEST(MachineHost, GoesThroughItsPhasesAndRemovesItsDocumentAtTheEnd) {
  ErrandNode n;
  const auto ended = n.begin("a", true);
  EXPECT_EQ(n.phaseOf("a"), "telling");
  EXPECT_EQ(n.peer->told, std::vector<std::string>{"a"});
  EXPECT_EQ(n.store->documents().at("a")["phase"].toStringOr(), "telling");
  EXPECT_FALSE(ended->answer);
  n.ask(n.service, local(Nudge{"a", 1}));
  ASSERT_TRUE(ended->answer);
  EXPECT_TRUE(ended->answer->isOK()) << ended->answer->status().toString();
  EXPECT_TRUE(n.store->documents().empty());
  EXPECT_EQ(n.phaseOf("a"), "none");
}

TEST(MachineHost, AnswersTheAskerOfAnEventWhenTheDocumentIsSafe) {
  ErrandNode n;
  n.peer->answer = nullptr;
  n.begin("a");
  n.store->hold();
  const auto first = n.ask(n.service, local(Nudge{"a", 2}));
  const auto second = n.ask(n.service, local(Nudge{"a", 3}));
  EXPECT_FALSE(first->answer);
  n.store->release();
  n.node.run();
  ASSERT_TRUE(first->answer && second->answer);
  EXPECT_EQ((*first->answer)->local<Prepare>().id, "sum 2");
  EXPECT_EQ((*second->answer)->local<Prepare>().id, "sum 5") << "the second event waited for the first";
  EXPECT_EQ(n.store->documents().at("a")["sum"].toInt64(), 5);
}

TEST(MachineHost, AsksAgainUntilItIsAnswered) {
  ErrandNode n;
  int refusals = 2;
  n.peer->answer = [&](Context& c) {
    if (refusals-- > 0) c.fail({ErrorCode::kHostUnreachable, "gone"});
    else c.reply(local(Agreed{}));
  };
  n.begin("a");
  EXPECT_EQ(n.phaseOf("a"), "asking");
  n.node.advance(1s);
  EXPECT_EQ(n.peer->asked.size(), 3u);
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(MachineHost, TellsItsMachineOfARefusalOfTheReceiver) {
  ErrandNode n;
  n.peer->answer = [](Context& c) { c.fail({ErrorCode::kUnauthorized, "not you"}); };
  const auto ended = n.begin("a", true);
  ASSERT_TRUE(ended->answer);
  EXPECT_EQ(ended->answer->status().code(), ErrorCode::kUnauthorized);
  EXPECT_TRUE(n.store->documents().empty());
}

TEST(MachineHost, TriesAFailedWriteAgain) {
  ErrandNode n;
  n.node.run();
  n.store->failNext({ErrorCode::kTemporarilyUnavailable, "busy"});
  n.store->failNext({ErrorCode::kWriteConflict, "again"});
  n.begin("a");
  EXPECT_TRUE(n.peer->asked.empty());
  n.node.advance(1s);
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(MachineHost, TriesAFailedActionAgainWithPauses) {
  ErrandNode n;
  n.measureFails = {Status(ErrorCode::kTemporarilyUnavailable, "busy"), Status(ErrorCode::kNetworkTimeout, "slow")};
  n.begin("a");
  EXPECT_EQ(n.measured.size(), 1u);
  n.node.advance(1s);
  EXPECT_EQ(n.measured.size(), 3u);
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(MachineHost, FiresItsTimerUnlessItWasTakenBack) {
  ErrandNode n;
  n.measuring = true;
  const auto ended = n.begin("a", true);
  const auto other = n.begin("b");
  EXPECT_EQ(n.phaseOf("a"), "measuring");
  n.node.advance(61s);
  ASSERT_TRUE(ended->answer);
  EXPECT_EQ(ended->answer->status().code(), ErrorCode::kExceededTimeLimit);

  n.measuring = false;
  n.begin("c");
  n.node.advance(61s);
  EXPECT_EQ(n.phaseOf("c"), "telling") << "its timer was taken back";
}

TEST(MachineHost, DropsATimerThatFiredWhileATransitionTookItBack) {
  ErrandNode n;
  n.measuring = true;
  n.begin("a");
  n.store->hold();
  n.node.tell(n.node.address("/errands/a"), local(Ready{"late"}));
  n.node.run();
  n.node.advance(61s);  // TooLate fires and waits behind the write
  n.store->release();
  n.node.run();
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(MachineHost, ResumesFromItsDocumentAfterACrashOfTheNode) {
  auto disk = std::make_shared<probe::MemoryStore>();
  {
    ErrandNode n(disk);
    n.measuring = true;
    n.begin("a");
    EXPECT_EQ(n.phaseOf("a"), "measuring");
  }
  ErrandNode again(disk);
  again.node.run();
  EXPECT_EQ(again.measured, std::vector<std::string>{"x"}) << "the action of the phase is done again";
  EXPECT_TRUE(again.peer->asked.empty()) << "what an earlier phase did is not";
  EXPECT_EQ(again.phaseOf("a"), "telling");
}

TEST(MachineHost, KeepsFieldsItDoesNotKnow) {
  auto disk = std::make_shared<probe::MemoryStore>();
  disk->set(bson::doc("_id", "a", "version", 1, "sum", int64_t{1}, "phase", "telling", "fromTheFuture", "kept"));
  ErrandNode n(disk);
  n.node.run();
  n.peer->answer = nullptr;
  disk->set(bson::doc("_id", "b", "version", 1, "sum", int64_t{1}, "phase", "asking", "fromTheFuture", "kept"));
  ErrandNode m(disk);
  m.node.run();
  EXPECT_EQ(disk->documents().at("b")["phase"].toStringOr(), "telling");
  EXPECT_EQ(disk->documents().at("b")["fromTheFuture"].toStringOr(), "kept");
}

TEST(MachineHost, ShowsPhaseDocumentAndRevisionInTheTree) {
  ErrandNode n;
  n.begin("a");
  const auto row = n.node.registry().row("/errands/a");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->phaseMeaning, "waits for a last nudge");
  EXPECT_EQ(row->documentId, "a");
  EXPECT_EQ(row->documentRevision, 3) << "new, measuring, telling";
  EXPECT_EQ(row->type, "errand");
}

}  // namespace
}  // namespace troupe::machines::test
