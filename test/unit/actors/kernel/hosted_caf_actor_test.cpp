#include "actors/kernel/hosted_caf_actor.hpp"

#include <caf/all.hpp>

#include "actors/kernel/caf_messages.hpp"
#include "messaging/schemas/supervision.capnp.h"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe {
namespace {

using Sum = caf::typed_actor<caf::replies_to<int32_t, int32_t>::with<int32_t>>;

class HostedCafActorTest : public KernelTest {
 protected:
  /// The answer to a CAF actor's request to `who`, sent by a stock actor that lives for this one request.
  struct Asked {
    std::optional<caf::message> answer;
    caf::error error;
  };
  std::shared_ptr<Asked> request(const caf::actor& who, caf::message message, caf::duration timeout = caf::infinite) {
    auto asked = std::make_shared<Asked>();
    spawning([who, message, timeout, asked](caf::event_based_actor* self) {
      self->request(who, timeout, message)
          .then([asked](const Payload& answer) { asked->answer = caf::make_message(answer); },
                [asked](const caf::error& error) { asked->error = error; });
    })(node.cafSystem());
    node.run();
    return asked;
  }
  static int64_t number(const caf::message& message) {
    return message.get_as<Payload>(0).read<schema::Pong>()->getNumber();
  }
  /// The integer with which a hosted actor answers an ask.
  static int32_t integer(const Answer& answer) {
    if (!answer.isOK() || !answer->is<caf::message>()) return -1;
    return answer->local<caf::message>().get_as<int32_t>(0);
  }
};

TEST_F(HostedCafActorTest, ATroupeActorAnswersTheRequestOfACafActor) {
  const Address echo = node.spawn<Echo>("/echo");
  const auto asked = request(node.handleOf(echo), caf::make_message(ping(7)));
  ASSERT_TRUE(asked->answer) << caf::to_string(asked->error);
  EXPECT_EQ(number(*asked->answer), 7);
  EXPECT_EQ(node.registry().row("/echo")->handled, 1U);
}

/// Refuses every message.
class RefusingPings : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>(
        [](schema::Ping::Reader, Context& context) { context.fail(Status(ErrorCode::kWriteConflict, "not now")); })};
  }
};

TEST_F(HostedCafActorTest, AFailureReachesTheCafActorWithItsCodeAndReason) {
  const Address refusing = node.spawn<RefusingPings>("/refusing");
  const auto asked = request(node.handleOf(refusing), caf::make_message(ping(7)));
  EXPECT_EQ(fromCafError(asked->error).toString(), "WriteConflict: not now");
  const auto unknown = request(node.handleOf(refusing), caf::make_message(std::string("hello")));
  EXPECT_EQ(fromCafError(unknown->error).code(), ErrorCode::kCommandNotFound);
}

TEST_F(HostedCafActorTest, AHandleOfAnEndedActorAnswersWithAnError) {
  const Address echo = node.spawn<Echo>("/echo");
  const caf::actor handle = node.handleOf(echo);
  node.kill(echo, Status::OK());
  node.run();
  EXPECT_FALSE(node.handleOf(echo));
  EXPECT_EQ(fromCafError(request(handle, caf::make_message(ping(1)))->error).code(), ErrorCode::kNoSuchKey);
}

/// Never answers.
class NeverAnswering : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](Received<schema::Ping>, Context context) { kept_.push_back(std::move(context)); })};
  }

 private:
  std::vector<Context> kept_;
};

TEST_F(HostedCafActorTest, ARequestTimesOutInTheTimeOfTheEnvironment) {
  const Address silent = node.spawn<NeverAnswering>("/silent");
  const auto asked = request(node.handleOf(silent), caf::make_message(ping(1)), caf::duration(std::chrono::seconds(5)));
  node.advance(4999ms);
  EXPECT_FALSE(asked->error);
  node.advance(1ms);
  EXPECT_EQ(asked->error, caf::sec::request_timeout);
}

TEST_F(HostedCafActorTest, ACafMonitorHearsWhyATroupeActorEnded) {
  const Address echo = node.spawn<Echo>("/echo");
  caf::error heard;
  const caf::actor monitor =
      spawning([&heard, handle = node.handleOf(echo)](caf::event_based_actor* self) -> caf::behavior {
        self->monitor(handle);
        self->set_down_handler([&heard, self](const caf::down_msg& down) {
          heard = down.reason;
          self->quit();
        });
        return {[](int32_t) {}};
      })(node.cafSystem());
  node.run();
  node.kill(echo, Status(ErrorCode::kInternalError, "it broke"));
  node.run();
  EXPECT_EQ(fromCafError(heard).toString(), "InternalError: it broke");
}

TEST_F(HostedCafActorTest, AnExitMessageEndsATroupeActor) {
  const Address first = node.spawn<Echo>("/first"), second = node.spawn<Echo>("/second");
  caf::anon_send_exit(node.handleOf(first), caf::exit_reason::user_shutdown);
  caf::anon_send_exit(node.handleOf(second), caf::exit_reason::kill);
  node.run();
  EXPECT_EQ(node.actorCount(), 0U);
}

caf::behavior doubling() {
  return {[](int32_t n) { return 2 * n; }, [](const Payload& payload) { return payload; },
          [](const std::string& text) -> caf::result<int32_t> {
            if (text == "throw") throw std::runtime_error("thrown");
            return toCafError(Status(ErrorCode::kBadValue, text));
          }};
}

TEST_F(HostedCafActorTest, AHostedActorAnswersAsksOfTroupeActors) {
  const Address hosted = node.spawn<HostedCafActor>("/hosted", spawning([] { return doubling(); }));
  EXPECT_EQ(integer(ask(hosted, local(caf::make_message(int32_t{21})))), 42);
  const Answer back = ask(hosted, ping(5));
  ASSERT_TRUE(back.isOK() && back->is<schema::Ping>());
  EXPECT_EQ(back->read<schema::Ping>()->getNumber(), 5);
  EXPECT_EQ(ask(hosted, local(caf::make_message(std::string("no")))).status().toString(), "BadValue: no");
  EXPECT_FALSE(ask(hosted, local(caf::make_message(1.5))).isOK()) << "it has no handler for this";
  const auto details = node.wait(node.inspect("/hosted", 1s));
  EXPECT_EQ(details->state["forwarded"].toInt64(), 4);
  EXPECT_EQ(details->state["answersOwed"].toInt64(), 0);
}

TEST_F(HostedCafActorTest, IsTracedAsAnyOtherActor) {
  const Address hosted = node.spawn<HostedCafActor>("/hosted", spawning([] { return doubling(); }));
  for (const bool wanted : {true, false}) {
    const Answer answer =
        ask(hosted, build<schema::SetTrace>([&](schema::SetTrace::Builder out) { out.setEnabled(wanted); }));
    ASSERT_TRUE(answer.isOK() && answer->is<schema::TraceSet>()) << answer.status().toString();
    EXPECT_EQ(answer->read<schema::TraceSet>()->getEnabled(), wanted);
  }
  EXPECT_EQ(node.wait(node.inspect("/hosted", 1s))->state["forwarded"].toInt64(), 0) << "it is none of its messages";
}

TEST_F(HostedCafActorTest, TypedAndStatefulActorsAreHostedToo) {
  const Address typed = node.spawn<HostedCafActor>(
      "/typed", spawning([]() -> Sum::behavior_type { return {[](int32_t a, int32_t b) { return a + b; }}; }));
  EXPECT_EQ(integer(ask(typed, local(caf::make_message(int32_t{1}, int32_t{2})))), 3);
  struct Count {
    int32_t n = 0;
  };
  const Address counting =
      node.spawn<HostedCafActor>("/counting", spawning(
                                                  [](caf::stateful_actor<Count>* self, int32_t from) -> caf::behavior {
                                                    self->state.n = from;
                                                    return {[self](caf::ok_atom) { return ++self->state.n; }};
                                                  },
                                                  int32_t{10}));
  EXPECT_EQ(integer(ask(counting, local(caf::make_message(caf::ok_atom::value)))), 11);
  EXPECT_EQ(integer(ask(counting, local(caf::make_message(caf::ok_atom::value)))), 12);
}

TEST_F(HostedCafActorTest, ACafActorReachesAHostedOneByItsPath) {
  const Address hosted = node.spawn<HostedCafActor>("/hosted", spawning([] { return doubling(); }));
  const auto asked = request(node.handleOf(hosted), caf::make_message(ping(9)));
  ASSERT_TRUE(asked->answer) << caf::to_string(asked->error);
  EXPECT_TRUE(asked->answer->get_as<Payload>(0).is<schema::Ping>());
}

TEST_F(HostedCafActorTest, AnErrorOfTheHostedActorIsTheEndOfItsHost) {
  const Address hosted = node.spawn<HostedCafActor>("/hosted", spawning([] { return doubling(); }));
  std::vector<Down> downs;
  Echo* watcher = new Echo([&](Echo& self) { self.watch(hosted); });
  node.spawn("/watcher", std::unique_ptr<Actor>(watcher), {});
  EXPECT_FALSE(ask(hosted, local(caf::make_message(std::string("throw")))).isOK());
  node.run();
  ASSERT_EQ(watcher->downs.size(), 1U);
  EXPECT_FALSE(watcher->downs[0].reason.isOK());
}

TEST_F(HostedCafActorTest, ItsDelayedMessagesComeInTheTimeOfTheEnvironment) {
  auto ticks = std::make_shared<int>(0);
  node.spawn<HostedCafActor>("/ticking", spawning([ticks](caf::event_based_actor* self) -> caf::behavior {
                               self->delayed_send(self, std::chrono::seconds(1), caf::tick_atom::value);
                               return {[self, ticks](caf::tick_atom) {
                                 ++*ticks;
                                 self->delayed_send(self, std::chrono::seconds(1), caf::tick_atom::value);
                               }};
                             }));
  node.run();
  node.advance(3500ms);
  EXPECT_EQ(*ticks, 3);
}

TEST_F(HostedCafActorTest, AStopInOrderEndsBoth) {
  auto ended = std::make_shared<caf::error>(caf::sec::none);
  const Address hosted =
      node.spawn<HostedCafActor>("/hosted", spawning([ended](caf::event_based_actor* self) -> caf::behavior {
                                   self->attach_functor([ended](const caf::error& why) { *ended = why; });
                                   return doubling();
                                 }));
  node.run();
  node.requestStop(hosted);
  node.run();
  EXPECT_EQ(*ended, caf::exit_reason::user_shutdown);
  EXPECT_EQ(node.actorCount(), 0U);
  EXPECT_EQ(node.cafSystem().registry().running(), 0U);
}

TEST(HostedCafActor, EndsWithItsNode) {
  Node node({.name = "n", .threads = 2});
  const Address hosted = node.spawn<HostedCafActor>("/hosted", spawning([] { return doubling(); }));
  const Answer answer = node.wait([](Node& n, Address to) -> Task<Answer> {
    co_return co_await n.ask(to, local(caf::make_message(int32_t{4})));
  }(node, hosted));
  ASSERT_TRUE(answer.isOK());
  EXPECT_EQ(answer->local<caf::message>().get_as<int32_t>(0), 8);
  node.shutdown();
  EXPECT_EQ(node.actorCount(), 0U);
}

}  // namespace
}  // namespace troupe
