#include "supervisors/supervision/supervision_policy.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace troupe::supervisors {
namespace {

using namespace std::chrono_literals;

const Status kCrash(ErrorCode::kInternalError, "crash");

ChildRules child(std::string name, Restart restart = Restart::kPermanent, int level = 0,
                 OnExhausted exhausted = OnExhausted::kEscalate) {
  return {.name = std::move(name), .restart = restart, .exhausted = exhausted, .grace = 10s, .level = level};
}

/// Drives a policy and writes its actions as text: "start a, start b".
class SupervisionPolicyTest : public ::testing::Test {
 protected:
  void make(Strategy strategy, std::vector<ChildRules> children, Intensity intensity = {3, 10s}) {
    policy.emplace(strategy, intensity, Backoff{100ms, 1s, 2, 0.5}, std::move(children));
  }
  void makeRunning(Strategy strategy, std::vector<ChildRules> children, Intensity intensity = {3, 10s}) {
    make(strategy, std::move(children), intensity);
    policy->start();
    for (size_t i = 0; i < policy->size(); ++i) policy->childReady(i);
  }
  std::string text(const SupervisionPolicy::Actions& actions) const {
    std::ostringstream out;
    for (const auto& action : actions) {
      if (out.tellp() > 0) out << ", ";
      std::visit([&](const auto& a) { write(out, a); }, action);
    }
    return out.str();
  }
  std::string ended(size_t i, const Status& reason = kCrash, double draw = 0) {
    return text(policy->childEnded(i, reason, now, draw));
  }
  /// Fails and comes back at once.
  void crashAndRecover(size_t i) {
    policy->childEnded(i, kCrash, now, 0);
    policy->retryDue(i);
    policy->childReady(i);
  }

  std::optional<SupervisionPolicy> policy;
  TimePoint now = TimePoint(1h);

 private:
  using P = SupervisionPolicy;
  const std::string& name(size_t i) const { return policy->rules(i).name; }
  void write(std::ostream& out, const P::StartChild& a) const { out << "start " << name(a.child); }
  void write(std::ostream& out, const P::RequestStop& a) const { out << "stop " << name(a.child); }
  void write(std::ostream& out, const P::KillAfterGrace& a) const { out << "grace " << name(a.child); }
  void write(std::ostream& out, const P::Kill& a) const { out << "kill " << name(a.child); }
  void write(std::ostream& out, const P::RetryAfter& a) const {
    out << "retry " << name(a.child) << " in " << a.pause / 1ms << "ms";
  }
  void write(std::ostream& out, const P::AllReady&) const { out << "ready"; }
  void write(std::ostream& out, const P::End& a) const { out << "end " << a.reason.toString(); }
};

TEST_F(SupervisionPolicyTest, StartsLevelByLevel) {
  make(Strategy::kOneForOne, {child("a"), child("b"), child("c", Restart::kPermanent, 1)});
  EXPECT_EQ(text(policy->start()), "start a, start b");
  EXPECT_EQ(text(policy->childReady(1)), "");
  EXPECT_EQ(text(policy->childReady(0)), "start c");
  EXPECT_EQ(text(policy->childReady(2)), "ready");
}

TEST_F(SupervisionPolicyTest, OneForOneRestartsOnlyTheFailed) {
  makeRunning(Strategy::kOneForOne, {child("a"), child("b"), child("c")});
  EXPECT_EQ(ended(1), "retry b in 100ms");
  EXPECT_EQ(text(policy->retryDue(1)), "start b");
  EXPECT_EQ(text(policy->childReady(1)), "ready");
}

TEST_F(SupervisionPolicyTest, OneForAllStopsTheOthersLastFirstAndStartsAllAgain) {
  makeRunning(Strategy::kOneForAll, {child("a"), child("b"), child("c")});
  EXPECT_EQ(ended(1), "retry b in 100ms, stop c, grace c");
  EXPECT_EQ(ended(2, Status::OK()), "stop a, grace a");
  EXPECT_EQ(ended(0, Status::OK()), "start a") << "and c behind b, which pauses";
  EXPECT_EQ(text(policy->retryDue(1)), "start b, start c");
}

TEST_F(SupervisionPolicyTest, RestForOneRestartsThoseStartedAfter) {
  makeRunning(Strategy::kRestForOne, {child("a"), child("b"), child("c"), child("d")});
  EXPECT_EQ(ended(1), "retry b in 100ms, stop d, grace d");
  EXPECT_EQ(ended(3, Status::OK()), "stop c, grace c");
  EXPECT_EQ(text(policy->retryDue(1)), "");
  EXPECT_EQ(ended(2, Status::OK()), "start b, start c, start d");
  EXPECT_EQ(policy->state(0), ChildState::kRunning);
}

TEST_F(SupervisionPolicyTest, RestForOneStartsWhatDependsOnAFailedChildBehindIt) {
  makeRunning(Strategy::kRestForOne, {child("a"), child("b"), child("c")});
  EXPECT_EQ(ended(1), "retry b in 100ms, stop c, grace c");
  EXPECT_EQ(ended(2, Status::OK()), "") << "b pauses";
  EXPECT_EQ(text(*policy->restart(0)), "stop a, grace a");
  EXPECT_EQ(ended(0, Status::OK()), "start a") << "it depends on nobody that pauses";
  EXPECT_EQ(text(policy->retryDue(1)), "start b, start c");
}

TEST_F(SupervisionPolicyTest, NobodyWaitsForAParkedChild) {
  makeRunning(Strategy::kRestForOne, {child("a", Restart::kPermanent, 0, OnExhausted::kPark), child("b")}, {1, 10s});
  EXPECT_EQ(ended(0), "retry a in 100ms, stop b, grace b");
  EXPECT_EQ(ended(1, Status::OK()), "");
  EXPECT_EQ(text(*policy->park(0, "maintenance")), "start b");
}

TEST_F(SupervisionPolicyTest, HigherLevelsWaitForTheOneThatPauses) {
  makeRunning(Strategy::kOneForAll, {child("a"), child("b", Restart::kPermanent, 1)});
  EXPECT_EQ(ended(0), "retry a in 100ms, stop b, grace b");
  EXPECT_EQ(ended(1, Status::OK()), "");
  EXPECT_EQ(text(policy->retryDue(0)), "start a");
  EXPECT_EQ(text(policy->childReady(0)), "start b");
}

TEST_F(SupervisionPolicyTest, BacksOffExponentiallyWithJitter) {
  makeRunning(Strategy::kOneForOne, {child("a")}, {10, 60s});
  EXPECT_EQ(ended(0), "retry a in 100ms");
  policy->retryDue(0);
  EXPECT_EQ(ended(0), "retry a in 200ms");
  policy->retryDue(0);
  EXPECT_EQ(ended(0, kCrash, 0.5), "retry a in 300ms");  // of 400
  policy->retryDue(0);
  EXPECT_EQ(ended(0), "retry a in 800ms");
  policy->retryDue(0);
  EXPECT_EQ(ended(0), "retry a in 1000ms");
}

TEST_F(SupervisionPolicyTest, FailuresOutsideTheWindowAreForgotten) {
  makeRunning(Strategy::kOneForOne, {child("a")}, {1, 10s});
  crashAndRecover(0);
  now += 11s;
  EXPECT_EQ(ended(0), "retry a in 100ms");
  EXPECT_EQ(policy->failures(0), 1);
}

TEST_F(SupervisionPolicyTest, EscalatesWhenAChildFailsTooOftenAfterStoppingTheOthers) {
  makeRunning(Strategy::kOneForOne, {child("a"), child("b"), child("c")}, {2, 10s});
  crashAndRecover(1);
  crashAndRecover(1);
  EXPECT_EQ(ended(1), "stop c, grace c");
  EXPECT_EQ(ended(2, Status::OK()), "stop a, grace a");
  EXPECT_EQ(ended(0, Status::OK()), "end InternalError: b failed 3 times in a row: crash");
}

TEST_F(SupervisionPolicyTest, ParksAChildThatFailsTooOftenAndResumesIt) {
  makeRunning(Strategy::kOneForOne, {child("a", Restart::kPermanent, 0, OnExhausted::kPark), child("b")}, {1, 10s});
  crashAndRecover(0);
  EXPECT_EQ(ended(0), "");
  EXPECT_EQ(policy->state(0), ChildState::kParked);
  EXPECT_EQ(policy->reason(0), "InternalError: crash");
  EXPECT_EQ(policy->state(1), ChildState::kRunning);
  auto resumed = policy->resume(0);
  ASSERT_TRUE(resumed.isOK());
  EXPECT_EQ(text(*resumed), "start a");
  EXPECT_EQ(policy->failures(0), 0);
}

TEST_F(SupervisionPolicyTest, AStartDoesNotAwaitAChildThatHasFailedAndIsSetAside) {
  make(Strategy::kOneForOne,
       {child("a", Restart::kPermanent, 0, OnExhausted::kPark), child("b"), child("c", Restart::kPermanent, 1)});
  policy->start();
  EXPECT_EQ(text(policy->childReady(1)), "") << "it may still become ready";
  EXPECT_EQ(ended(0), "retry a in 100ms, start c");
  EXPECT_EQ(text(policy->retryDue(0)), "start a");
  EXPECT_EQ(text(policy->childReady(2)), "ready") << "whether it is starting or pausing";
  EXPECT_EQ(ended(0), "retry a in 200ms");
  policy->retryDue(0);
  EXPECT_EQ(text(policy->childReady(0)), "ready") << "a complete recovery";
}

TEST_F(SupervisionPolicyTest, TransientAndTemporaryChildren) {
  makeRunning(Strategy::kOneForOne, {child("transient", Restart::kTransient), child("temporary", Restart::kTemporary)});
  EXPECT_EQ(ended(1), "");
  EXPECT_EQ(policy->state(1), ChildState::kStopped);
  EXPECT_EQ(ended(0), "retry transient in 100ms");
  policy->retryDue(0);
  policy->childReady(0);
  EXPECT_EQ(ended(0, Status::OK()), "");
  EXPECT_EQ(policy->state(0), ChildState::kStopped);
}

TEST_F(SupervisionPolicyTest, ShutsDownInReverseOrderAndKillsAfterGrace) {
  makeRunning(Strategy::kOneForOne, {child("a"), child("b")});
  EXPECT_EQ(text(policy->shutdown()), "stop b, grace b");
  EXPECT_EQ(text(policy->graceOver(1)), "kill b");
  EXPECT_EQ(ended(1), "stop a, grace a");
  EXPECT_EQ(ended(0, Status::OK()), "end OK");
}

TEST_F(SupervisionPolicyTest, ShutdownDuringARecoveryStartsNobody) {
  makeRunning(Strategy::kOneForAll, {child("a"), child("b")});
  EXPECT_EQ(ended(0), "retry a in 100ms, stop b, grace b");
  EXPECT_EQ(text(policy->shutdown()), "");
  EXPECT_EQ(ended(1, Status::OK()), "end OK");
  EXPECT_EQ(text(policy->retryDue(0)), "");
}

TEST_F(SupervisionPolicyTest, AnOperatorRestartsParksAndStops) {
  makeRunning(Strategy::kOneForOne, {child("a")});
  EXPECT_EQ(text(*policy->restart(0)), "stop a, grace a");
  EXPECT_EQ(ended(0, Status::OK()), "start a");
  policy->childReady(0);
  EXPECT_EQ(policy->failures(0), 0);
  EXPECT_EQ(text(*policy->park(0, "maintenance")), "stop a, grace a");
  EXPECT_EQ(policy->park(0, "again").status().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(ended(0, Status::OK()), "");
  EXPECT_EQ(policy->state(0), ChildState::kParked);
  EXPECT_EQ(policy->reason(0), "maintenance");
  EXPECT_EQ(policy->restart(0).status().code(), ErrorCode::kIllegalOperation);
}

TEST_F(SupervisionPolicyTest, AChildMayJoinLater) {
  makeRunning(Strategy::kOneForOne, {child("a")});
  EXPECT_EQ(text(policy->add(child("b"))), "start b");
  EXPECT_EQ(policy->size(), 2U);
}

}  // namespace
}  // namespace troupe::supervisors
