#include "supervisors/metrics/replica_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>

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

TEST(ReplicaMetrics, TellWhetherTheMemberIsTooStale) {
  ReplicaView view;
  EXPECT_THAT(textOf(view), HasSubstr("troupe_replica_too_stale{set=\"rs\"} 0\n"));
  view.topology.memory.tooStale = true;
  view.topology.memory.phase = Topology::Phase::kFollower;
  view.topology.memory.maintenance = true;
  ASSERT_EQ(view.state(), replication::MemberState::kRecovering);
  EXPECT_THAT(textOf(view), HasSubstr("troupe_replica_too_stale{set=\"rs\"} 1\n"));
  view.topology.memory.copyingData = true;
  ASSERT_EQ(view.state(), replication::MemberState::kStartup2);
  EXPECT_THAT(textOf(view), HasSubstr("troupe_replica_too_stale{set=\"rs\"} 0\n")) << "a resync is under way";
}

TEST(ReplicaMetrics, CountTheOtherMembersByHealth) {
  ReplicaView view;
  MemberView heard, silent, cutOff, expected;
  for (MemberView* alive : {&heard, &cutOff, &expected}) alive->heard = {0};
  heard.state = replication::MemberState::kSecondary;
  cutOff.state = replication::MemberState::kDown;  // others have heard of it a moment ago
  view.topology.memory.members = {heard, silent, cutOff, expected};
  const std::string text = textOf(view);
  EXPECT_THAT(text, HasSubstr("troupe_replica_members{set=\"rs\",health=\"up\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("troupe_replica_members{set=\"rs\",health=\"down\"} 3\n"));
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

/// The samples of an initial sync, by name.
std::map<std::string, std::string> samplesOf(const replication::Membership& membership) {
  MetricSet metrics;
  addReplicaMetrics(metrics, membership);
  const std::string text = metrics.text();
  std::map<std::string, std::string> samples;
  const std::regex sample(R"x(\ntroupe_replica_initial_(\w+)\{set="rs"\} (\S+))x");
  for (std::sregex_iterator at(text.begin(), text.end(), sample), end; at != end; ++at) samples[(*at)[1]] = (*at)[2];
  return samples;
}
using Samples = std::map<std::string, std::string>;
Samples samples(const char* failed, const char* completed, const char* givenUp, const char* wanted,
                const char* copied) {
  return {{"sync_failed_attempts_total", failed},
          {"syncs_completed_total", completed},
          {"syncs_given_up_total", givenUp},
          {"sync_wanted_bytes", wanted},
          {"sync_copied_bytes", copied}};
}

TEST(ReplicaMetrics, TellOfInitialSyncs) {
  replication::Membership membership("rs", "n1:1");
  replication::SyncStatus& status = *membership.syncStatus();
  EXPECT_EQ(samplesOf(membership), samples("0", "0", "0", "0", "0"));
  status.begin({1});
  status.beginAttempt("n2:1", {2});
  status.addDatabase("app", 1000);
  status.addDatabase("more", 500);
  status.beginDatabase("app", 2, {3});
  status.beginCollection("app", "app.one", 10, 600, {4});
  status.noteBatch("app", "app.one", 5, 300);
  EXPECT_EQ(samplesOf(membership), samples("0", "0", "0", "1500", "300"));
  status.noteBatch("app", "app.one", 10, 900);
  EXPECT_EQ(samplesOf(membership), samples("0", "0", "0", "1700", "1200")) << "it has grown since";
  status.endAttempt("the source has gone", {5});
  EXPECT_EQ(samplesOf(membership), samples("1", "0", "0", "0", "0")) << "nothing is copied before the next attempt";
  status.beginAttempt("n3:1", {6});
  status.addDatabase("app", 1000);
  EXPECT_EQ(samplesOf(membership), samples("1", "0", "0", "1000", "0"));
  status.endAttempt(replication::SyncStatus::kSucceeded, {7});
  status.end({7});
  EXPECT_EQ(samplesOf(membership), samples("1", "1", "0", "0", "0"));
  status.giveUp();
  EXPECT_EQ(samplesOf(membership)["syncs_given_up_total"], "1");
}

}  // namespace
}  // namespace troupe::supervisors
