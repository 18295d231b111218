#include "messaging/errors/co_status.hpp"

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe {
namespace {

using CoStatusTest = KernelTest;

const Status kRefused{ErrorCode::kBadValue, "refused"};

/// Counts the objects alive: below zero, one was destroyed twice.
struct Counted {
  explicit Counted(int* counter) : alive(counter) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --*alive; }
  int* alive;
};

Task<Status> waitFor(Future<int64_t> gate, Status outcome) {
  co_await gate;
  co_return outcome;
}

Task<StatusWith<Counted>> countedAfter(Future<int64_t> gate, Status outcome, int* alive) {
  co_await gate;
  if (!outcome.isOK()) co_return outcome;
  co_return Counted(alive);
}

Task<StatusWith<Counted>> countedNow(int* alive) { co_return Counted(alive); }

Task<Status> tryTwice(Future<int64_t> first, Status outcome, std::string* trace) {
  *trace += "a";
  TROUPE_CO_TRY(co_await waitFor(std::move(first), outcome));
  *trace += "b";
  if (trace->size() > 1) TROUPE_CO_TRY(Status(kRefused));
  *trace += "c";
  co_return Status::OK();
}

Task<void> keep(Task<Status> task, std::optional<Status>* result) { result->emplace(co_await std::move(task)); }

TEST_F(CoStatusTest, TryEndsTheCoroutineWithTheFirstFailure) {
  for (const bool fails : {true, false}) {
    Promise<int64_t> gate;
    std::string trace;
    std::optional<Status> result;
    node.start(keep(tryTwice(gate.future(), fails ? Status(ErrorCode::kInternalError, "early") : Status::OK(), &trace),
                    &result));
    node.run();
    EXPECT_EQ(trace, "a");
    EXPECT_FALSE(result) << "the coroutine did not wait";
    gate.set(1);
    node.run();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->toString(), fails ? "InternalError: early" : "BadValue: refused");
    EXPECT_EQ(trace, fails ? "a" : "ab");
  }
}

Task<StatusWith<int64_t>> assignTwice(Future<int64_t> gate, Status outcome, int* alive) {
  TROUPE_CO_ASSIGN(const Counted counted, co_await countedAfter(std::move(gate), outcome, alive));
  std::optional<Counted> other;
  TROUPE_CO_ASSIGN(other, co_await countedNow(alive));
  co_return *alive;
}

Task<void> keepValue(Task<StatusWith<int64_t>> task, std::optional<StatusWith<int64_t>>* result) {
  result->emplace(co_await std::move(task));
}

TEST_F(CoStatusTest, AssignGivesTheValueAndDestroysEachObjectOnce) {
  for (const bool fails : {false, true}) {
    Promise<int64_t> gate;
    int alive = 0;
    std::optional<StatusWith<int64_t>> result;
    node.start(keepValue(assignTwice(gate.future(), fails ? kRefused : Status::OK(), &alive), &result));
    node.run();
    EXPECT_FALSE(result);
    gate.set(1);
    node.run();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->isOK(), !fails);
    if (fails) EXPECT_EQ(result->status().toString(), "BadValue: refused");
    else EXPECT_EQ(**result, 4) << "two values, and the two they were moved from";
    EXPECT_EQ(alive, 0);
  }
}

Task<Status> branch(bool first, int* evaluated) {
  if (first) TROUPE_CO_TRY((++*evaluated, Status::OK()));
  else TROUPE_CO_TRY((*evaluated += 10, Status(kRefused)));
  co_return Status::OK();
}

TEST_F(CoStatusTest, TryIsOneStatementEvaluatedOnce) {
  int evaluated = 0;
  std::optional<Status> result;
  node.start(keep(branch(true, &evaluated), &result));
  node.run();
  EXPECT_TRUE(result->isOK());
  node.start(keep(branch(false, &evaluated), &result));
  node.run();
  EXPECT_EQ(result->toString(), "BadValue: refused");
  EXPECT_EQ(evaluated, 11);
}

}  // namespace
}  // namespace troupe
