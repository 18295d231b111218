#include "storage/journal/checkpoint_policy.hpp"

#include <gtest/gtest.h>

namespace troupe::storage {
namespace {

using Decision = CheckpointPolicy::Decision;
using namespace std::chrono_literals;

const CheckpointPolicy::Clock::time_point kStart{};
CheckpointPolicy::State standalone(bool dirty = true) {
  CheckpointPolicy::State state;
  state.dirty = dirty;
  return state;
}
CheckpointPolicy::State member(uint32_t stable, std::optional<uint32_t> initialData) {
  CheckpointPolicy::State state;
  state.replicated = true;
  state.stable = {stable, 0};
  state.lastStable = {1, 0};
  if (initialData) state.initialDataTimestamp = Timestamp{*initialData, 0};
  return state;
}

TEST(CheckpointPolicy, IsDueOnceTheIntervalHasPassed) {
  CheckpointPolicy policy(60s, kStart);
  EXPECT_EQ(policy.decide(kStart + 59s, standalone()), Decision::kNotYet);
  EXPECT_EQ(policy.decide(kStart + 60s, standalone()), Decision::kFull);
  policy.done(kStart + 61s, Decision::kFull);
  EXPECT_EQ(policy.decide(kStart + 120s, standalone()), Decision::kNotYet);
  EXPECT_EQ(*policy.nextDue(), kStart + 121s);
}

TEST(CheckpointPolicy, ARequestIsServedAtOnceEvenWhenIdle) {
  CheckpointPolicy policy(60s, kStart);
  policy.request();
  EXPECT_EQ(policy.decide(kStart + 1s, standalone(false)), Decision::kFull);
  policy.done(kStart + 1s, Decision::kFull);
  EXPECT_FALSE(policy.requested());
}

TEST(CheckpointPolicy, AnIdleNodeSkips) {
  CheckpointPolicy policy(60s, kStart);
  EXPECT_EQ(policy.decide(kStart + 60s, standalone(false)), Decision::kSkipIdle);
  policy.done(kStart + 60s, Decision::kSkipIdle);
  EXPECT_EQ(policy.decide(kStart + 61s, standalone(true)), Decision::kNotYet);
}

TEST(CheckpointPolicy, AFailedOneIsDueAgainAfterSeconds) {
  for (const auto interval : {60s, 0s}) {
    CheckpointPolicy policy(interval, kStart);
    policy.request();
    policy.failed(kStart + 60s);
    EXPECT_EQ(policy.decide(kStart + 64s, standalone()), Decision::kNotYet);
    policy.request();
    EXPECT_EQ(policy.decide(kStart + 64s, standalone()), Decision::kNotYet);
    EXPECT_EQ(policy.decide(kStart + 65s, standalone(false)), Decision::kFull);
    policy.done(kStart + 65s, Decision::kFull);
    EXPECT_EQ(policy.decide(kStart + 66s, standalone()), Decision::kNotYet);
    policy.request();
    EXPECT_EQ(policy.decide(kStart + 66s, standalone()), Decision::kFull);
  }
}

TEST(CheckpointPolicy, IntervalZeroMeansOnlyOnRequest) {
  CheckpointPolicy policy(0s, kStart);
  EXPECT_EQ(policy.decide(kStart + 1000h, standalone()), Decision::kNotYet);
  EXPECT_FALSE(policy.nextDue());
  policy.request();
  EXPECT_EQ(policy.decide(kStart, standalone()), Decision::kFull);
}

TEST(CheckpointPolicy, AMemberTakesStableOnesFromItsInitialDataTimestampOn) {
  CheckpointPolicy policy(60s, kStart);
  EXPECT_EQ(policy.decide(kStart + 60s, member(10, 10)), Decision::kStable);
  EXPECT_EQ(policy.decide(kStart + 60s, member(9, 10)), Decision::kSkipUnstable);
  EXPECT_TRUE(CheckpointPolicy::options(Decision::kStable).stable);
}

TEST(CheckpointPolicy, TheFirstStableOneIsDueAtOnce) {
  for (const auto interval : {60s, 0s}) {
    CheckpointPolicy policy(interval, kStart);
    const auto decide = [&](CheckpointPolicy::State state) {
      state.lastStable = {};
      return policy.decide(kStart + 1s, state);
    };
    EXPECT_EQ(decide(member(10, 10)), Decision::kStable);
    EXPECT_EQ(decide(member(9, 10)), Decision::kNotYet);
    EXPECT_EQ(decide(member(9, std::nullopt)), Decision::kNotYet);
    EXPECT_EQ(decide(standalone()), Decision::kNotYet);
    EXPECT_EQ(policy.decide(kStart + 1s, member(10, 10)), Decision::kNotYet) << "it has been taken";
  }
}

TEST(CheckpointPolicy, DuringInitialSyncCheckpointsAreFull) {
  CheckpointPolicy policy(60s, kStart);
  EXPECT_EQ(policy.decide(kStart + 60s, member(10, std::nullopt)), Decision::kFull);
  EXPECT_EQ(policy.decide(kStart + 60s, member(10, 0)), Decision::kFull);
  EXPECT_FALSE(CheckpointPolicy::options(Decision::kFull).stable);
}

TEST(CheckpointPolicy, OnlyTheTwoKindsAreTaken) {
  EXPECT_TRUE(CheckpointPolicy::takes(Decision::kFull));
  EXPECT_TRUE(CheckpointPolicy::takes(Decision::kStable));
  EXPECT_FALSE(CheckpointPolicy::takes(Decision::kSkipIdle));
  EXPECT_FALSE(CheckpointPolicy::takes(Decision::kSkipUnstable));
  EXPECT_FALSE(CheckpointPolicy::takes(Decision::kNotYet));
}

}  // namespace
}  // namespace troupe::storage
