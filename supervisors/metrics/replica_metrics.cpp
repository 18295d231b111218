#include "supervisors/metrics/replica_metrics.hpp"

#include <algorithm>

#include "actors/replication/replica_view.hpp"

namespace troupe::supervisors {

namespace {

using replication::MemberState;

/// The states that a member can be in itself; the others are what it says of members it does not hear of.
constexpr MemberState kOwnStates[] = {MemberState::kStartup,    MemberState::kPrimary,  MemberState::kSecondary,
                                      MemberState::kRecovering, MemberState::kStartup2, MemberState::kArbiter,
                                      MemberState::kRollback,   MemberState::kRemoved};

void addRole(MetricSet& m, const replication::ReplicaView& view, const MetricSet::Labels& set) {
  for (const MemberState state : kOwnStates) {
    MetricSet::Labels labels = set;
    labels.emplace_back("state", machines::EnumNames<MemberState>::name(state));
    m.gauge("troupe_replica_state", "1 for the state the member is in, 0 for the others", view.state() == state,
            labels);
  }
  const bool waits = view.topology.memory.tooStale && view.state() == MemberState::kRecovering;
  m.gauge("troupe_replica_too_stale", "1 while no other member has the entries that this one needs next", waits, set);
  m.gauge("troupe_replica_writable", "1 while the member is a primary that takes writes", view.isWritable(), set);
  m.gauge("troupe_replica_term", "election term the member is in", static_cast<double>(view.topology.memory.term), set);
}

void addMembers(MetricSet& m, const replication::ReplicaView& view, const MetricSet::Labels& set) {
  const auto& others = view.topology.memory.members;
  const auto up = std::count_if(others.begin(), others.end(), [](const auto& other) { return other.isUp(); });
  const auto add = [&](const char* health, double count) {
    MetricSet::Labels labels = set;
    labels.emplace_back("health", health);
    m.gauge("troupe_replica_members", "other members of the set, by whether this one hears of them", count, labels);
  };
  add("up", static_cast<double>(up));
  add("down", static_cast<double>(others.size()) - static_cast<double>(up));
}

void addElections(MetricSet& m, const replication::ReplicaView& view, const MetricSet::Labels& set) {
  bson::Builder b;
  view.figures.appendElections(b);
  const bson::Document figures = b.finish();
  for (const bson::Element& reason : figures.view()) {
    if (!reason.is(bson::Type::kDocument)) continue;
    MetricSet::Labels labels = set;
    labels.emplace_back("reason", reason.name());
    const bson::View tries = reason.asDocument();
    m.counter("troupe_replica_elections_called_total", "elections the member stood for", tries["called"].toDouble(),
              labels);
    m.counter("troupe_replica_elections_won_total", "elections the member won", tries["successful"].toDouble(), labels);
  }
  m.counter("troupe_replica_step_downs_total", "times the member ceased to be primary",
            figures["numStepDowns"].toDouble(), set);
}

/// A start begins to count anew; a sync that is given up ends the process.
void addInitialSync(MetricSet& m, const replication::SyncStatus& status, const MetricSet::Labels& set) {
  const auto counts = status.counts();
  m.counter("troupe_replica_initial_sync_failed_attempts_total",
            "attempts to copy the data of another member that failed", static_cast<double>(counts.failedAttempts), set);
  m.counter("troupe_replica_initial_syncs_completed_total", "initial syncs after which the member had its data",
            static_cast<double>(counts.completed), set);
  m.counter("troupe_replica_initial_syncs_given_up_total", "initial syncs of which all attempts failed",
            static_cast<double>(counts.failures), set);
  const auto volume = status.volume();
  m.gauge("troupe_replica_initial_sync_wanted_bytes",
          "approximate size of the data that the present attempt copies; 0 while there is none",
          volume.isCopying ? static_cast<double>(volume.wanted) : 0, set);
  m.gauge("troupe_replica_initial_sync_copied_bytes", "how much of it is copied",
          volume.isCopying ? static_cast<double>(volume.copied) : 0, set);
}

}  // namespace

void addReplicaMetrics(MetricSet& metrics, const replication::Membership& membership) {
  const auto view = membership.view();
  const MetricSet::Labels set{{"set", membership.setName()}};
  addRole(metrics, *view, set);
  addMembers(metrics, *view, set);
  addElections(metrics, *view, set);
  addInitialSync(metrics, *membership.syncStatus(), set);
}

}  // namespace troupe::supervisors
