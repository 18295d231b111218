#include "supervisors/assembly/replication_wiring.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "actors/kernel/node.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_replay.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "storage/oplog/rollback_id.hpp"
#include "storage/oplog/touched_collections.hpp"

namespace troupe::supervisors {

namespace {

constexpr Duration kTopologyPatience = std::chrono::seconds(30);

using Waiter = std::shared_ptr<Promise<Status>>;

std::function<void(const Status&)> ends(Waiter waiter) {
  return [waiter = std::move(waiter)](const Status& how) { waiter->set(how); };
}

std::function<void()> loses(Waiter waiter) {
  return [waiter = std::move(waiter)] {
    waiter->set({ErrorCode::kInterruptedDueToReplStateChange, "this node is not the primary any more"});
  };
}

/// A wait in whose middle its task may go away.
struct WithdrawnAtTheEnd {
  replication::ReplicationProgress& progress;
  const replication::ReplicationProgress::WaiterId id;
  ~WithdrawnAtTheEnd() { progress.withdraw(id); }
};

template <class Kind>
bool holdsAny(const storage::Catalog& catalog, const Kind& isOfKind) {
  const auto snapshot = catalog.snapshot();
  return std::ranges::any_of(snapshot->databases(), [&](const std::string& database) {
    return std::ranges::any_of(snapshot->collections(database), isOfKind);
  });
}

/// Another term's newest entry says nothing of what was written in this one: a rollback may have come between.
Task<Status> awaitMajority(server::ServerContext& server, std::optional<int64_t> term) {
  storage::ReplicatedWrites& writes = *server.operations.replicated;
  if (!writes.fence.isOpen()) co_return Status(ErrorCode::kNotWritablePrimary, "this node is not the primary");
  if (term && writes.fence.term() != term)
    co_return Status(ErrorCode::kInterruptedDueToReplStateChange, "the term of the write has ended");
  storage::OperationContext operation(server.operations, storage::OperationOrigin::kMachine);
  TROUPE_CO_ASSIGN(const OpTime last, storage::lastLogged(server.catalog.unguarded(), operation.recoveryUnit()));
  operation.recoveryUnit().releaseSession();
  const auto waiter = std::make_shared<Promise<Status>>();
  auto outcome = waiter->future();
  replication::Acknowledgement majority;
  majority.majority = true;
  const auto watch = writes.fence.whenClosed(loses(waiter));
  const WithdrawnAtTheEnd wait{*server.progress, server.progress->whenAcknowledged(last, majority, ends(waiter))};
  if (wait.id != 0) server.wakeFlusher();
  co_return co_await outcome;
}

}  // namespace

std::function<Task<Status>(std::optional<int64_t>)> majorityWait(server::ServerContext& server) {
  return [&server](std::optional<int64_t> term) { return awaitMajority(server, term); };
}

Task<Status> askTopology(Node* node, Payload question) {
  const Address topology = node->address(replication::kTopologyPath);
  const Answer answer = co_await node->ask(topology, std::move(question), kTopologyPatience);
  co_return answer.status();
}

std::function<replication::Candidates()> sourceCandidates(server::ServerContext& server) {
  return [&server] {
    return replication::candidatesOf(*server.membership->view(), server.progress->positions(),
                                     server.parameters.maxSyncSourceLagSecs);
  };
}

bool holdsReplicatedData(const storage::Catalog& catalog) {
  return holdsAny(catalog, [](const storage::CollectionPtr& each) {
    return each->ns().isReplicated() && each->ns().toString() != "config.system.sessions";
  });
}

replication::ProgressReporter::Parts wireProgress(server::ServerContext& server) {
  const Address topology = server.node.address(replication::kTopologyPath);
  return {
      *server.progress,
      *server.membership,
      [membership = server.membership] { return membership->syncSource(); },
      [&server, topology](replication::AppliedAdvanced news) { server.node.tell(topology, local(std::move(news))); },
      [&server, topology](replication::MemberAdvanced news) { server.node.tell(topology, local(std::move(news))); },
      [&server, topology](replication::MembersHeard news) { server.node.tell(topology, local(std::move(news))); },
      [&server, topology](replication::TermHeard news) { server.node.tell(topology, local(news)); }};
}

replication::FlowControl::Parts wireFlowControl(server::ServerContext& server) {
  const auto patience = [&server] { return std::chrono::seconds(server.parameters.flowControlWarnThresholdSeconds); };
  return {server.progress, server.membership, server.flow, &server.admission.flow(), patience, &server.log};
}

Status beginHistory(storage::Engine& engine, const storage::OplogStore& oplog, storage::SessionPool& sessions) {
  if (engine.initialDataTimestamp() != bson::Timestamp{}) return Status::OK();
  storage::OperationContext operation({.sessions = sessions}, storage::OperationOrigin::kApplier);
  TROUPE_ASSIGN(const auto first, oplog.oldest(operation.recoveryUnit()));
  if (!first) return Status::OK();
  TROUPE_TRY(engine.setStableTimestamp(*first));
  engine.setInitialDataTimestamp(*first);
  return Status::OK();
}

void takeSizeOfLog(storage::OplogStore& oplog, const storage::Collection& shown, log::Log& log) {
  storage::OplogLimits limits = oplog.markers().limits();
  const int64_t kept = shown.options().cappedSize;
  if (kept == limits.maxBytes) return;
  log.info(log::Component::kReplication, 7412001, "main", "The log keeps its size: replSetResizeOplog changes it",
           bson::doc("bytes", kept, "configured", limits.maxBytes));
  limits.maxBytes = kept;
  oplog.markers().setLimits(limits);
}

StatusWith<std::unique_ptr<storage::UnloggedChanges>> guardLeftData(storage::Engine& engine,
                                                                    server::Parameters& parameters, bool isMember,
                                                                    const std::set<std::string>& damaged) {
  if (isMember) {
    TROUPE_TRY(storage::UnloggedChanges::checkNone(engine));
    return std::unique_ptr<storage::UnloggedChanges>();
  }
  TROUPE_ASSIGN(const bool haveOthers, storage::UnloggedChanges::isMembersDirectory(engine));
  const bool lostLog = damaged.contains(std::string(storage::OplogStore::kIdent));
  if (!haveOthers && !lostLog) return std::unique_ptr<storage::UnloggedChanges>();
  parameters.ttlMonitorEnabled = false;
  parameters.disableLogicalSessionCacheRefresh = true;
  // Each checkpoint is as of that time: what is not replicated has no times, and is in it all the same.
  engine.setInitialDataTimestamp(engine.recoveryTimestamp());
  TROUPE_ASSIGN(auto changes, storage::UnloggedChanges::open(engine));
  TROUPE_TRY(changes->noteRepair(engine, damaged));
  return changes;
}

Status cutBehindHoles(storage::Catalog& catalog, storage::OplogStore& oplog, bson::Timestamp end,
                      storage::SessionPool& sessions, log::Log& log) {
  const bson::Timestamp newest = oplog.visibility().get();
  if (end == bson::Timestamp{} || end >= newest) return Status::OK();
  log.info(log::Component::kRecovery, 21557, "main", "Cutting off the end of the oplog, which may have holes",
           bson::doc("after", end, "newest", newest));
  TROUPE_TRY(storage::doubtWhatIsCut(catalog, oplog, {.sessions = sessions}, end));
  storage::OperationContext operation({.sessions = sessions});
  return oplog.cutAfter(operation.recoveryUnit(), end);
}

Status endOfMisfitData(const Status& failure) {
  switch (failure.code()) {
    case ErrorCode::kNoSuchKey:          // a document or a record is missing
    case ErrorCode::kNamespaceNotFound:  // a collection
    case ErrorCode::kIndexNotFound:      // an index
    case ErrorCode::kNamespaceExists:    // what the log makes is there already
    case ErrorCode::kInvalidOptions:     // a change that this collection cannot be given
    case ErrorCode::kFailedToParse:      // an entry that is none
    case ErrorCode::kCommandNotFound:    // one of a later version
    case ErrorCode::kIllegalOperation:   // a log whose times do not grow
    case ErrorCode::kManualInterventionRequired: return {ErrorCode::kManualInterventionRequired, failure.reason()};
    default: return failure;
  }
}

Status noteLostEnd(storage::Catalog& catalog, bson::Timestamp endOfLog, storage::SessionPool& sessions, log::Log& log) {
  if (endOfLog == bson::Timestamp{}) return Status::OK();
  TROUPE_ASSIGN(const int64_t id, storage::raiseRollbackId(catalog, {.sessions = sessions}));
  log.info(log::Component::kRecovery, 7412002, "main",
           "This member was not stopped in order, and its log may have lost its end: the rollback id moves",
           bson::doc("rollbackId", id));
  return Status::OK();
}

StatusWith<DataFound> findData(storage::Catalog& catalog, const storage::OplogStore& oplog,
                               storage::SessionPool& sessions) {
  storage::OperationContext operation({.sessions = sessions}, storage::OperationOrigin::kApplier);
  TROUPE_ASSIGN(auto cursor, oplog.cursor(operation.recoveryUnit()));
  TROUPE_ASSIGN(const bool hasEntries, cursor.next());
  if (!hasEntries) return DataFound::kBesideNoLog;
  if (catalog.engine().recoveryTimestamp() != bson::Timestamp{}) return DataFound::kOfRecoveryTime;
  const auto isReplicated = [](const storage::CollectionPtr& each) { return each->ns().isReplicated(); };
  const bool isWhole = cursor.entry().at("o.msg").toStringOr() == kWholeLogBegins;
  return isWhole && !holdsAny(catalog, isReplicated) ? DataFound::kOlderThanLog : DataFound::kOfUnknownTime;
}

Status startTimes(storage::Catalog& catalog, const storage::OplogStore& oplog, storage::SessionPool& sessions,
                  replication::ReplicationProgress& progress, DataFound found) {
  storage::Engine& engine = catalog.engine();
  OpTime end;
  if (found != DataFound::kNotWhole) {
    storage::OperationContext operation({.sessions = sessions});
    TROUPE_ASSIGN(end, storage::lastLogged(catalog, operation.recoveryUnit()));
  }
  progress.resetTo(end);
  switch (found) {
    case DataFound::kNotWhole: return Status::OK();
    case DataFound::kOfRecoveryTime: engine.setInitialDataTimestamp(engine.recoveryTimestamp()); return Status::OK();
    case DataFound::kOlderThanLog: return beginHistory(engine, oplog, sessions);
    case DataFound::kOfUnknownTime:
      return end == OpTime{} ? Status::OK() : storage::beginDataAt(catalog, end.timestamp);
    case DataFound::kBesideNoLog: break;
  }
  // A node that has left its set: the next log begins later than that time, and no entry leads there from it.
  if (engine.recoveryTimestamp() == bson::Timestamp{}) return Status::OK();
  return engine.checkpoint({.stable = false}).status();
}

}  // namespace troupe::supervisors
