#include "actors/replication/election_figures.hpp"

#include <gtest/gtest.h>

namespace troupe::replication::test {
namespace {

/// From one phase to another.
void step(ElectionFigures& figures, Topology::Phase from, Topology::Phase to) {
  Snapshot<Topology> before;
  before.memory.phase = from;
  machines::Outcome<Topology> outcome;
  outcome.next.memory.phase = to;
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

}  // namespace
}  // namespace troupe::replication::test
