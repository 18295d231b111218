#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/schemas/testing.capnp.h"

namespace troupe {

using namespace std::chrono_literals;

/// A node without threads on virtual time.
class KernelTest : public ::testing::Test {
 protected:
  std::shared_ptr<VirtualEnvironment> time = std::make_shared<VirtualEnvironment>();
  Node node{{.name = "n1", .environment = time, .manual = true}};

  /// Before the members of the test go, which its actors use.
  void TearDown() override { node.shutdown(); }

  static Payload ping(int64_t number) {
    return build<schema::Ping>([&](schema::Ping::Builder p) { p.setNumber(number); });
  }
  /// The answer to an ask from outside, once everything has run.
  static Task<Answer> awaitAnswer(Future<Answer> future) { co_return co_await future; }
  Answer ask(const Address& to, Payload payload, Duration timeout = kNoTimeout) {
    return node.wait(awaitAnswer(node.ask(to, std::move(payload), timeout)));
  }
};

/// Answers Ping with Pong, and does what a test asks for with a function.
class Echo : public Actor {
 public:
  using Action = std::function<void(Echo&)>;
  explicit Echo(Action atStart = {}) : atStart_(std::move(atStart)) {}
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](schema::Ping::Reader in, Context& context) {
              numbers.push_back(in.getNumber());
              context.reply<schema::Pong>([&](schema::Pong::Builder out) { out.setNumber(in.getNumber()); });
            }),
            on<Action>([this](const Action& action) { action(*this); }),
            on<Down>([this](const Down& down) { downs.push_back(down); })};
  }
  void onStart() override {
    if (atStart_) atStart_(*this);
  }

  // Everything an actor can do, for the tests' actions.
  using Actor::after;
  using Actor::ask;
  using Actor::askFor;
  using Actor::cancelTimer;
  using Actor::every;
  using Actor::setDocument;
  using Actor::setPhase;
  using Actor::sleepFor;
  using Actor::spawnChild;
  using Actor::start;
  using Actor::stop;
  using Actor::tell;
  using Actor::watch;

  std::vector<int64_t> numbers;
  std::vector<Down> downs;

 private:
  Action atStart_;
};

}  // namespace troupe
