// Supervision on a pool of real threads, for ThreadSanitizer above all: what it decides is tested in
// supervisor_test.cpp.
#include <atomic>
#include <random>
#include <thread>

#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

struct CrashOnThread {};

/// Answers Ping and fails when told to.
class Worker : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([this](schema::Ping::Reader in, Context& context) {
              setPhase(in.getNumber() % 2 ? "odd" : "even", "what it was asked last");
              context.reply<schema::Pong>([&](schema::Pong::Builder out) { out.setNumber(in.getNumber()); });
            }),
            on<CrashOnThread>([](const CrashOnThread&) { throw std::runtime_error("boom"); })};
  }
  void onStopRequested() override { stop(); }
};

class SupervisorThreads : public ::testing::Test {
 protected:
  static constexpr int kRounds = 300;
  Node node{{.name = "n1", .threads = 3}};
  const std::vector<std::string> paths{"/node/pair/a", "/node/pair/b", "/node/c", "/node/own"};
  const Address root = startTree(
      node,
      oneForOne("node",
                restForOne("pair", permanent<Worker>("a"), permanent<Worker>("b")).within(100'000, 1s).pausing(kSoon),
                permanent<Worker>("c"), permanent<Worker>("own").onOwnThread())
          .within(100'000, 1s)
          .pausing(kSoon));

  static constexpr Backoff kSoon{.first = std::chrono::milliseconds(1), .most = std::chrono::milliseconds(2)};

  void TearDown() override { node.shutdown(); }

  /// Calls `work` with a path so many times, on a thread of its own.
  template <class Work>
  std::thread repeatedly(unsigned seed, Work work) {
    return std::thread([this, seed, work] {
      std::mt19937 chance(seed);
      for (int i = 0; i < kRounds; ++i) work(paths[chance() % paths.size()], i);
    });
  }

  static Task<Answer> question(Node* node, Address whom, int number) {
    Payload ping = build<schema::Ping>([&](schema::Ping::Builder p) { p.setNumber(number); });
    co_return co_await node->ask(whom, std::move(ping), 10s);
  }
  bool answers(const std::string& path) { return node.wait(question(&node, node.address(path), 1)).isOK(); }
};

TEST_F(SupervisorThreads, KeepATreeAliveWhileEverybodyActsOnIt) {
  for (const auto& path : paths)
    while (!answers(path)) std::this_thread::yield();
  std::atomic<int> changes{0};
  const auto all = node.registry().subscribe([&](const RowChange&) { ++changes; });
  std::vector<std::thread> threads;
  threads.push_back(
      repeatedly(1, [&](const std::string& path, int) { node.tell(node.address(path), local(CrashOnThread{})); }));
  threads.push_back(repeatedly(2, [&](const std::string& path, int i) {
    (void)node.wait(controlActor(node, path, i % 2 ? ControlAction::kPark : ControlAction::kRestart, "the test asks"));
    (void)node.wait(controlActor(node, path, ControlAction::kResume, "the test asks"));
  }));
  threads.push_back(repeatedly(3, [&](const std::string& path, int i) {
    const auto token = node.registry().subscribe([](const RowChange&) {});
    const Answer answer = node.wait(question(&node, node.address(path), i));
    if (answer.isOK()) {
      EXPECT_EQ(answer->read<schema::Pong>()->getNumber(), i);
    }
  }));
  threads.push_back(repeatedly(4, [&](const std::string& path, int) {
    EXPECT_LE(node.registry().rows({.sort = "-handled"}).size(), 6U);
    (void)node.registry().row(path);
    (void)node.wait(node.inspect(path, 10s));
  }));
  for (auto& thread : threads) thread.join();
  EXPECT_GT(changes, 0);

  // A child about to be parked cannot be resumed yet, so the request is repeated.
  for (const auto& path : paths)
    while (!answers(path)) (void)node.wait(controlActor(node, path, ControlAction::kResume, "the test asks"));
  EXPECT_TRUE(node.wait(stopTree(node, root, 60s)));
  EXPECT_EQ(node.registry().size(), 0U);
}

TEST_F(SupervisorThreads, ANodeEndsInTheMiddleOfRestarts) {
  for (const auto& path : paths)
    while (!answers(path)) std::this_thread::yield();
  std::thread crashing =
      repeatedly(1, [&](const std::string& path, int) { node.tell(node.address(path), local(CrashOnThread{})); });
  node.shutdown();
  crashing.join();
  EXPECT_EQ(node.actorCount(), 0U);
}

}  // namespace
}  // namespace troupe::supervisors
