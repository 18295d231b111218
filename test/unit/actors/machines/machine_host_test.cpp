#include "actors/machines/machine_host.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/machines/errand_node.hpp"
#include "test/unit/actors/machines/errand_server.hpp"

namespace troupe::machines::test {
namespace {

TEST(MachineHost, WritesTheDocumentBeforeItsEffectsAreSeen) {
  ErrandNode n;
  n.store.hold();
  auto started = n.begin("a");
  EXPECT_EQ(n.store.waitingWrites(), 1u);
  n.peer.expectNone();
  started.expectNone();
  n.store.release();
  EXPECT_EQ(n.peer.expect<Prepare>()->id, "a");
  started.expectAnswer<MachineStarted>();
}

TEST(MachineHost, GoesThroughItsPhasesAndRemovesItsDocumentAtTheEnd) {
  ErrandNode n;
  auto ended = n.begin("a", true);
  EXPECT_EQ(n.phaseOf("a"), "telling");
  n.peer.expect<Prepare>();
  EXPECT_EQ(n.peer.expect<Finished>()->id, "a");
  EXPECT_EQ(n.store.documents().at("a")["phase"].toStringOr(), "telling");
  ended.expectNone();
  n.kit.ask(n.service, Nudge{"a", 1});
  ended.expectAnswer<MachineEnded>();
  EXPECT_TRUE(n.store.documents().empty());
  EXPECT_EQ(n.phaseOf("a"), "none");
}

/// "event from>to" of an errand's steps, oldest first.
std::vector<std::string> stepsOf(ErrandNode& n, const std::string& id) {
  std::vector<std::string> steps;
  for (const auto& record : n.kit.node().transitions().find({.instance = id}))
    steps.insert(steps.begin(), record.event + " " + record.from + ">" + record.to);
  return steps;
}

TEST(MachineHost, ItsStepsCanBeToldAfterItsEnd) {
  ErrandNode n;
  auto ended = n.begin("a", true);
  n.kit.ask(n.service, Nudge{"a", 1});
  ended.expectAnswer<MachineEnded>();
  EXPECT_EQ(stepsOf(n, "a"), (std::vector<std::string>{"resumed >asking", "Agreed asking>measuring",
                                                       "Ready measuring>telling", "Nudge telling>"}));
  const auto records = n.kit.node().transitions().find({.instance = "a"});
  EXPECT_EQ(records.at(0).effects, std::vector<std::string>{"reply Prepare"});
  EXPECT_EQ(records.at(1).effects, (std::vector<std::string>{"send Finished to n1", "no TooLate"}));
  EXPECT_EQ(records.at(2).effects, std::vector<std::string>{"do Measure"});
  EXPECT_GT(records.at(1).revision, records.at(2).revision);
}

TEST(MachineHost, AFailureIsTheLastStepOfItsHost) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  n.kit.node().kill(n.kit.address("/errands/a"), Status(ErrorCode::kInternalError, "it broke"));
  n.kit.run();
  const auto records = n.kit.node().transitions().find({.instance = "a"});
  const auto stopped = std::find_if(records.begin(), records.end(), [](const auto& r) { return r.event == "stopped"; });
  ASSERT_NE(stopped, records.end());
  EXPECT_EQ(stopped->from, "asking");
  EXPECT_EQ(stopped->outcome, "InternalError: it broke");
}

TEST(MachineHost, AnswersTheAskerOfAnEventWhenTheDocumentIsSafe) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  n.store.hold();
  auto first = n.kit.ask(n.service, Nudge{"a", 2});
  auto second = n.kit.ask(n.service, Nudge{"a", 3});
  first.expectNone();
  n.store.release();
  EXPECT_EQ(first.expectAnswer<Prepare>()->id, "sum 2");
  EXPECT_EQ(second.expectAnswer<Prepare>()->id, "sum 5") << "the second event was decided behind the first";
  EXPECT_EQ(n.store.documents().at("a")["sum"].toInt64(), 5);
}

TEST(MachineHost, HearsEventsWhileItsDocumentIsBeingWritten) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  const size_t before = n.store.writes().size();
  n.store.hold();
  std::vector<probe::Question> nudges;
  for (int i = 1; i <= 5; ++i) nudges.push_back(n.kit.ask(n.service, Nudge{"a", i}));
  EXPECT_EQ(n.store.waitingWrites(), 1u);
  for (auto& nudge : nudges) nudge.expectNone();  // nothing is safe
  n.store.release();
  n.kit.run();
  for (const char* sum : {"sum 1", "sum 3", "sum 6", "sum 10", "sum 15"}) {
    EXPECT_EQ(nudges.front().expectAnswer<Prepare>()->id, sum);
    nudges.erase(nudges.begin());
  }
  EXPECT_EQ(n.store.writes().size() - before, 2u) << "what was decided during the first write shares the second";
  EXPECT_EQ(n.store.documents().at("a")["sum"].toInt64(), 15);
}

TEST(MachineHost, ACrashDuringAWriteForgetsWhatWasDecidedBehindIt) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  n.store.hold();
  auto first = n.kit.ask(n.service, Nudge{"a", 2});
  auto second = n.kit.ask(n.service, Nudge{"a", 3});
  n.kit.crash();
  n.kit.restart();
  EXPECT_EQ(n.store.documents().at("a")["sum"].toInt64(), 0);
  EXPECT_EQ(n.kit.ask(n.service, Nudge{"a", 1}).expectAnswer<Prepare>()->id, "sum 1");
}

TEST(MachineHost, HearsOfTheProgressOfAnActionAndOnlyTheNewest) {
  ErrandNode n;
  n.measuring = true;
  n.begin("a");
  ASSERT_EQ(n.underWay.size(), 1u);
  const size_t before = n.store.writes().size();
  for (int percent = 1; percent <= 50; ++percent) n.underWay[0].report(Half{percent});
  n.kit.run();
  EXPECT_EQ(n.store.documents().at("a")["sum"].toInt64(), 50);
  EXPECT_EQ(n.store.writes().size() - before, 1u) << "fifty reports are one event";
}

TEST(MachineHost, CancelsAnActionAndHearsNoMoreOfIt) {
  ErrandNode n;
  n.measuring = true;
  n.begin("a");
  EXPECT_FALSE(n.underWay.at(0).isCancelled());
  n.kit.tell(n.kit.address("/errands/a"), Abandon{});
  n.kit.run();
  EXPECT_TRUE(n.underWay.at(0).isCancelled());
  EXPECT_EQ(n.phaseOf("a"), "telling") << "and not what the action gave in the end";
  n.underWay[0].report(Half{70});
  n.kit.run();
  EXPECT_NE(n.store.documents().at("a")["sum"].toInt64(), 70);
  n.kit.ask(n.service, Nudge{"a", 1});
  n.kit.run();
  EXPECT_TRUE(n.store.documents().empty());
}

TEST(MachineHost, ItsEndCancelsItsActionsAndTheNextHostHearsNothingOfThem) {
  ErrandNode n;
  n.measuring = true;
  n.begin("a");
  n.kit.node().kill(n.kit.address("/errands/a"), Status(ErrorCode::kInternalError, "it broke"));
  n.kit.advance(1s);
  ASSERT_EQ(n.underWay.size(), 2u) << "the next host has begun it again";
  EXPECT_TRUE(n.underWay[0].isCancelled());
  EXPECT_FALSE(n.underWay[1].isCancelled());
  n.underWay[0].report(Half{70});
  n.kit.run();
  EXPECT_EQ(n.store.documents().at("a")["sum"].toInt64(), 0);
  n.underWay[1].report(Half{30});
  n.kit.run();
  EXPECT_EQ(n.store.documents().at("a")["sum"].toInt64(), 30);
}

/// It was told while the host of its action still lived.
TEST(MachineHost, ProgressOfAnotherHostsActionMeansNothing) {
  ErrandNode n;
  n.measuring = true;
  n.begin("a");
  const auto other = std::make_shared<LatestValue<Errand::Event>>(n.kit.node(), n.kit.address("/errands/a"));
  other->set(Half{70});
  n.kit.run();
  EXPECT_EQ(n.store.documents().at("a")["sum"].toInt64(), 0);
}

TEST(MachineHost, AsksAgainUntilItIsAnswered) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  for (int attempt = 0; attempt < 2; ++attempt) {
    n.peer.expect<Prepare>().fail({ErrorCode::kHostUnreachable, "gone"});
    EXPECT_EQ(n.phaseOf("a"), "asking");
  }
  n.peer.expect<Prepare>(1s).reply(Agreed{});
  n.kit.expectPhase("/errands/a", "telling");
}

/// An errand "a" whose question is open, and whose move to the next phase is decided and waits for its document.
struct LeavingErrand : ErrandNode {
  LeavingErrand() {
    peer.answerNoMore<Prepare>();
    measuring = true;
    begin("a");
    question.emplace(peer.expect<Prepare>());
    store.hold();
  }
  void leave() {
    kit.tell(kit.address("/errands/a"), Agreed{});
    kit.run();
  }
  /// With what the next phase understands as well.
  void answer() {
    question->reply(Half{70});
    kit.run();
  }
  int64_t sum() { return store.documents().at("a")["sum"].toInt64(); }
  std::optional<probe::ReceivedMessage<Prepare>> question;
};

TEST(MachineHost, DropsAnAnswerThatComesWhenTheEndOfItsPhaseIsBeingWritten) {
  LeavingErrand n;
  n.leave();
  n.answer();
  n.store.release();
  n.kit.run();
  EXPECT_EQ(n.phaseOf("a"), "measuring");
  EXPECT_EQ(n.sum(), 0) << "it is no answer to anything that this phase has asked";
}

/// It arrived before anything had been decided, and waited behind what was.
TEST(MachineHost, DropsAnAnswerThatWaitedBehindTheEndOfItsPhase) {
  LeavingErrand n;
  std::vector<probe::Question> nudges;
  for (int i = 0; i < 64; ++i) nudges.push_back(n.kit.ask(n.service, Nudge{"a", 0}));  // as many as are decided ahead
  n.kit.run();
  n.leave();
  n.answer();
  n.store.release();
  n.kit.run();
  EXPECT_EQ(n.phaseOf("a"), "measuring");
  EXPECT_EQ(n.sum(), 0);
}

TEST(MachineHost, HearsAnAnswerToAQuestionOfTheNewestPhaseWhileADocumentIsWritten) {
  LeavingErrand n;
  auto nudge = n.kit.ask(n.service, Nudge{"a", 1});  // stays in the phase
  n.kit.run();
  n.question->reply(Agreed{});
  n.store.release();
  n.kit.run();
  EXPECT_EQ(n.phaseOf("a"), "measuring");
}

/// The checker takes equal questions of a phase for one, and so must the host.
TEST(MachineHost, DoesNotAskAnEqualQuestionBesideOneThatIsOpen) {
  ErrandNode n;
  n.peer.answerNoMore<Prepare>();
  n.begin("a");
  auto first = n.peer.expect<Prepare>();
  n.kit.tell(n.kit.address("/errands/a"), AskAgain{});
  n.peer.expectNone();
  first.reply(Half{1});  // no row here: the phase goes on, and the question is answered
  n.kit.tell(n.kit.address("/errands/a"), AskAgain{});
  n.peer.expect<Prepare>().reply(Agreed{});
  n.kit.run();
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(MachineHost, TellsItsMachineOfARefusalOfTheReceiver) {
  ErrandNode n;
  n.peer.alwaysAnswer<Prepare>([](const Prepare&) { return Status(ErrorCode::kUnauthorized, "not you"); });
  n.begin("a", true).expectFailure(ErrorCode::kUnauthorized);
  EXPECT_TRUE(n.store.documents().empty());
}

TEST(MachineHost, TriesAFailedWriteAgain) {
  ErrandNode n;
  n.store.failNext({ErrorCode::kTemporarilyUnavailable, "busy"});
  n.store.failNext({ErrorCode::kWriteConflict, "again"});
  n.begin("a");
  n.peer.expectNone();
  n.kit.expectPhase("/errands/a", "telling", 1s);
}

TEST(MachineHost, TriesAFailedActionAgainWithPauses) {
  ErrandNode n;
  n.measureFails = {Status(ErrorCode::kTemporarilyUnavailable, "busy"), Status(ErrorCode::kNetworkTimeout, "slow")};
  n.begin("a");
  EXPECT_EQ(n.measured.size(), 1u);
  n.kit.expectPhase("/errands/a", "telling", 1s);
  EXPECT_EQ(n.measured.size(), 3u);
}

TEST(MachineHost, FiresItsTimerUnlessItWasTakenBack) {
  ErrandNode n;
  n.measuring = true;
  auto ended = n.begin("a", true);
  n.begin("b");
  EXPECT_EQ(n.phaseOf("a"), "measuring");
  ended.expectFailure(ErrorCode::kExceededTimeLimit, 61s);

  n.measuring = false;
  n.begin("c");
  n.kit.advance(61s);
  EXPECT_EQ(n.phaseOf("c"), "telling") << "its timer was taken back";
}

TEST(MachineHost, DropsATimerThatFiredWhileATransitionTookItBack) {
  ErrandNode n;
  n.measuring = true;
  n.begin("a");
  n.store.hold();
  n.kit.tell(n.kit.address("/errands/a"), Ready{"late"});
  n.kit.advance(61s);  // TooLate fires and waits behind the write
  n.store.release();
  n.kit.run();
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

/// Else a message that came later would be decided before it.
TEST(MachineHost, ATimerThatNobodyTakesBackKeepsItsPlaceBehindAWrite) {
  ErrandNode n;
  n.measuring = true;
  auto ended = n.begin("a", true);
  n.store.hold();
  n.kit.tell(n.kit.address("/errands/a"), Half{50});
  n.kit.advance(61s);  // TooLate fires while the document is being written
  n.kit.tell(n.kit.address("/errands/a"), Ready{"later"});
  n.store.release();
  n.kit.run();
  ended.expectFailure(ErrorCode::kExceededTimeLimit);
}

TEST(MachineHost, ResumesFromItsDocumentAfterACrashOfTheNode) {
  ErrandNode n;
  n.measuring = true;
  n.begin("a");
  EXPECT_EQ(n.phaseOf("a"), "measuring");
  n.peer.expect<Prepare>();
  n.kit.crash();
  n.measuring = false;
  n.kit.restart();
  EXPECT_EQ(n.measured, (std::vector<std::string>{"x", "x"})) << "the action of the phase is done again";
  n.peer.expect<Finished>();
  n.peer.expectNone();  // what an earlier phase did is not done again
  EXPECT_EQ(n.phaseOf("a"), "telling");
}

TEST(MachineHost, KeepsFieldsItDoesNotKnow) {
  ErrandNode n({bson::doc("_id", "b", "version", 1, "sum", int64_t{1}, "phase", "asking", "fromTheFuture", "kept")});
  EXPECT_EQ(n.store.documents().at("b")["phase"].toStringOr(), "telling");
  EXPECT_EQ(n.store.documents().at("b")["fromTheFuture"].toStringOr(), "kept");
}

TEST(MachineHost, ShowsPhaseDocumentAndRevisionInTheTree) {
  ErrandNode n;
  n.begin("a");
  const auto row = n.kit.node().registry().row("/errands/a");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->phaseMeaning, "waits for a last nudge");
  EXPECT_EQ(row->documentId, "a");
  EXPECT_EQ(row->documentRevision, 3) << "new, measuring, telling";
  EXPECT_EQ(row->type, "errand");
}

TEST(MachineHost, TellsWhoLooksAtItWhichMachineItCarriesOut) {
  ErrandNode n;
  n.begin("a");
  const auto details = n.kit.node().wait(n.kit.node().inspect("/errands/a", 1s));
  ASSERT_TRUE(details && details->machine);
  EXPECT_STREQ(details->machine->name, "errand");
  EXPECT_TRUE(details->machine->phase(details->row.phase)) << "the phase in the tree is one of the machine's";
  const auto service = n.kit.node().wait(n.kit.node().inspect("/errands", 1s));
  ASSERT_TRUE(service);
  EXPECT_EQ(service->machine, nullptr) << "a service is no machine itself";
}

using MachineHostOnAServer = ErrandServer;

TEST_F(MachineHostOnAServer, DoesNothingForADocumentThatItFoundUntilThatIsSafe) {
  using supervisors::ControlAction;
  const auto control = [&](ControlAction action) {
    return server.node.wait(
        supervisors::controlActor(server.node, supervisors::kJournalFlusherPath, action, "nothing becomes durable"));
  };
  ASSERT_TRUE(control(ControlAction::kPark).isOK());
  start("a");
  EXPECT_TRUE(answers(R"({"count": "errands"})", R"({"n": 1})", "config")) << "it is written, and not safe";
  for (int lives = 1; lives < 4; ++lives) {
    server.node.tell(service, local(StepDown{}));
    server.node.tell(service, local(BecomePrimary{lives}));
    settle();
    EXPECT_EQ(peer->asked, 0) << "a crash would take the document back";
  }
  ASSERT_TRUE(control(ControlAction::kResume).isOK());
  settle();
  EXPECT_EQ(peer->asked, 1);
}

Task<void> storeOutcome(Task<Status> task, Status* outcome) { *outcome = co_await std::move(task); }
Task<Status> outcomeOf(std::shared_ptr<Future<Status>> future) {
  Future<Status>& said = *future;
  co_return co_await said;
}

/// A majority that says what the test wants, when it wants.
struct SaidMajority {
  Promise<Status> promise;
  std::shared_ptr<Future<Status>> future = std::make_shared<Future<Status>>(promise.future());
  std::function<Task<Status>(std::optional<int64_t>)> wait() {
    return [future = future](std::optional<int64_t>) { return outcomeOf(future); };
  }
};

TEST_F(MachineHostOnAServer, AMajorityIsAwaitedBeyondTheOwnJournal) {
  SaidMajority majority;
  StorageAccess access = server.assembly.storageAccess();
  access.majority = majority.wait();
  const auto store = std::make_shared<CollectionStore>(std::move(access), storage::Namespace("config", "others"));
  EXPECT_TRUE(server.node.wait(store->put(bson::doc("_id", "a"), Durability::kJournaled)).isOK()) << "not asked";
  Status outcome(ErrorCode::kInternalError, "not answered yet");
  server.node.start(storeOutcome(store->put(bson::doc("_id", "b"), Durability::kMajority), &outcome));
  settle();
  EXPECT_TRUE(answers(R"({"count": "others"})", R"({"n": 2})", "config")) << "it is written";
  EXPECT_EQ(outcome.code(), ErrorCode::kInternalError) << "and not answered";
  majority.promise.set({ErrorCode::kInterruptedDueToReplStateChange, "stepped down"});
  settle();
  EXPECT_EQ(outcome.code(), ErrorCode::kInterruptedDueToReplStateChange);
}

/// Else the next primary, without that document, gives somebody else what this one has granted.
TEST_F(MachineHostOnAServer, DoesNothingForADocumentThatItFoundUntilAMajorityHasIt) {
  const storage::Namespace others("config", "others");
  StorageAccess access = server.assembly.storageAccess();
  CollectionStore earlier(access, others);
  auto document = bson::doc("_id", "a", "version", 1, "sum", int64_t{0}, "phase", "asking");
  ASSERT_TRUE(server.node.wait(earlier.put(std::move(document), Durability::kJournaled)).isOK());
  SaidMajority majority;
  access.majority = majority.wait();
  auto store = std::make_shared<CollectionStore>(std::move(access), others);
  server.node.spawn<PrimaryOnlyService<Errand>>("/others", std::move(store), HostOptions<Errand>());
  settle();
  ASSERT_TRUE(server.node.registry().row("/others/a")) << "its host runs";
  EXPECT_EQ(peer->asked, 0);
  majority.promise.set(Status::OK());
  settle();
  EXPECT_EQ(peer->asked, 1);
}

TEST_F(MachineHostOnAServer, NoMajorityIsAwaitedForAFoundDocumentThatIsNotReplicated) {
  SaidMajority majority;
  StorageAccess access = server.assembly.storageAccess();
  access.majority = majority.wait();
  CollectionStore store(std::move(access), storage::Namespace("local", "others"));
  EXPECT_TRUE(server.node.wait(store.settle()).isOK());
}

}  // namespace
}  // namespace troupe::machines::test
