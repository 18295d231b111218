#include "test/probe/test_kit.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "test/probe/subjects/caller.hpp"

namespace troupe::probe::test {
namespace {

struct Remark {};  // stays within its process

class TestKitTest : public ::testing::Test {
 protected:
  TestKit kit{"n1"};
  Probe peer = kit.probe("n2", "/peer");
  Address callers = kit.service<Caller>("/callers");

  void begin(const std::string& id) {
    kit.ask(callers, StartMachine<Caller>{{.id = id, .peer = "n2"}}).expectAnswer<MachineStarted>();
  }
};

TEST_F(TestKitTest, RunsAServiceWhoseMachinesTalkToProbesOnOtherNodes) {
  begin("a");
  kit.expectPhase("/callers/a", "calling");
  peer.expect<Call>().reply(Answered{5});
  kit.expectPhase("/callers/a", "done");
  EXPECT_EQ(kit.store("/callers").documents().at("a")["sum"].toInt64(), 5);
}

TEST_F(TestKitTest, BringsActorsBackAfterACrashWithTheirDocumentsOnly) {
  begin("a");
  const auto call = peer.expect<Call>();
  kit.crash();
  call.reply(Answered{5});
  kit.restart();
  kit.expectPhase("/callers/a", "calling");
  peer.expect<Call>().reply(Answered{6});
  kit.expectPhase("/callers/a", "done");
  EXPECT_EQ(kit.store("/callers").documents().at("a")["sum"].toInt64(), 6) << "the answer to its earlier life is lost";
}

TEST_F(TestKitTest, TellsOthersThatItsNodeHasDied) {
  const Probe near = kit.probe("/near");
  peer.watch(callers);
  Question open = peer.ask(near.address(), Call{1});
  kit.crash();
  open.expectFailure(ErrorCode::kHostUnreachable);
  EXPECT_EQ(peer.expectEnd(callers).reason.code(), ErrorCode::kHostUnreachable);
  peer.ask(near.address(), Call{1}).expectFailure(ErrorCode::kHostUnreachable);
  kit.restart();
  peer.ask(near.address(), Call{2});
}

TEST_F(TestKitTest, KeepsProbesOnItsNodeOverACrash) {
  Probe near = kit.probe("/near");
  peer.tell(near.address(), Call{1});
  kit.run();
  kit.crash();
  kit.restart();
  near.expectNone();
  peer.tell(near.address(), Call{2});
  EXPECT_EQ(near.expect<Call>()->number, 2);
}

TEST_F(TestKitTest, LosesAWriteThatWaitsWhenItsNodeDies) {
  kit.store("/callers").hold();
  Question started = kit.ask(callers, StartMachine<Caller>{{.id = "a", .peer = "n2"}});
  peer.expectNone(1s);
  kit.crash();
  kit.restart();
  EXPECT_TRUE(kit.store("/callers").documents().empty());
  EXPECT_EQ(kit.phase("/callers/a"), "none");
}

TEST_F(TestKitTest, FailsAndDelaysTheDocumentStore) {
  kit.store("/callers").delay(kit.time(), 300ms);
  kit.store("/callers").failNext({ErrorCode::kWriteConflict, "again"});
  Question started = kit.ask(callers, StartMachine<Caller>{{.id = "a", .peer = "n2"}});
  started.expectNone(599ms);
  started.expectAnswer<MachineStarted>();
  peer.expect<Call>();
}

TEST_F(TestKitTest, LetsOnlyWhatCanLeaveItsProcessGoToAnotherNode) {
  kit.ask(peer.address(), Remark{}).expectFailure(ErrorCode::kIllegalOperation);
  Question question = kit.ask(peer.address(), Call{1});
  peer.expect<Call>().reply(Remark{});
  question.expectFailure(ErrorCode::kIllegalOperation);
}

TEST_F(TestKitTest, SaysThatThereIsNoSuchNode) {
  kit.ask(Address("n3", "/peer"), Call{1}).expectFailure(ErrorCode::kHostUnreachable);
}

TEST_F(TestKitTest, SaysInWhichPhaseAnActorIsAndWhatTheOthersDo) {
  begin("a");
  EXPECT_NONFATAL_FAILURE(kit.expectPhase("/callers/a", "done", 1s),
                          "/callers/a was to be 'done', and is 'calling'\nThe actors of n1:\n");
  EXPECT_NONFATAL_FAILURE(kit.expectPhase("/callers/b", "done", 0s), "/callers/b was to be 'done', and is 'none'");
}

TEST_F(TestKitTest, KnowsTheMessagesOfItsServices) {
  begin("a");
  EXPECT_NONFATAL_FAILURE(peer.expectNone(), "Call{number=7} from n1/callers/a, asks");
}

TEST_F(TestKitTest, StartsAnyActor) {
  struct Echo final : Actor {
    explicit Echo(int64_t more) : more_(more) {}
    Behaviour behaviour() override {
      auto answer = [this](Context& context) {
        context.reply(toMessage(Answered{fromPayload<Call>(context.payload())->number + more_}));
      };
      return {Handler{payloadTypeOf<Call>(), std::move(answer)}};
    }
    int64_t more_;
  };
  const Address echo = kit.start<Echo>("/echo", 3);
  EXPECT_EQ(peer.ask(echo, Call{1}).expectAnswer<Answered>()->number, 4);
  kit.crash();
  kit.restart();
  EXPECT_EQ(peer.ask(echo, Call{2}).expectAnswer<Answered>()->number, 5);
}

}  // namespace
}  // namespace troupe::probe::test
