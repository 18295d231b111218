// Messages, watches and answers between nodes over links, on virtual time.
#include "messaging/envelope/primary_of.hpp"
#include "test/unit/actors/transport/link_fixture.hpp"

namespace troupe::link {
namespace {

using namespace std::chrono_literals;

class TwoNodes : public LinkTest {
 protected:
  Member& a = add("a:1");
  Member& b = add("b:2");
  Address echo{"b:2", "/echo"};
  Echo* there = spawnEcho(b, "/echo");
  const LinkCounters& figures(Member& member, bool opened = true) {
    for (const auto& f : member.links->figures())
      if (f.opened == opened) return *f.counters;
    return *member.links->strangers();
  }
};

TEST_F(TwoNodes, AnAskIsAnsweredFromTheOtherNode) {
  link(a, b);
  const auto outcome = ask(a, echo, ping(7, 100));
  ASSERT_TRUE(*outcome);
  ASSERT_TRUE((*outcome)->isOK()) << (*outcome)->status().toString();
  EXPECT_EQ((**outcome)->read<schema::Pong>()->getNumber(), 7);
  EXPECT_STREQ((**outcome)->typeName(), "Pong");
  EXPECT_EQ(phase(a, "b:2"), "open");
  EXPECT_EQ(b.node.registry().row("/echo")->lastMessage, "Ping");
}

TEST_F(TwoNodes, WhatIsSentBeforeTheLinkIsOpenArrivesInItsOrder) {
  a.links->know("b:2", Links::Since::kMember);
  for (int i = 0; i < 50; ++i) a.node.tell(echo, ping(i));
  link(a, b);
  for (int i = 50; i < 100; ++i) a.node.tell(echo, ping(i));
  settle();
  ASSERT_EQ(there->numbers.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(there->numbers[i], i);
}

TEST_F(TwoNodes, AConnectionThatIsGoneBeforeTheFirstByteIsTriedAgain) {
  nextIsReset = true;
  link(a, b);
  EXPECT_EQ(phase(a, "b:2"), "waiting");
  EXPECT_EQ(figures(a).lost, 1);
  advance(1s);
  EXPECT_EQ(phase(a, "b:2"), "open");
  EXPECT_EQ(codeOf(ask(a, echo, ping(1))), ErrorCode::kOK);
}

TEST_F(TwoNodes, FailuresOfTheReceiverReachTheAsker) {
  link(a, b);
  EXPECT_EQ(codeOf(ask(a, Address("b:2", "/nobody"), ping(1))), ErrorCode::kNoSuchKey);
  EXPECT_EQ(codeOf(ask(a, echo, build<schema::Pong>())), ErrorCode::kCommandNotFound);  // an unknown type
  EXPECT_EQ(b.node.postOffice().deadLetters(DeadLetter::kUnknownType), 1u);
}

TEST_F(TwoNodes, WhatMayNotLeaveTheProcessIsGivenBack) {
  link(a, b);
  EXPECT_EQ(codeOf(ask(a, echo, local(std::string("a secret")))), ErrorCode::kIllegalOperation);
  a.node.tell(echo, local(std::string("a secret")));
  EXPECT_EQ(a.node.postOffice().deadLetters(DeadLetter::kUnsendable), 2u);
  EXPECT_EQ(figures(a).dropped, 1);
  EXPECT_EQ(figures(a).failedAsks, 1);
}

/// Takes questions and does not answer them.
class Silent final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](Received<schema::Ping>, Context context) {
      deadlines.push_back(context.deadline());
      kept_.push_back(std::move(context));
    })};
  }
  std::vector<TimePoint> deadlines;

 private:
  std::vector<Context> kept_;
};

TEST_F(TwoNodes, ADeadlineGoesAlongAndItsAskIsForgottenAfterIt) {
  link(a, b);
  auto silent = std::make_unique<Silent>();
  Silent* seen = silent.get();
  b.node.spawn("/silent", std::move(silent), {});
  const auto outcome = ask(a, Address("b:2", "/silent"), ping(1), 300ms);
  ASSERT_EQ(seen->deadlines.size(), 1u);
  EXPECT_EQ(seen->deadlines[0], time->now() + 300ms);
  EXPECT_EQ(a.links->figures()[0].lengths.asks, 1u);
  advance(2s);
  EXPECT_EQ(codeOf(outcome), ErrorCode::kExceededTimeLimit);
  EXPECT_EQ(a.links->figures()[0].lengths.asks, 0u);
}

TEST_F(TwoNodes, ALostLinkFailsItsAsksAndIsOpenedAgain) {
  link(a, b);
  b.node.spawn("/silent", std::make_unique<Silent>(), {});
  const auto outcome = ask(a, Address("b:2", "/silent"), ping(1));
  b.reachable = false;
  pipes.at(0)->cut();
  settle();
  EXPECT_EQ(codeOf(outcome), ErrorCode::kHostUnreachable);
  EXPECT_EQ(phase(a, "b:2"), "waiting");
  const auto refused = ask(a, echo, ping(2));  // at once, not after a pause
  EXPECT_EQ(codeOf(refused), ErrorCode::kHostUnreachable);
  a.node.tell(echo, ping(3));
  EXPECT_EQ(a.node.postOffice().deadLetters(DeadLetter::kNotConnected), 2u);
  advance(10s);
  EXPECT_GT(figures(a).lost, 4);
  EXPECT_LT(figures(a).lost, 15);  // pauses grow
  b.reachable = true;
  advance(2s);
  EXPECT_EQ(phase(a, "b:2"), "open");
  EXPECT_EQ(codeOf(ask(a, echo, ping(4))), ErrorCode::kOK);
  EXPECT_EQ(figures(a).opened, 2);
  EXPECT_EQ(figures(a).lastError(), "");
}

TEST_F(TwoNodes, ANodeThatComesBackEndsThePause) {
  b.reachable = false;
  link(a, b);
  advance(20s);
  ASSERT_EQ(phase(a, "b:2"), "waiting");
  b.reachable = true;
  link(b, a);  // a hears of b
  EXPECT_EQ(phase(a, "b:2"), "open");
}

class Watching : public TwoNodes {
 protected:
  Watching() {
    link(a, b);
    watcher = spawnEcho(a, "/watcher", [](Echo& self) { self.watch(Address("b:2", "/echo")); });
  }
  Echo* watcher = nullptr;
};

TEST_F(Watching, TheEndOfAnActorThereIsToldOnce) {
  EXPECT_TRUE(watcher->downs.empty());
  b.node.requestStop(b.node.address("/echo"));
  settle();
  ASSERT_EQ(watcher->downs.size(), 1u);
  EXPECT_EQ(watcher->downs[0].who, echo);
  EXPECT_TRUE(watcher->downs[0].reason.isOK());
  pipes.at(0)->cut();
  settle();
  EXPECT_EQ(watcher->downs.size(), 1u);  // the watch was over
}

TEST_F(Watching, TheLossOfTheNodeIsToldAsTheEndOfTheActor) {
  pipes.at(0)->cut();
  settle();
  ASSERT_EQ(watcher->downs.size(), 1u);
  EXPECT_EQ(watcher->downs[0].reason.code(), ErrorCode::kHostUnreachable);
  b.node.requestStop(b.node.address("/echo"));
  advance(5s);
  EXPECT_EQ(watcher->downs.size(), 1u);
}

TEST_F(Watching, AnActorThatIsNotThereIsToldAtOnce) {
  Echo* other = spawnEcho(a, "/other", [](Echo& self) { self.watch(Address("b:2", "/nobody")); });
  ASSERT_EQ(other->downs.size(), 1u);
  EXPECT_EQ(other->downs[0].reason.code(), ErrorCode::kNoSuchKey);
}

TEST_F(Watching, NobodyIsToldWhoNoLongerWatches) {
  a.node.postOffice().unwatch(a.node.address("/watcher"), echo);
  settle();
  b.node.kill(b.node.address("/echo"), {ErrorCode::kInternalError, "killed"});
  settle();
  EXPECT_TRUE(watcher->downs.empty());
}

TEST_F(Watching, AWatchEndsWithItsWatcherOnBothNodes) {
  a.node.requestStop(a.node.address("/watcher"));
  settle();
  size_t inspected = 0;
  for (const ActorRow& row : b.node.registry().rows({.under = kLinksPath})) {
    if (row.type != "IncomingLink") continue;
    const auto details = b.node.wait(b.node.inspect(row.path, 1s));
    ASSERT_TRUE(details.has_value());
    EXPECT_EQ(details->state["watches"].toInt64(), 0);
    ++inspected;
  }
  EXPECT_EQ(inspected, 1u);
  Echo* next = spawnEcho(a, "/watcher", [](Echo& self) { self.watch(Address("b:2", "/echo")); });
  b.node.requestStop(b.node.address("/echo"));
  settle();
  EXPECT_EQ(next->downs.size(), 1u);
}

TEST_F(Watching, WithoutALinkAWatchEndsAtOnce) {
  Echo* other = spawnEcho(a, "/other", [](Echo& self) { self.watch(Address("stranger:9", "/echo")); });
  ASSERT_EQ(other->downs.size(), 1u);
  EXPECT_EQ(other->downs[0].reason.code(), ErrorCode::kHostUnreachable);
}

/// What the links of a node say of its cluster time, and what they tell it.
class KnownTimes final : public server::ClusterClock {
 public:
  bson::Timestamp newest() const override { return now; }
  bool learn(bson::Timestamp time, bool authenticated) override {
    wasAuthenticated = authenticated;
    heard = std::max(heard, time);
    return time.seconds < kTooFar;
  }
  static constexpr uint32_t kTooFar = 1000;
  bson::Timestamp now, heard;
  bool wasAuthenticated = false;
};

class TwoClocks : public LinkTest {
 protected:
  Member& withClock(const std::string& name, const std::shared_ptr<KnownTimes>& clock, std::string key) {
    LinkSettings with = settings(std::move(key));
    with.anonymous = Anonymous::kLoopback;
    with.clock = clock;
    return add(name, with);
  }
  void begin(const std::string& key = "secret") {
    a = &withClock("a:1", here, key);
    b = &withClock("b:2", there, key);
    spawnEcho(*b, "/echo");
    link(*a, *b);
  }
  std::shared_ptr<KnownTimes> here = std::make_shared<KnownTimes>(), there = std::make_shared<KnownTimes>();
  Member *a = nullptr, *b = nullptr;
};

TEST_F(TwoClocks, EveryMessageCarriesTheNewestTimeOfItsSender) {  // CLK-005
  begin();
  here->now = {50, 3};
  there->now = {70, 1};
  auto answer = ask(*a, Address("b:2", "/echo"), ping(1));
  ASSERT_TRUE(answer->has_value() && (*answer)->isOK());
  EXPECT_EQ(there->heard, (bson::Timestamp{50, 3})) << "with the ask";
  EXPECT_EQ(here->heard, (bson::Timestamp{70, 1})) << "with the answer";
  EXPECT_TRUE(here->wasAuthenticated && there->wasAuthenticated);
  here->now = {90, 1};
  a->node.tell(Address("b:2", "/echo"), ping(2));
  settle();
  EXPECT_EQ(there->heard, (bson::Timestamp{90, 1})) << "with what is told";
}

TEST_F(TwoClocks, AMessageThatWaitedForItsLinkHasTheTimeOfItsWay) {
  a = &withClock("a:1", here, "secret");
  b = &withClock("b:2", there, "secret");
  Echo* echo = spawnEcho(*b, "/echo");
  a->links->know("b:2", Links::Since::kMember);
  here->now = {10, 1};
  a->node.tell(Address("b:2", "/echo"), ping(1));
  settle();
  ASSERT_TRUE(echo->numbers.empty()) << "there is no link yet";
  here->now = {20, 1};
  link(*a, *b);
  ASSERT_EQ(echo->numbers, std::vector<int64_t>{1});
  EXPECT_EQ(there->heard, (bson::Timestamp{20, 1}));
}

TEST_F(TwoClocks, ATimeThatIsNotBelievedHoldsNoMessageUp) {  // CLK-007
  begin();
  here->now = {KnownTimes::kTooFar + 1, 1};
  auto answer = ask(*a, Address("b:2", "/echo"), ping(1));
  EXPECT_TRUE(answer->has_value() && (*answer)->isOK());
  EXPECT_EQ(b->links->figures().at(0).counters->timesRefused, 1);
}

TEST_F(TwoClocks, ALinkWithoutAKeySaysSo) {
  begin("");
  auto answer = ask(*a, Address("b:2", "/echo"), ping(1));
  ASSERT_TRUE(answer->has_value() && (*answer)->isOK());
  EXPECT_FALSE(here->wasAuthenticated || there->wasAuthenticated);
}

TEST_F(TwoNodes, AFullQueueGivesBackInsteadOfGrowing) {
  LinkSettings small = settings();
  small.limits = {.bytes = 10'000, .messages = 100'000, .asks = 100'000};
  Member& c = add("c:3", small);
  link(c, b);
  pipes.back()->stuck = true;
  for (int i = 0; i < 100; ++i) c.node.tell(echo, ping(i, 1000));
  settle();
  const auto dropped = c.node.postOffice().deadLetters(DeadLetter::kQueueFull);
  EXPECT_GT(dropped, 80u);
  EXPECT_EQ(figures(c).dropped.load(), static_cast<int64_t>(dropped));
  EXPECT_LT(c.links->figures()[0].lengths.bytes, 20'000u);
  EXPECT_EQ(codeOf(ask(c, echo, ping(1))), ErrorCode::kExceededMemoryLimit);
}

TEST_F(TwoNodes, AMessageToAPrimaryGoesToTheNodeThatIsOneWhenItIsSent) {
  link(a, b);
  Echo* here = spawnEcho(a, "/echo");
  std::string primary;
  const Address whichever(primaryOf("rs0"), "/echo");
  EXPECT_EQ(codeOf(ask(a, whichever, ping(1))), ErrorCode::kNotWritablePrimary) << "nobody knows of one";
  a.node.postOffice().setPrimaryFinder([&](std::string_view set) -> std::optional<std::string> {
    if (set != "rs0" || primary.empty()) return std::nullopt;
    return primary;
  });
  EXPECT_EQ(codeOf(ask(a, whichever, ping(2))), ErrorCode::kNotWritablePrimary);
  primary = "b:2";
  EXPECT_EQ(codeOf(ask(a, whichever, ping(3))), ErrorCode::kOK);
  primary = "a:1";
  EXPECT_EQ(codeOf(ask(a, whichever, ping(4))), ErrorCode::kOK);
  EXPECT_EQ(codeOf(ask(a, Address(primaryOf("other"), "/echo"), ping(5))), ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(there->numbers, std::vector<int64_t>{3});
  EXPECT_EQ(here->numbers, std::vector<int64_t>{4});
  Echo* watcher = spawnEcho(a, "/watcher", [&](Echo& self) { self.watch(whichever); });
  ASSERT_EQ(watcher->downs.size(), 1u);
  EXPECT_EQ(watcher->downs[0].reason.code(), ErrorCode::kIllegalOperation);
}

TEST_F(TwoNodes, SmallMessagesOvertakeLargeOnes) {
  link(a, b);
  Echo* other = spawnEcho(b, "/other");
  a.node.tell(echo, ping(1, 1'000'000));
  a.node.tell(Address("b:2", "/other"), ping(2));
  a.node.tell(Address("b:2", "/other"), ping(3), Priority::kHigh);
  pipes.at(0)->silent = true;
  settle();
  pipes.at(0)->keep(1, 32 * 1024);  // the rest of the large one does not arrive
  pipes.at(0)->release();
  settle();
  EXPECT_EQ(other->numbers, (std::vector<int64_t>{3, 2}));
  EXPECT_TRUE(there->numbers.empty());
}

TEST_F(TwoNodes, MessagesToOneReceiverKeepTheirOrder) {
  link(a, b);
  for (int i = 0; i < 20; ++i) a.node.tell(echo, ping(i, i % 3 == 0 ? 200'000 : 0));
  settle();
  ASSERT_EQ(there->numbers.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(there->numbers[i], i);
}

TEST_F(TwoNodes, ASilentNodeIsLostAfterTheIdleTime) {
  link(a, b);
  advance(30s);
  EXPECT_EQ(phase(a, "b:2"), "open");  // heartbeats keep an idle link alive
  EXPECT_GT(figures(a).roundTripMicros, 0);
  b.reachable = false;
  pipes.at(0)->silent = true;
  advance(9s);
  EXPECT_EQ(phase(a, "b:2"), "open");
  advance(3s);
  EXPECT_EQ(phase(a, "b:2"), "waiting");
  EXPECT_EQ(figures(a).count(Rejection::kSilent), 1);
}

class LargeAnswers final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([](schema::Ping::Reader, Context& context) {
      context.reply(
          build<schema::Pong>([](schema::Pong::Builder) {}, std::make_shared<const std::string>(100'000, 'x')));
    })};
  }
};

TEST_F(TwoNodes, ASlowNodeThatTakesItsAnswersIsNotSilent) {
  LinkSettings small = settings(), patient = settings();
  small.limits.bytes = 10'000;
  patient.times.idle = 1h;
  Member& server = add("c:3", small);
  Member& client = add("d:4", patient);
  server.node.spawn("/large", std::make_unique<LargeAnswers>(), {});
  link(client, server);
  const auto pipe = pipes.back();
  pipe->stuckSide = 1;
  const auto outcome = ask(client, Address("c:3", "/large"), ping(1));
  for (int second = 0; second < 30; ++second) {
    advance(1s);
    pipe->taken += 100;
  }
  EXPECT_EQ(phase(server, "accepted1"), "open") << "it has more to write than it may, and reads nothing";
  EXPECT_FALSE(*outcome);
  advance(12s);
  EXPECT_EQ(phase(server, "accepted1"), "");
  EXPECT_EQ(figures(server, false).count(Rejection::kSilent), 1);
}

TEST_F(TwoNodes, AnAnswerBeyondWhatALinkCarriesIsAFailure) {
  LinkSettings narrow = settings();
  narrow.largestFrame = 8192;
  Member& c = add("c:3", narrow);
  link(c, b);
  b.node.spawn("/large", std::make_unique<Echo>([](Echo&) {}), {});
  EXPECT_EQ(codeOf(ask(c, echo, ping(1))), ErrorCode::kOK);
  link(a, c);
  EXPECT_EQ(codeOf(ask(a, Address("c:3", kLinksPath), ping(1, 10'000))), ErrorCode::kInvalidLength);
}

TEST_F(TwoNodes, BothDirectionsHaveALinkOfTheirOwn) {
  link(a, b);
  spawnEcho(a, "/echo");
  EXPECT_EQ(codeOf(ask(b, Address("a:1", "/echo"), ping(1))), ErrorCode::kHostUnreachable);  // b has not been told
  link(b, a);
  EXPECT_EQ(codeOf(ask(b, Address("a:1", "/echo"), ping(1))), ErrorCode::kOK);
  EXPECT_EQ(pipes.size(), 2u);
}

TEST_F(TwoNodes, MembersThatLeaveAreUnlinked) {
  tell(a, local(SetPeers{{"b:2", "a:1"}}));
  EXPECT_EQ(phase(a, "b:2"), "open");
  tell(a, local(SetPeers{{}}));
  EXPECT_EQ(phase(a, "b:2"), "");
  EXPECT_TRUE(pipes.at(0)->closed);
  EXPECT_EQ(codeOf(ask(a, echo, ping(1))), ErrorCode::kHostUnreachable);
}

TEST_F(TwoNodes, APingMeasuresTheWayAndItsLinkIsForgotten) {
  const auto outcome = ask(a, a.node.address(kLinksPath), local(PingPeer{"b:2", 100}));
  ASSERT_TRUE(*outcome);
  EXPECT_TRUE((*outcome)->isOK()) << (*outcome)->status().toString();
  EXPECT_EQ(phase(a, "b:2"), "open");
  advance(2min);
  EXPECT_EQ(phase(a, "b:2"), "");
  EXPECT_EQ(codeOf(ask(a, a.node.address(kLinksPath), local(PingPeer{"nobody:9"}))), ErrorCode::kHostUnreachable);
}

TEST_F(TwoNodes, ALinkForOneQuestionStaysUntilItIsAnswered) {
  ask(a, a.node.address(kLinksPath), local(PingPeer{"b:2"}));
  b.node.spawn("/silent", std::make_unique<Silent>(), {});
  const auto outcome = ask(a, Address("b:2", "/silent"), ping(1), 3min);
  advance(170s);
  EXPECT_EQ(phase(a, "b:2"), "open");
  EXPECT_FALSE(*outcome);
  advance(2min);
  EXPECT_EQ(codeOf(outcome), ErrorCode::kExceededTimeLimit);
  EXPECT_EQ(phase(a, "b:2"), "");
}

TEST_F(TwoNodes, ALinkCanBeParkedAndResumed) {
  link(a, b);
  const auto control = [&](schema::ControlChild::Action action) {
    return codeOf(
        ask(a, a.node.address(kLinksPath), build<schema::ControlChild>([&](schema::ControlChild::Builder out) {
              out.setChild("b:2");
              out.setAction(action);
            })));
  };
  EXPECT_EQ(control(schema::ControlChild::Action::PARK), ErrorCode::kOK);
  EXPECT_EQ(phase(a, "b:2"), "parked");
  advance(10s);
  EXPECT_EQ(codeOf(ask(a, echo, ping(1))), ErrorCode::kHostUnreachable);
  EXPECT_EQ(control(schema::ControlChild::Action::RESUME), ErrorCode::kOK);
  settle();
  EXPECT_EQ(phase(a, "b:2"), "open");
  EXPECT_EQ(control(schema::ControlChild::Action::RESTART), ErrorCode::kOK);
  settle();
  EXPECT_EQ(phase(a, "b:2"), "open");
  EXPECT_EQ(figures(a).opened, 3);
}

TEST_F(TwoNodes, TheManagerStartsAgainWithoutCuttingLinks) {
  link(a, b);
  a.node.kill(a.node.address(kLinksPath), {ErrorCode::kInternalError, "a broken rule"});
  settle();
  a.node.spawn<LinkManager>(kLinksPath, a.links);
  settle();
  EXPECT_EQ(codeOf(ask(a, echo, ping(1))), ErrorCode::kOK);
  EXPECT_EQ(figures(a).opened, 1);
}

TEST_F(TwoNodes, ANewConnectionOfANodeReplacesItsOldOne) {
  link(a, b);
  pipes.at(0)->silent = true;  // b does not know that this one is dead
  tell(a, local(DisconnectPeer{"b:2"}));
  link(a, b);
  int accepted = 0;
  for (const auto& row : b.node.registry().rows({.type = "IncomingLink"})) accepted += row.phase == "open";
  EXPECT_EQ(accepted, 1);
  EXPECT_EQ(codeOf(ask(a, echo, ping(1))), ErrorCode::kOK);
}

}  // namespace
}  // namespace troupe::link
