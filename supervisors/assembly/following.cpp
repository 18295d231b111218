#include "supervisors/assembly/following.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/initial_syncer.hpp"
#include "actors/replication/progress_reporter.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/service_operation.hpp"
#include "messaging/errors/co_status.hpp"
#include "supervisors/assembly/linked_members.hpp"
#include "supervisors/assembly/replication_wiring.hpp"

namespace troupe::supervisors {

using log::Component;
using replication::NodeName;

namespace {

constexpr size_t kBufferBytes = size_t{64} << 20;

Task<Status> askApplier(Node* node, Payload question) {
  const Answer answer = co_await node->ask(node->address(replication::kOplogApplierPath), std::move(question));
  co_return answer.status();
}

/// Takes as long as it takes: its progress is shown, and its failure ends the node.
Task<Status> copyData(Node* node) {
  const Answer answer =
      co_await node->ask(node->address(replication::kInitialSyncPath), local(replication::BeginInitialSync{}));
  co_return answer.status();
}

/// Ends when the rollback has: the actor answers nobody, but has the fetcher look for a source again.
Task<Status> rollBack(server::ServerContext* server, std::shared_ptr<RollbackTurn> turn, NodeName source) {
  (void)turn->takeCopyAnew();  // left by a rollback whose fetcher has gone
  auto ended = turn->await();
  server->node.tell(server->node.address(replication::kRollbackPath), local(replication::Diverged{std::move(source)}));
  co_await ended;
  if (!turn->takeCopyAnew()) co_return Status::OK();
  const Status copied = co_await copyData(&server->node);
  if (copied == ErrorCode::kNodeNotFound) co_return Status::OK();  // the next source finds that it has diverged
  co_return copied;
}

void endCatchUp(server::ServerContext& server, int64_t term) {
  server.node.tell(server.node.address(replication::kTopologyPath), local(replication::CatchUpDone{term}));
}

void noteSource(server::ServerContext& server, const NodeName& source) {
  if (server.membership->syncSource() == source) return;
  server.membership->setSyncSource(source);
  server.node.tell(server.node.address(replication::kProgressPath), local(replication::SourceChosen{}));
}

/// A member's slow operations are those of the log: whatever the profile settings of databases say, they get a line.
std::function<void(const replication::BatchWriter::AppliedUnit&)> slowUnits(server::ServerContext& server) {
  return [&server](const replication::BatchWriter::AppliedUnit& unit) {
    const int64_t threshold = server.parameters.slowOperationMillis;
    const int64_t millis = std::chrono::duration_cast<std::chrono::milliseconds>(unit.took).count();
    if (threshold < 0 || millis < threshold) return;
    const double share = server.parameters.slowOpSampleRate;
    if (share < 1 && server.node.environment().randomShare() >= share) return;
    const storage::LoggedOperation& first = unit.first.operation;
    server.log.info(
        Component::kReplication, 21232, "applier", "applied op",
        bson::doc("op", std::string(1, static_cast<char>(first.kind)), "ns", first.ns, "ts",
                  unit.first.opTime.timestamp, "entries", static_cast<int64_t>(unit.count), "durationMillis", millis));
  };
}

/// Asks for no ticket: what follows the build's commit waits for its scan.
std::shared_ptr<storage::OperationContext> operationOfScan(server::ServerContext& server, const bson::Uuid& build,
                                                           const storage::Namespace& ns, bson::Document command) {
  const auto made = std::make_shared<server::ServiceOperation>(server, "IndexBuild " + build.toString(), ns,
                                                               std::move(command), storage::OperationOrigin::kApplier);
  (*made)->setPriority(storage::AdmissionPriority::kImmediate);
  return {made, &**made};
}

/// Room on the disk, or the end of the fail point that holds builds on the primary, too.
const char* whatScansAwait(server::ServerContext& server, int64_t documents) {
  server.disk.look();  // nobody knows how many keys a document has
  if (server.disk.stopsReplication()) return "waits for room on the disk";
  const auto applies = [&](bson::View data) {
    return data["phase"].toStringOr("following") == "following" && documents >= data["after"].toInt64(0);
  };
  return server.failPoints.fires("hangIndexBuild", applies) ? "is held by a fail point" : nullptr;
}

void logFailedScan(server::ServerContext& server, const bson::Uuid& build, const Status& why) {
  server.log.info(Component::kIndex, 20664, "applier", "A scan for an index build has ended early; the commit scans",
                  bson::doc("build", build, "error", why.toString()));
}

replication::FlowControlSettings flowSettingsOf(const server::Parameters& parameters) {
  return {.enabled = parameters.enableFlowControl,
          .targetLagSeconds = static_cast<double>(parameters.flowControlTargetLagSeconds),
          .thresholdLagPercentage = parameters.flowControlThresholdLagPercentage,
          .minTicketsPerSecond = parameters.flowControlMinTicketsPerSecond,
          .ticketAdderConstant = parameters.flowControlTicketAdderConstant,
          .ticketMultiplierConstant = parameters.flowControlTicketMultiplierConstant,
          .decayConstant = parameters.flowControlDecayConstant,
          .fudgeFactor = parameters.flowControlFudgeFactor,
          .maxSamples = static_cast<size_t>(parameters.flowControlMaxSamples)};
}

}  // namespace

Future<Done> RollbackTurn::await() {
  const std::lock_guard lock(mutex_);
  return waiting_.emplace_back().future();
}

void RollbackTurn::ended() {
  std::vector<Promise<Done>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  for (auto& each : waiting) each.set(Done{});
}

Following::Following(server::ServerContext& server, storage::OperationServices services)
    : members(linkedMembers(server.node)),
      buffer(kBufferBytes),
      builds({server.node, server.catalog.unguarded(),
              [&server](const bson::Uuid& build, const storage::Namespace& ns, bson::Document command) {
                return operationOfScan(server, build, ns, std::move(command));
              },
              [&server](int64_t documents) { return whatScansAwait(server, documents); },
              [&server](const bson::Uuid& build, const Status& why) { logFailedScan(server, build, why); }}),
      writer({server.node, server.catalog.unguarded(), *server.oplog, services, slowUnits(server), &builds}, {}),
      copyWriter({server.node, server.catalog.unguarded(), *server.oplog, services},
                 {.mode = storage::ApplyMode::kReplaying}),
      fetching(std::make_shared<replication::FetcherState>(server.membership->self())),
      flow([&server] { return flowSettingsOf(server.parameters); }, server.parameters.flowControlSamplePeriod,
           *server.oplog) {
  server.following = &figures;
  server.flow = &flow;
}

Task<Status> stopFollowing(Node* node, Following* following) {
  following->builds.suspend();
  const Status paused = co_await askApplier(node, local(replication::Pause{}));
  if (paused.isOK()) following->buffer.clear();
  co_return paused;
}

void followAgain(Node& node, Following& following) {
  following.builds.resume();
  node.tell(node.address(replication::kOplogApplierPath), local(replication::Resume{}));
}

replication::OplogApplier::Parts wireApplier(server::ServerContext& server, Following& following,
                                             std::function<void(const Status&)> failed) {
  replication::OplogApplier::Parts parts;
  parts.buffer = &following.buffer;
  parts.writer = &following.writer;
  parts.writes = server.operations.replicated;
  parts.memory = &following.applied;
  parts.applied = [&server](const OpTime& applied, bson::Date wall) {
    (void)beginHistory(server.engine, *server.oplog, server.storageSessions);  // tried again with the next batch
    server.progress->dates().note(applied.timestamp, wall);
    server.progress->noteApplied(applied);
    server.wakeFlusher();
  };
  parts.fail = [&server, failed = std::move(failed)](const Status& why) {
    server.log.error(Component::kReplication, 21240, "applier", "The log of another member cannot be applied",
                     bson::doc("error", why.toString()));
    failed(endOfMisfitData(why));
  };
  parts.roomFor = [&server](size_t bytes) { return server.disk.roomForReplicated(bytes); };
  parts.delay = [&server] { return replication::applyDelayOf(*server.membership->view()); };
  return parts;
}

replication::FetcherParts wireFetcher(server::ServerContext& server, Following& following) {
  replication::FetcherParts parts;
  parts.state = following.fetching;
  parts.members = following.members.get();
  parts.buffer = &following.buffer;
  parts.candidates = sourceCandidates(server);
  parts.applied = [&server] { return server.progress->applied(); };
  parts.figures = &following.fetched;
  parts.drained = [node = &server.node] { return askApplier(node, local(replication::DrainBuffer{})); };
  parts.opened = [node = &server.node] {
    node->tell(node->address(replication::kOplogApplierPath), local(replication::Resume{}));
  };
  parts.rollBack = [&server, turn = following.rollbackTurn](NodeName source) {
    return rollBack(&server, turn, std::move(source));
  };
  parts.initialSync = [node = &server.node] { return copyData(node); };
  parts.setMaintenance = [node = &server.node, tooStale = following.isTooStale](bool on) {
    if (on) *tooStale = true;
    return askTopology(node, local(replication::Maintenance{.on = on, .tooStale = true}));
  };
  parts.endCatchUp = [&server](int64_t term) { endCatchUp(server, term); };
  parts.observe = [&server, tooStale = following.isTooStale](const auto& now, const auto&) {
    noteSource(server, replication::syncSourceOf(now));
    if (now.document.maintenance || !tooStale->exchange(false)) return;
    // Also when the fetcher fails before it says so, after it has decided.
    const auto end = replication::Maintenance{.on = false, .tooStale = true};
    server.node.tell(server.node.address(replication::kTopologyPath), local(end));
  };
  parts.log = [&server](const replication::FetcherLine& line, const bson::Document& attributes) {
    if (line.severity == log::Severity::kWarning)
      server.log.warning(Component::kReplication, line.id, "fetcher", line.message, attributes);
    else server.log.info(Component::kReplication, line.id, "fetcher", line.message, attributes);
  };
  return parts;
}

void wireFollowing(server::ServerContext& server, Following& following, replication::RollbackParts& rollback) {
  rollback.members = following.members.get();
  rollback.stable = [&server] { return server.progress->stable(); };
  rollback.isShuttingDown = [&server] { return server.hello.shuttingDown(); };
  rollback.resetTimes = [&server](const OpTime& at) { server.progress->resetTo(at); };
  rollback.stopFollowing = [&server, &following] { return stopFollowing(&server.node, &following); };
  rollback.followAgain = [&server, &following] {
    followAgain(server.node, following);
    following.rollbackTurn->ended();
  };
  rollback.over = [&following](const replication::RollbackSummary& done) { following.rolledBack.note(done); };
  rollback.copyAnew = [&server, turn = following.rollbackTurn](const OpTime& committed) -> StatusWith<bool> {
    TROUPE_ASSIGN(const auto copied,
                  replication::endOfCopy(server.catalog.unguarded(), {.sessions = server.storageSessions}));
    if (!copied || copied->timestamp != committed.timestamp) return false;
    turn->copyAnew();
    return true;
  };
}

}  // namespace troupe::supervisors
