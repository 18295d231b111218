#include "actors/kernel/actor.hpp"

#include <stdexcept>

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe {
namespace {

using ActorTest = KernelTest;

Payload doing(Echo::Action action) { return local<Echo::Action>(std::move(action)); }

TEST_F(ActorTest, AnswersAnAskFromOutside) {
  const auto echo = node.spawn<Echo>("/echo");
  const Answer answer = ask(echo, ping(7));
  ASSERT_TRUE(answer.isOK()) << answer.status().toString();
  EXPECT_EQ(answer->read<schema::Pong>()->getNumber(), 7);
}

TEST_F(ActorTest, PassesALocalPayloadByReference) {
  const void* seen = nullptr;
  const auto echo = node.spawn<Echo>("/echo");
  auto payload = local<Echo::Action>([](Echo&) {});
  const void* sent = &payload.local<Echo::Action>();
  class Looker : public Actor {
   public:
    explicit Looker(const void** seen) : seen_(seen) {}
    Behaviour behaviour() override {
      return {on<Echo::Action>([this](const Echo::Action& action) { *seen_ = &action; })};
    }
    const void** seen_;
  };
  node.tell(node.spawn<Looker>("/looker", &seen), payload);
  node.run();
  EXPECT_EQ(seen, sent);
}

Task<void> askTwice(Echo* self, Address to, std::vector<int64_t>* out) {
  for (int64_t number : {1, 2}) {
    auto ping = build<schema::Ping>([&](schema::Ping::Builder p) { p.setNumber(number); });
    auto pong = co_await self->askFor<schema::Pong>(to, std::move(ping));
    out->push_back(pong.isOK() ? pong->read()->getNumber() : -1);
  }
}

TEST_F(ActorTest, AwaitsAnswersInACoroutineWhileHandlingOtherMessages) {
  const auto echo = node.spawn<Echo>("/echo");
  const auto asker = node.spawn<Echo>("/asker");
  std::vector<int64_t> out;
  node.tell(asker, doing([&](Echo& self) { self.start(askTwice(&self, echo, &out)); }));
  node.run();
  EXPECT_EQ(out, (std::vector<int64_t>{1, 2}));
}

/// A service whose handler is a coroutine: passes the ping on and answers with the double.
class Doubler : public Actor {
 public:
  explicit Doubler(Address echo) : echo_(std::move(echo)) {}
  Behaviour behaviour() override { return {on<schema::Ping>(this, &Doubler::ping)}; }

 private:
  Task<void> ping(Received<schema::Ping> in, Context context) {
    auto pong = co_await askFor<schema::Pong>(echo_, in.payload());
    if (!pong.isOK()) co_return context.fail(pong.status());
    context.reply<schema::Pong>([&](schema::Pong::Builder out) { out.setNumber(2 * pong->read()->getNumber()); });
  }
  Address echo_;
};

TEST_F(ActorTest, AnswersFromACoroutineHandler) {
  const auto doubler = node.spawn<Doubler>("/doubler", node.spawn<Echo>("/echo"));
  const Answer answer = ask(doubler, ping(21));
  ASSERT_TRUE(answer.isOK()) << answer.status().toString();
  EXPECT_EQ(answer->read<schema::Pong>()->getNumber(), 42);
}

/// Takes asks and never answers them.
class Silent : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](schema::Ping::Reader, Context& context) { kept_.push_back(std::move(context)); })};
  }

 private:
  std::vector<Context> kept_;
};

TEST_F(ActorTest, AnAskEndsAtItsDeadline) {
  const auto silent = node.spawn<Silent>("/silent");
  const auto before = time->now();
  const Answer answer = ask(silent, ping(1), 250ms);
  EXPECT_EQ(answer.status().code(), ErrorCode::kExceededTimeLimit);
  EXPECT_EQ(time->now() - before, 250ms);
}

TEST_F(ActorTest, AnAnswerInTimeTakesTheDeadlineBack) {
  EXPECT_TRUE(ask(node.spawn<Echo>("/echo"), ping(1), 250ms).isOK());
  EXPECT_FALSE(time->nextTimer().has_value());
}

TEST_F(ActorTest, AnExpiredMessageIsNotHandled) {
  std::vector<int64_t> handled;
  const auto echo = node.spawn<Echo>("/echo");
  auto future = node.ask(echo, ping(1), 10ms);
  time->advance(20ms);  // the echo did not get a turn meanwhile
  node.run();
  EXPECT_EQ(node.postOffice().deadLetters(DeadLetter::kExpired), 1U);
  ASSERT_TRUE(future.isReady());
  EXPECT_EQ(future.take().status().code(), ErrorCode::kExceededTimeLimit);
}

TEST_F(ActorTest, AnAskOfAnActorThatEndsIsAnswered) {
  const auto silent = node.spawn<Silent>("/silent");
  auto future = node.ask(silent, ping(1));
  node.run();
  EXPECT_FALSE(future.isReady());
  node.requestStop(silent);
  auto queuedBehind = node.ask(silent, ping(2));
  node.run();
  ASSERT_TRUE(future.isReady());
  EXPECT_EQ(future.take().status().code(), ErrorCode::kShutdownInProgress);
  ASSERT_TRUE(queuedBehind.isReady());
  EXPECT_FALSE(queuedBehind.take().isOK());
}

TEST_F(ActorTest, AnUnknownMessageIsAnsweredAndCounted) {
  const auto silent = node.spawn<Silent>("/silent");
  const Answer answer = ask(silent, build<schema::Pong>());
  EXPECT_EQ(answer.status().code(), ErrorCode::kCommandNotFound);
  EXPECT_EQ(answer.status().reason(), "/silent does not understand Pong");
  EXPECT_EQ(node.postOffice().deadLetters(DeadLetter::kUnknownType), 1U);
}

TEST_F(ActorTest, AMalformedMessageIsAnsweredAndTheActorLives) {
  const auto echo = node.spawn<Echo>("/echo");
  const std::string garbage(24, '\xff');
  const Answer answer = ask(echo, Payload::fromWords(payloadType<schema::Ping>(), garbage, nullptr));
  EXPECT_EQ(answer.status().code(), ErrorCode::kProtocolError);
  EXPECT_EQ(node.postOffice().deadLetters(DeadLetter::kMalformed), 1U);
  EXPECT_TRUE(ask(echo, ping(1)).isOK());
}

TEST_F(ActorTest, AnExceptionEndsTheActorAndAnswersTheAsk) {
  class Fragile : public Actor {
   public:
    Behaviour behaviour() override {
      return {on<schema::Ping>([](schema::Ping::Reader) { throw std::runtime_error("it broke"); })};
    }
  };
  const auto fragile = node.spawn<Fragile>("/fragile");
  const Answer answer = ask(fragile, ping(1));
  EXPECT_EQ(answer.status().code(), ErrorCode::kInternalError);
  EXPECT_EQ(answer.status().reason(), "it broke");
  EXPECT_EQ(node.actorCount(), 0U);
  EXPECT_EQ(ask(fragile, ping(2)).status().code(), ErrorCode::kNoSuchKey);
}

TEST_F(ActorTest, AHighPriorityMessageOvertakes) {
  std::vector<int64_t> order;
  class Recorder : public Actor {
   public:
    explicit Recorder(std::vector<int64_t>* out) : out_(out) {}
    Behaviour behaviour() override {
      return {on<schema::Ping>([this](schema::Ping::Reader in) { out_->push_back(in.getNumber()); })};
    }
    std::vector<int64_t>* out_;
  };
  const auto recorder = node.spawn<Recorder>("/recorder", &order);
  for (int64_t i = 1; i <= 3; ++i) node.tell(recorder, ping(i));
  node.tell(recorder, ping(9), Priority::kHigh);
  node.run();
  EXPECT_EQ(order, (std::vector<int64_t>{9, 1, 2, 3}));
}

TEST_F(ActorTest, ForwardingKeepsTheDutyToAnswer) {
  const auto echo = node.spawn<Echo>("/echo");
  class Router : public Actor {
   public:
    explicit Router(Address to) : to_(std::move(to)) {}
    Behaviour behaviour() override {
      return {on<schema::Ping>([this](schema::Ping::Reader, Context& context) { context.forward(to_); })};
    }
    Address to_;
  };
  EXPECT_TRUE(ask(node.spawn<Router>("/router", echo), ping(5)).isOK());
}

TEST_F(ActorTest, TimersFireInVirtualTimeAndEndWithTheActor) {
  int once = 0, periodic = 0, cancelled = 0;
  const auto actor = node.spawn<Echo>("/a", Echo::Action([&](Echo& self) {
                                        self.after(3s, [&once] { ++once; });
                                        self.every(1s, [&periodic] { ++periodic; });
                                        self.cancelTimer(self.after(2s, [&cancelled] { ++cancelled; }));
                                      }));
  node.advance(2999ms);
  EXPECT_EQ(once, 0);
  EXPECT_EQ(periodic, 2);
  node.advance(1ms);
  EXPECT_EQ(once, 1);
  EXPECT_EQ(periodic, 3);
  EXPECT_EQ(cancelled, 0);
  node.requestStop(actor);
  node.advance(10s);
  EXPECT_EQ(periodic, 3);
  EXPECT_FALSE(time->nextTimer().has_value());
}

TEST_F(ActorTest, AWatcherHearsHowTheOtherEnded) {
  std::vector<Down> downs;
  const auto watched = node.spawn<Echo>("/watched");
  const auto watcher = node.spawn<Echo>("/watcher", Echo::Action([&](Echo& self) { self.watch(watched); }));
  node.run();
  node.tell(watched, doing([](Echo& self) { self.stop(Status(ErrorCode::kIllegalOperation, "enough")); }));
  node.run();
  node.tell(watcher, doing([&](Echo& self) { downs = self.downs; }));
  node.run();
  ASSERT_EQ(downs.size(), 1U);
  EXPECT_EQ(downs[0].who, watched);
  EXPECT_EQ(downs[0].reason.reason(), "enough");
}

TEST_F(ActorTest, WatchingNobodyIsAnsweredAtOnce) {
  std::vector<Down> downs;
  const auto watcher =
      node.spawn<Echo>("/watcher", Echo::Action([this](Echo& self) { self.watch(node.address("/nobody")); }));
  node.run();
  node.tell(watcher, doing([&](Echo& self) { downs = self.downs; }));
  node.run();
  ASSERT_EQ(downs.size(), 1U);
  EXPECT_EQ(downs[0].reason.code(), ErrorCode::kNoSuchKey);
}

TEST_F(ActorTest, AWatchThatStandsIsNotDoubled) {
  std::vector<Down> downs;
  const auto watched = node.spawn<Echo>("/watched");
  const auto watcher = node.spawn<Echo>("/watcher", Echo::Action([&](Echo& self) {
                                          self.watch(watched);
                                          self.watch(watched);
                                        }));
  node.run();
  node.requestStop(watched);
  node.run();
  node.tell(watcher, doing([&](Echo& self) { downs = self.downs; }));
  node.run();
  EXPECT_EQ(downs.size(), 1U);
}

TEST_F(ActorTest, AWatchEndsWithItsWatcher) {
  std::vector<Down> downs;
  const auto watched = node.spawn<Echo>("/watched"), another = node.spawn<Echo>("/another");
  const auto both = Echo::Action([&](Echo& self) {
    self.watch(watched);
    self.watch(another);
  });
  const auto watcher = node.spawn<Echo>("/watcher", both);
  node.run();
  node.requestStop(watcher);
  node.run();
  node.spawn<Echo>("/watcher", Echo::Action([&](Echo& self) { self.watch(watched); }));
  node.run();
  node.requestStop(watched);
  node.requestStop(another);
  node.run();
  node.tell(watcher, doing([&](Echo& self) { downs = self.downs; }));
  node.run();
  ASSERT_EQ(downs.size(), 1U) << "for the watch of its own";
  EXPECT_EQ(downs[0].who, watched);
}

TEST_F(ActorTest, ASleepThatIsDroppedTakesItsTimerAlong) {
  {
    const auto sleep = node.sleepFor(1h);
    EXPECT_TRUE(time->nextTimer().has_value());
  }
  EXPECT_FALSE(time->nextTimer().has_value());
}

struct Guard {
  bool* flag;
  ~Guard() { *flag = true; }
};
Task<void> waitForever(Echo* self, Address silent, bool* destroyed, bool* resumed) {
  Guard guard{destroyed};
  Payload payload = build<schema::Ping>();
  (void)co_await self->ask(silent, std::move(payload));
  *resumed = true;
}

TEST_F(ActorTest, ASuspendedCoroutineEndsWithItsActor) {
  bool destroyed = false, resumed = false;
  const auto silent = node.spawn<Silent>("/silent");
  const auto asker = node.spawn<Echo>(
      "/asker", Echo::Action([&](Echo& self) { self.start(waitForever(&self, silent, &destroyed, &resumed)); }));
  node.run();
  EXPECT_FALSE(destroyed);
  node.requestStop(asker);
  node.run();
  EXPECT_TRUE(destroyed);
  node.requestStop(silent);  // answers into the void
  node.run();
  EXPECT_FALSE(resumed);
}

Task<void> failing() {
  throw std::runtime_error("in a coroutine");
  co_return;
}

TEST_F(ActorTest, AnExceptionInACoroutineEndsTheActor) {
  node.spawn<Echo>("/a", Echo::Action([](Echo& self) { self.start(failing()); }));
  node.run();
  EXPECT_EQ(node.actorCount(), 0U);
}

}  // namespace
}  // namespace troupe
