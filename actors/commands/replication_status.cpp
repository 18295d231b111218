// Replication in serverStatus.
#include "actors/commands/replication_status.hpp"

#include <chrono>

#include "actors/replication/flow_control_state.hpp"
#include "actors/replication/member_figures.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::commands {
using namespace server;

namespace {

int64_t microsOf(Duration time) { return std::chrono::duration_cast<std::chrono::microseconds>(time).count(); }

/// Section `flowControl` (LCK-015).
void appendFlowControl(bson::Builder& b, const ServerContext& server) {
  const replication::FlowDecision last = server.flow->last();
  const storage::FlowTickets& tickets = server.admission.flow();
  b.openDocument("flowControl")
      .append("enabled", server.flow->isEnabled())
      .append("targetRateLimit", tickets.rate())
      .append("timeAcquiringMicros", tickets.waitMicros())
      .append("locksPerKiloOp", last.locksPerOperation * 1000)
      .append("sustainerRate", static_cast<int64_t>(last.sustainerRate))
      .append("isLagged", last.isLagged)
      .append("isLaggedCount", last.timesLagged)
      .append("isLaggedTimeMicros", microsOf(last.timeLagged))
      .close();
}

void appendOpcounters(bson::Builder& b, const replication::ApplyFigures::Values& applied) {
  b.append("opcountersRepl", bson::doc("insert", applied.inserts, "query", 0, "update", applied.updates, "delete",
                                       applied.removes, "getmore", 0, "command", applied.commands));
}

/// Section `oplogTruncation` (TRN-001).
void appendTruncation(bson::Builder& b, const storage::OplogStore& oplog) {
  const storage::OplogStore::Figures figures = oplog.figures();
  b.append("oplogTruncation",
           bson::doc("totalTimeProcessingMicros", figures.scanMicros, "processingMethod", "scanning",
                     "totalTimeTruncatingMicros", figures.truncateMicros, "truncateCount", figures.truncations));
}

bson::Document bufferMetrics(const replication::OplogBuffer::Figures& figures) {
  return bson::doc("count", static_cast<int64_t>(figures.entries), "sizeBytes", static_cast<int64_t>(figures.bytes),
                   "maxSizeBytes", static_cast<int64_t>(figures.maxBytes));
}

bson::Document applyMetrics(const replication::ApplyFigures::Values& applied, int64_t timesSecondary) {
  // Entries count once their batch has ended: `ops` is no finer than `batchSize`.
  return bson::doc("attemptsToBecomeSecondary", timesSecondary, "batchSize", applied.entries, "ops", applied.entries,
                   "batches", bson::doc("num", applied.batches, "totalMillis", applied.micros / 1000));
}

bson::Document networkMetrics(const replication::FetchFigures::Values& fetched) {
  return bson::doc("bytes", fetched.bytes, "ops", fetched.entries, "getmores",
                   bson::doc("num", fetched.batches, "totalMillis", fetched.waitMicros / 1000), "readersCreated",
                   fetched.readers);
}

bson::Document sourceMetrics(const replication::FetchFigures::Values& fetched) {
  return bson::doc("numSelections", fetched.selections, "numTimesChoseSame", fetched.choseSame,
                   "numTimesChoseDifferent", fetched.choseDifferent, "numTimesCouldNotFind", fetched.foundNone);
}

bson::Document rollbackMetrics(const replication::RollbackFigures::Values& rolledBack) {
  return bson::doc("count", rolledBack.rollbacks, "undoneEntries", rolledBack.entries, "savedDocuments",
                   rolledBack.savedDocuments);
}

bson::Document initialSyncMetrics(const replication::SyncStatus::Counts& counts) {
  return bson::doc("completed", counts.completed, "failedAttempts", counts.failedAttempts, "failures", counts.failures);
}

}  // namespace

void appendReplication(bson::Builder& b, const ServerContext& server) {
  if (!server.membership) return;
  const auto view = server.membership->view();
  b.openDocument("repl");
  replication::appendHello(b, *server.membership, *view, server.progress->times(), server.progress->dates(), true);
  b.append("rbid", static_cast<int32_t>(server.membership->rollbackId()));
  b.close().openDocument("electionMetrics");
  view->figures.appendElections(b);
  b.close();
  appendFlowControl(b, server);
  if (server.following) appendOpcounters(b, server.following->applied.get());
  appendTruncation(b, *server.oplog);
}

void appendReplicationMetrics(bson::Builder& b, const ServerContext& server) {
  if (!server.membership) return;
  const auto view = server.membership->view();
  b.openDocument("repl");
  if (const replication::MemberFigures* const following = server.following) {
    const auto fetched = following->fetched.get();
    b.append("apply", applyMetrics(following->applied.get(), view->figures.timesSecondary()));
    b.append("buffer", bufferMetrics(following->buffer.figures()));
    b.append("network", networkMetrics(fetched)).append("syncSource", sourceMetrics(fetched));
    b.append("rollback", rollbackMetrics(following->rolledBack.get()));
  }
  b.append("initialSync", initialSyncMetrics(server.membership->syncStatus()->counts()));
  b.openDocument("stateTransition");
  view->figures.appendStateTransitions(b);
  b.close().close();
}

}  // namespace troupe::commands
