#include "supervisors/metrics/replica_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/replication/replica_view.hpp"

namespace troupe::supervisors {
namespace {

using replication::MemberView;
using replication::ReplicaView;
using replication::Topology;
using ::testing::HasSubstr;

/// What a member of set "rs" tells with this view of it.
std::string textOf(ReplicaView view) {
  replication::Membership membership("rs", "n1:1");
  membership.publish(std::move(view));
  MetricSet metrics;
  addReplicaMetrics(metrics, membership);
  return metrics.text();
}

TEST(ReplicaMetrics, NameTheStateAmongAllStatesAndTheTerm) {
  ReplicaView view;
  view.topology.memory.phase = Topology::Phase::kFollower;
  view.topology.memory.term = 7;
  const std::string text = textOf(view);
  EXPECT_THAT(text, HasSubstr("troupe_replica_state{set=\"rs\",state=\"SECONDARY\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_state{set=\"rs\",state=\"PRIMARY\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_term{set=\"rs\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_writable{set=\"rs\"} 0\n"));
}

TEST(ReplicaMetrics, APrimaryIsWritableOnlyOnceItHasDrained) {
  ReplicaView view;
  view.topology.memory.phase = Topology::Phase::kDraining;
  EXPECT_THAT(textOf(view), HasSubstr("troupe_replica_writable{set=\"rs\"} 0\n"));
  view.topology.memory.phase = Topology::Phase::kPrimary;
  const std::string text = textOf(view);
  EXPECT_THAT(text, HasSubstr("troupe_replica_state{set=\"rs\",state=\"PRIMARY\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_writable{set=\"rs\"} 1\n"));
}

TEST(ReplicaMetrics, CountTheOtherMembersByHealth) {
  ReplicaView view;
  MemberView heard, silent;
  heard.heard = {0};
  view.topology.memory.members = {heard, silent, silent};
  const std::string text = textOf(view);
  EXPECT_THAT(text, HasSubstr("troupe_replica_members{set=\"rs\",health=\"up\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_members{set=\"rs\",health=\"down\"} 2\n"));
}

TEST(ReplicaMetrics, CountElectionsByReasonAndStepDowns) {
  ReplicaView view;
  machines::Snapshot<Topology> before;
  before.memory.phase = Topology::Phase::kFollower;
  machines::Outcome<Topology> won;
  won.next.memory.phase = Topology::Phase::kPrimary;
  won.next.memory.term = 1;
  view.figures.count(before, won);
  machines::Outcome<Topology> lost;
  lost.next.memory.phase = Topology::Phase::kFollower;
  lost.next.memory.term = 2;
  view.figures.count(won.next, lost);
  const std::string text = textOf(view);
  EXPECT_THAT(text, HasSubstr("troupe_replica_elections_won_total{set=\"rs\",reason=\"freezeTimeout\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_elections_called_total{set=\"rs\",reason=\"electionTimeout\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_step_downs_total{set=\"rs\"} 1\n"));
}

}  // namespace
}  // namespace troupe::supervisors
