#include "actors/kernel/pool.hpp"

#include <atomic>
#include <boost/asio/post.hpp>
#include <future>
#include <map>
#include <thread>

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe {
namespace {

Task<int64_t> sumOfAnswers(Node* node, Address echo, int count) {
  int64_t sum = 0;
  for (int i = 1; i <= count; ++i) {
    Payload ping = build<schema::Ping>([&](schema::Ping::Builder p) { p.setNumber(i); });
    Answer answer = co_await node->ask(echo, std::move(ping));
    if (answer.isOK()) sum += answer->read<schema::Pong>()->getNumber();
  }
  co_return sum;
}

TEST(AsioPool, AnswersAsksOfManyTasksOnSeveralThreads) {
  Node node({.name = "n1", .threads = 3});
  const auto echo = node.spawn<Echo>("/echo");
  std::vector<std::future<int64_t>> sums;
  for (int i = 0; i < 4; ++i)
    sums.push_back(std::async(std::launch::async, [&] { return node.wait(sumOfAnswers(&node, echo, 500)); }));
  for (auto& sum : sums) EXPECT_EQ(sum.get(), 500 * 501 / 2);
}

Task<Answer> askWithDeadline(Node* node, Address silent) {
  Payload ping = build<schema::Ping>();
  co_return co_await node->ask(silent, std::move(ping), 5ms);
}

class Mute : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](schema::Ping::Reader, Context& context) { kept_.push_back(std::move(context)); })};
  }

 private:
  std::vector<Context> kept_;
};

TEST(AsioPool, RealTimersEndAnAsk) {
  Node node({.name = "n1", .threads = 2});
  const auto mute = node.spawn<Mute>("/mute");
  EXPECT_EQ(node.wait(askWithDeadline(&node, mute)).status().code(), ErrorCode::kExceededTimeLimit);
}

TEST(AsioPool, AnswersWhileLongJobsKeepAllOfItsThreads) {
  Node node({.name = "n1", .threads = 2});
  const auto echo = node.spawn<Echo>("/echo");
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::promise<void> begun[2];
  for (auto& one : begun)
    node.post([&one, ended] {
      one.set_value();
      ended.wait();
    });
  for (auto& one : begun) one.get_future().wait();
  auto sum = std::async(std::launch::async, [&] { return node.wait(sumOfAnswers(&node, echo, 500)); });
  EXPECT_EQ(sum.wait_for(20s), std::future_status::ready) << "nobody stands in for the threads that are busy";
  end.set_value();
  EXPECT_EQ(sum.get(), 500 * 501 / 2);
}

TEST(AsioPool, HandsOnWhatWaitsBehindALongJob) {
  Node node({.name = "n1", .threads = 1});
  std::promise<bool> outcome;
  node.post([&] {
    auto ran = std::make_shared<std::promise<void>>();
    auto next = ran->get_future();
    node.post([ran] { ran->set_value(); });  // kept by this thread, as the first that its turn makes ready
    outcome.set_value(next.wait_for(20s) == std::future_status::ready);
  });
  EXPECT_TRUE(outcome.get_future().get());
}

TEST(AsioPool, EndsStandInsThatAreNoLongerNeeded) {
  AsioPool pool(1, 50);
  std::promise<void> end;
  pool.submit({nullptr, {}, [ended = end.get_future().share()] { ended.wait(); }});
  const auto reaches = [&pool](size_t count) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (pool.threadCount() != count && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return pool.threadCount() == count;
  };
  EXPECT_TRUE(reaches(2));
  end.set_value();
  EXPECT_TRUE(reaches(1));
}

TEST(AsioPool, ADetachedActorHasItsOwnThread) {
  Node node({.name = "n1", .threads = 1});
  std::promise<std::thread::id> pool, detached;
  node.post([&] { pool.set_value(std::this_thread::get_id()); });
  node.spawn("/detached",
             std::make_unique<Echo>(Echo::Action([&](Echo&) { detached.set_value(std::this_thread::get_id()); })),
             {.detached = true});
  EXPECT_NE(pool.get_future().get(), detached.get_future().get());
}

/// Spawns children that end in their first turn, each on a thread of its own, and gathers the reasons it hears of.
class ParentOfTheShortLived : public Actor {
 public:
  ParentOfTheShortLived(int children, std::promise<std::vector<Status>>* heard) : children_(children), heard_(heard) {}
  Behaviour behaviour() override {
    return {on<ChildReady>([](const ChildReady&) {}), on<Down>([this](const Down& down) {
              reasons_.push_back(down.reason);
              if (reasons_.size() == static_cast<size_t>(children_)) heard_->set_value(std::move(reasons_));
            })};
  }
  void onStart() override {
    for (int i = 0; i < children_; ++i) {
      const Address child = self().child(std::to_string(i));
      spawnChild(child.path(), std::make_unique<Echo>([](Echo& echo) { echo.stop(); }), {.detached = true});
      while (node().postOffice().exists(child)) std::this_thread::yield();
    }
  }

 private:
  const int children_;
  std::promise<std::vector<Status>>* const heard_;
  std::vector<Status> reasons_;
};

TEST(AsioPool, AParentHearsHowAChildEndedHoweverEarlyItDid) {
  constexpr int kChildren = 500;
  std::promise<std::vector<Status>> heard;
  Node node({.name = "n1", .threads = 2});
  node.spawn<ParentOfTheShortLived>("/parent", kChildren, &heard);
  auto reasons = heard.get_future();
  ASSERT_EQ(reasons.wait_for(30s), std::future_status::ready);
  for (const Status& reason : reasons.get()) EXPECT_TRUE(reason.isOK()) << reason.toString();
}

/// Notes whether each of several senders' numbers arrive in their order, and says when all have come.
class Sequence : public Actor {
 public:
  Sequence(int64_t wanted, std::promise<bool>* done) : left_(wanted), done_(done) {}
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](schema::Ping::Reader in) {
      auto& last = last_[in.getNumber() / kNumbers];
      inOrder_ = inOrder_ && in.getNumber() % kNumbers == last++;
      if (--left_ == 0) done_->set_value(inOrder_);
    })};
  }
  static constexpr int64_t kNumbers = 10'000;

 private:
  int64_t left_;
  std::promise<bool>* done_;
  std::map<int64_t, int64_t> last_;
  bool inOrder_ = true;
};

class EachActor : public ::testing::TestWithParam<bool> {};

TEST_P(EachActor, TakesTheMessagesOfASenderInTheirOrder) {
  constexpr int64_t kSenders = 3;
  Node node({.name = "n1", .threads = 2});
  std::promise<bool> done;
  const auto actor = node.spawn("/sequence", std::make_unique<Sequence>(kSenders * Sequence::kNumbers, &done),
                                {.detached = GetParam()});
  std::vector<std::thread> senders;
  for (int64_t sender = 0; sender < kSenders; ++sender)
    senders.emplace_back([&, sender] {
      for (int64_t i = 0; i < Sequence::kNumbers; ++i)
        node.tell(actor,
                  build<schema::Ping>([&](schema::Ping::Builder p) { p.setNumber(sender * Sequence::kNumbers + i); }));
    });
  EXPECT_TRUE(done.get_future().get());
  for (auto& sender : senders) sender.join();
}

INSTANTIATE_TEST_SUITE_P(OfThePool, EachActor, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(WithItsOwnThread, EachActor, ::testing::Values(true));

/// Keeps itself and a neighbour busy for as long as it lives.
class Restless : public Actor {
 public:
  explicit Restless(Address neighbour) : neighbour_(std::move(neighbour)) {}
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](schema::Ping::Reader) { again(); }), on<schema::Pong>([](schema::Pong::Reader) {})};
  }
  void onStart() override {
    every(1ms, [] {});
    again();
  }

 private:
  void again() {
    tell(self(), build<schema::Ping>());
    (void)ask(neighbour_, build<schema::Ping>(), 1s);
  }
  Address neighbour_;
};

Task<void> asking(Node* node, Address echo, std::atomic<bool>* ended) {
  struct AtEnd {
    std::atomic<bool>* flag;
    ~AtEnd() { *flag = true; }
  } atEnd{ended};
  for (;;) {
    Payload ping = build<schema::Ping>();
    if (!(co_await node->ask(echo, std::move(ping))).isOK()) co_return;
  }
}

TEST(AsioPool, ShutsDownCleanlyInTheMiddleOfWork) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> ended{false};
    {
      Node node({.name = "n1", .threads = 3});
      const auto echo = node.spawn<Echo>("/echo");
      for (int i = 0; i < 4; ++i) node.spawn<Restless>("/restless" + std::to_string(i), echo);
      node.spawn("/detached", std::make_unique<Restless>(echo), {.detached = true});
      node.start(asking(&node, echo, &ended));
      while (node.registry().row("/echo")->handled < 100) std::this_thread::yield();
    }
    EXPECT_TRUE(ended);
  }
}

Task<void> noteWhenDone(Future<Done> future, std::atomic<bool>* continued) {
  co_await future;
  *continued = true;
}

TEST(AsioPool, RunsAsATurnWhatASocketsHandlerCompletes) {
  Node node({.name = "n1", .threads = 2});
  Promise<Done> promise;
  std::atomic<bool> continued{false};
  node.start(noteWhenDone(promise.future(), &continued));
  std::promise<bool> continuedInTheHandler;
  boost::asio::post(node.io(), [&] {
    Node::runAsTurn([&] { promise.set(Done{}); });
    continuedInTheHandler.set_value(continued);
  });
  EXPECT_TRUE(continuedInTheHandler.get_future().get());
}

TEST(AsioPool, RunsAsATurnOnAnyThread) {
  bool ran = false;
  Node::runAsTurn([&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace troupe
