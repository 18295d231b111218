#include "supervisors/metrics/replication_metrics.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "actors/replication/flow_control_state.hpp"
#include "actors/replication/member_figures.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/replication/source_candidates.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::supervisors {

namespace {

MetricSet::Labels with(const MetricSet::Labels& set, const std::string& label, std::string value) {
  MetricSet::Labels labels = set;
  labels.emplace_back(label, std::move(value));
  return labels;
}

/// Seconds between two entries; never negative.
double behind(const EntryDates& dates, const OpTime& newest, const OpTime& time) {
  return std::max(0.0, dates.secondsOf(newest) - dates.secondsOf(time));
}

/// Members that hold no data, or were never heard of, have no lag.
void addLags(MetricSet& m, const server::ServerContext& server, const OpTime& own, const MetricSet::Labels& set) {
  EntryDates& dates = server.progress->dates();
  const auto known = replication::candidatesOf(*server.membership->view(), server.progress->positions(), 0);
  OpTime newest = own;
  for (const auto& member : known.members) newest = std::max(newest, member.applied);
  if (newest > own) dates.noteHeard(newest.timestamp, {server::wallMillis(server)});
  const auto view = server.membership->view();
  const replication::MemberConfig* const self =
      view->config() ? view->config()->member(server.membership->self()) : nullptr;
  const double wanted = self ? static_cast<double>(self->secondaryDelaySecs) : 0;
  if (own != OpTime())
    m.gauge("troupe_replica_lag_seconds",
            "by how much this member is behind the newest entry that it knows of, beyond its secondaryDelaySecs",
            std::max(0.0, behind(dates, newest, own) - wanted), set);
  const auto of = [&](const std::string& member, const OpTime& applied) {
    if (applied == OpTime()) return;
    m.gauge("troupe_replica_member_lag_seconds", "by how much a member is behind, as this one knows",
            behind(dates, newest, applied), with(set, "member", member));
  };
  of(server.membership->self(), own);
  for (const auto& member : known.members) of(member.host, member.applied);
}

void addPositions(MetricSet& m, const server::ServerContext& server, const MetricSet::Labels& set) {
  const auto times = server.progress->times();
  const EntryDates& dates = server.progress->dates();
  m.gauge("troupe_replica_time_ahead_seconds",
          "how far the time of the newest entry is ahead of the clock of the node that wrote it",
          static_cast<double>(dates.aheadMillis()) / 1000, set);
  const auto position = [&](const char* what, const OpTime& time) {
    m.gauge("troupe_replica_position_seconds", "time of the newest entry that is applied, durable or committed",
            dates.secondsOf(time), with(set, "what", what));
  };
  position("applied", times.applied);
  position("durable", times.durable);
  position("committed", times.commitPoint);
  m.gauge("troupe_replica_commit_lag_seconds", "by how much the commit point is behind what this member has applied",
          behind(dates, times.applied, times.commitPoint), set);
  addLags(m, server, times.applied, set);
}

void addFollowing(MetricSet& m, const replication::MemberFigures& figures, const MetricSet::Labels& set) {
  const auto applied = figures.applied.get();
  m.counter("troupe_replica_applied_entries_total", "entries of the log of others that were applied",
            static_cast<double>(applied.entries), set);
  m.counter("troupe_replica_apply_batches_total", "batches in which they were applied",
            static_cast<double>(applied.batches), set);
  m.counter("troupe_replica_apply_seconds_total", "time that these batches took",
            static_cast<double>(applied.micros) / 1e6, set);
  const auto fetched = figures.fetched.get();
  m.counter("troupe_replica_fetched_entries_total", "entries fetched from others", static_cast<double>(fetched.entries),
            set);
  m.counter("troupe_replica_fetched_bytes_total", "their size", static_cast<double>(fetched.bytes), set);
  const auto selected = [&](const char* result, int64_t count) {
    m.counter("troupe_replica_source_selections_total", "choices of a member to fetch from, by what came of them",
              static_cast<double>(count), with(set, "result", result));
  };
  selected("same", fetched.choseSame);
  selected("different", fetched.choseDifferent);
  selected("none", fetched.foundNone);
  const auto buffer = figures.buffer.figures();
  m.gauge("troupe_replica_buffer_entries", "entries that are fetched and not yet applied",
          static_cast<double>(buffer.entries), set);
  m.gauge("troupe_replica_buffer_bytes", "their size", static_cast<double>(buffer.bytes), set);
  m.gauge("troupe_replica_buffer_limit_bytes", "size from which on fetching waits",
          static_cast<double>(buffer.maxBytes), set);
}

void addRollbacks(MetricSet& m, const replication::RollbackFigures::Values& rolledBack, const MetricSet::Labels& set) {
  m.counter("troupe_replica_rollbacks_total", "rollbacks that this process has carried out",
            static_cast<double>(rolledBack.rollbacks), set);
  m.counter("troupe_replica_rolled_back_entries_total", "entries of the log that they have taken back",
            static_cast<double>(rolledBack.entries), set);
  m.counter("troupe_replica_rollback_saved_documents_total", "documents that they have kept in files",
            static_cast<double>(rolledBack.savedDocuments), set);
}

void addFlowControl(MetricSet& m, server::ServerContext& server, const MetricSet::Labels& set) {
  const replication::FlowDecision last = server.flow->last();
  const storage::FlowTickets& tickets = server.admission.flow();
  m.gauge("troupe_replica_flow_tickets_per_second", "tickets that writers get each second (1e9: nothing is held back)",
          static_cast<double>(tickets.rate()), set);
  m.gauge("troupe_replica_flow_lagged", "1 while a primary holds writes back because its set lags", last.isLagged, set);
  m.gauge("troupe_replica_flow_waiting", "writers that wait for a ticket", static_cast<double>(tickets.waiting()), set);
  m.counter("troupe_replica_flow_tickets_total", "tickets taken", static_cast<double>(tickets.acquired()), set);
  m.counter("troupe_replica_flow_wait_seconds_total", "time that writers have waited for tickets",
            static_cast<double>(tickets.waitMicros()) / 1e6, set);
  m.gauge("troupe_replica_flow_sustainer_entries_per_second", "rate of the member that holds the commit point",
          last.sustainerRate, set);
}

/// Seconds between the oldest and the newest entry of the own log; nothing: it was not looked at yet, or is empty.
std::optional<double> logWindow(const storage::OplogStore& oplog) {
  const bson::Timestamp oldest = oplog.beginning(), newest = oplog.visibility().get();
  if (oldest == bson::Timestamp{}) return std::nullopt;
  return std::max(0.0, static_cast<double>(newest.seconds) - static_cast<double>(oldest.seconds));
}

void addLog(MetricSet& m, server::ServerContext& server, const MetricSet::Labels& set) {
  const storage::OplogStore& oplog = *server.oplog;
  if (const auto window = logWindow(oplog))
    m.gauge("troupe_replica_log_window_seconds",
            "time that this member's log reaches back: one that lags by more cannot catch up from it", *window, set);
  m.gauge("troupe_replica_log_bytes", "size of the log's entries", static_cast<double>(oplog.bytes()), set);
  m.counter("troupe_replica_log_entries_total", "entries added to the log, by this member or from others",
            static_cast<double>(oplog.added()), set);
}

}  // namespace

void addReplicationMetrics(MetricSet& metrics, server::ServerContext& server) {
  const MetricSet::Labels set{{"set", server.membership->setName()}};
  addPositions(metrics, server, set);
  if (server.following) {
    addFollowing(metrics, *server.following, set);
    addRollbacks(metrics, server.following->rolledBack.get(), set);
  }
  addFlowControl(metrics, server, set);
  addLog(metrics, server, set);
}

}  // namespace troupe::supervisors
