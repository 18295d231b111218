#include "actors/kernel/task.hpp"

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe {
namespace {

using TaskTest = KernelTest;

Task<int64_t> one() { co_return 1; }

Task<void> countTo(int64_t limit, int64_t* reached) {
  while (*reached < limit) *reached += co_await one();
}

TEST_F(TaskTest, AwaitsAnyNumberOfTasksThatDoNotWaitWithoutGrowingTheStack) {
  int64_t reached = 0;
  node.start(countTo(1'000'000, &reached));
  node.run();
  EXPECT_EQ(reached, 1'000'000);
}

Task<void> makeOthersReady(Node& node, std::string* order) {
  for (const char each : {'a', 'b', 'c'}) node.post([order, each] { *order += each; });
  co_await node.nextTurn();
  *order += "me";
}

TEST_F(TaskTest, GivesWayToWhatItHasMadeReady) {
  std::string order;
  node.start(makeOthersReady(node, &order));
  node.run();
  EXPECT_EQ(order, "abcme");

  Node threads{{.name = "n2", .threads = 1}};
  order.clear();
  threads.wait(makeOthersReady(threads, &order));
  EXPECT_EQ(order, "abcme");
  threads.shutdown();
}

Task<int64_t> after(Future<int64_t> value) { co_return co_await value; }

Task<void> sum(Future<int64_t> first, Future<int64_t> second, int64_t* result) {
  const int64_t a = co_await after(std::move(first));
  const int64_t b = co_await after(std::move(second));
  *result = a + b;
}

TEST_F(TaskTest, ContinuesWhoAwaitsATaskThatWaits) {
  Promise<int64_t> early, late;
  int64_t result = 0;
  early.set(1);
  node.start(sum(early.future(), late.future(), &result));
  node.run();
  EXPECT_EQ(result, 0);
  late.set(2);
  node.run();
  EXPECT_EQ(result, 3);
}

}  // namespace
}  // namespace troupe
