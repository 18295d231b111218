#include "actors/replication/election_figures.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace troupe::replication::test {
namespace {

/// From one phase to another, in the same term or a later one.
void step(ElectionFigures& figures, Topology::Phase from, Topology::Phase to, int64_t termsLater = 0) {
  Snapshot<Topology> before;
  before.memory.phase = from;
  machines::Outcome<Topology> outcome;
  outcome.next.memory.phase = to;
  outcome.next.memory.term = before.memory.term + termsLater;
  figures.count(before, outcome);
}

TEST(ElectionFigures, CountHowOftenTheNodeBecameASecondary) {
  using enum Topology::Phase;
  ElectionFigures figures;
  step(figures, kFollower, kFollower);
  EXPECT_EQ(figures.timesSecondary(), 0);
  step(figures, kPrimary, kFollower);
  EXPECT_EQ(figures.timesSecondary(), 1);
  step(figures, kFollower, kPrimary);
  EXPECT_EQ(figures.timesSecondary(), 1);
}

/// ELE-036.
TEST(ElectionFigures, CountStepDownsAndThoseThatALaterTermCaused) {
  using enum Topology::Phase;
  ElectionFigures figures;
  const auto counted = [&] {
    bson::Builder out;
    figures.appendElections(out);
    const bson::Document all = out.finish();
    return std::pair(all["numStepDowns"].toInt64(-1), all["numStepDownsCausedByHigherTerm"].toInt64(-1));
  };
  step(figures, kFollower, kFollower, 1);
  EXPECT_EQ(counted(), std::pair(int64_t{0}, int64_t{0}));
  step(figures, kPrimary, kFollower);
  EXPECT_EQ(counted(), std::pair(int64_t{1}, int64_t{0}));
  step(figures, kPrimary, kFollower, 1);
  EXPECT_EQ(counted(), std::pair(int64_t{2}, int64_t{1}));
}

/// ELE-036. Of the last change of the role alone.
TEST(ElectionFigures, TellWhichOperationsAChangeOfTheRoleHasEndedAndWhichWentOn) {
  using enum Topology::Phase;
  ElectionFigures figures;
  const auto shown = [&] {
    bson::Builder out;
    figures.appendStateTransitions(out);
    return out.finish();
  };
  const auto transition = [](const char* last, int64_t killed, int64_t left) {
    return bson::doc("lastStateTransition", last, "totalOperationsKilled", killed, "totalOperationsRunning", left);
  };
  EXPECT_EQ(shown(), transition("", 0, 0));
  figures.countOperations(3, 2);
  step(figures, kPrimary, kFollower);
  EXPECT_EQ(shown(), transition("stepDown", 3, 2));
  step(figures, kFollower, kPrimary);
  figures.countOperations(0, 5);
  EXPECT_EQ(shown(), transition("stepUp", 0, 5));
}

}  // namespace
}  // namespace troupe::replication::test
