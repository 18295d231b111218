#include "actors/server/read_concern.hpp"

#include <memory>
#include <string>
#include <utility>

#include "actors/replication/replica_view.hpp"
#include "actors/server/command.hpp"
#include "actors/server/progress_wait.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/server/write_concern.hpp"
#include "actors/storage/collection_writer.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::server {

namespace {

using replication::ReplicationProgress;
using storage::ReadConcernLevel;
using storage::ReadSource;

/// Times are waited for as long as the operation may last.
constexpr bson::Timestamp kAnyTime{0, 1};

std::string nameOf(bson::Timestamp time) {
  return "Timestamp(" + std::to_string(time.seconds) + ", " + std::to_string(time.increment) + ")";
}

ReplicationProgress::Callback succeeds(ReplicationProgress::Verdict done) {
  return [done = std::move(done)] { done(Status::OK()); };
}

AskProgress applied(bson::Timestamp time) {
  return [time](ReplicationProgress& progress, ReplicationProgress::Verdict done) {
    return progress.whenApplied(time, succeeds(std::move(done)));
  };
}

AskProgress committed(bson::Timestamp time) {
  return [time](ReplicationProgress& progress, ReplicationProgress::Verdict done) {
    return progress.whenCommitted(time, succeeds(std::move(done)));
  };
}

/// A time that this node has neither given out nor heard of would be waited for in vain.
Status checkIsKnown(const Request& request, std::string_view field, std::optional<bson::Timestamp> time) {
  const bson::Timestamp now = request.server().operations.replicated->slots.newest();
  if (!time || *time <= now) return Status::OK();
  return {ErrorCode::kInvalidOptions, "readConcern " + std::string(field) +
                                          " value must not be greater than the current clusterTime. Requested " +
                                          "clusterTime: " + nameOf(*time) + "; current clusterTime: " + nameOf(now)};
}

/// The same for an entry: of a later term than it has heard of there is none here, either.
Status checkIsKnown(const Request& request, const OpTime& entry) {
  TROUPE_TRY(checkIsKnown(request, "afterOpTime", entry.timestamp));
  const int64_t term = request.server().membership->view()->topology.memory.term;
  if (entry.term <= term) return Status::OK();
  return {ErrorCode::kInvalidOptions, "readConcern afterOpTime is of term " + std::to_string(entry.term) +
                                          ", and this node has heard of none beyond " + std::to_string(term)};
}

/// The note is the node's own, made by an operation of its own: the client's has written nothing by it, and awaits no
/// write concern. It ends when the client's does, and with the role.
Task<Status> noteBeside(Request& request, bson::Document message) {
  ServerContext& server = request.server();
  const auto beside = std::make_shared<ServiceOperation>(server, "note for " + request.client().description(),
                                                         storage::Namespace("admin", "$cmd"),
                                                         bson::doc("appendOplogNote", 1, "data", message));
  CollectionWriter writer(server.writes, **beside);
  Status noted;
  {
    const InterruptibleWait::End end = [beside](const Status& why) { (*beside)->kill(why.code()); };
    const InterruptibleWait guard(server.node.environment(), request.operation(), end);
    noted = co_await writer.note(std::move(message));
  }
  if (!noted.isOK()) TROUPE_CO_TRY(request.checkForInterrupt());
  co_return noted;
}

/// A time that was told by another node may be later than anything this primary has written; a note moves its log there
/// (CLK-017).
Task<Status> reachTime(Request& request, bson::Timestamp time) {
  const ServerContext& server = request.server();
  if (server.progress->lastApplied() >= time || server.operations.replicated->slots.newestWritten() >= time)
    co_return Status::OK();
  if (!server.membership->view()->isWritable()) co_return Status::OK();
  co_return co_await noteBeside(request, bson::doc("msg", "a read waits for this time"));
}

Task<Status> awaitTime(Request& request, bson::Timestamp time, bool ofMajority) {
  TROUPE_CO_TRY(co_await reachTime(request, time));
  co_return co_await awaitProgress(request, ofMajority ? committed(time) : applied(time), {});
}

/// Nodes ask for entries that they have heard of; nothing is written to get there.
Task<Status> awaitEntry(Request& request, OpTime entry, bool ofMajority) {
  AskProgress reached = [entry, ofMajority](ReplicationProgress& progress, ReplicationProgress::Verdict done) {
    return progress.whenReached(entry, ofMajority, succeeds(std::move(done)));
  };
  co_return co_await awaitProgress(request, std::move(reached), {});
}

/// The commit point that majority reads wait for. The data of this node may begin later than the commit point that it
/// learns of: an initial sync copies what is not committed yet. Before that time there is nothing to read.
bson::Timestamp earliestCommitted(const ServerContext& server) {
  return std::max(kAnyTime, server.engine.initialDataTimestamp());
}

/// The term is fixed before the first read: a note in a later one would not prove that nobody else was primary between.
Status setUpLinearizable(const Request& request) {
  const ServerContext& server = request.server();
  const std::optional<int64_t> term = server.operations.replicated->fence.term();
  if (!term || !server.membership->view()->isWritable())
    return {ErrorCode::kNotWritablePrimary, "cannot satisfy linearizable read concern on non-primary node"};
  request.operation().readConcern.term = term;
  return Status::OK();
}

Task<Status> setUpSnapshot(Request& request) {
  storage::OperationContext& operation = request.operation();
  const auto wanted = operation.readConcern.atClusterTime;
  TROUPE_CO_TRY(co_await awaitTime(request, wanted.value_or(earliestCommitted(request.server())), true));
  const bson::Timestamp time = wanted.value_or(request.server().progress->majority());
  operation.readConcern.atClusterTime = time;  // as the reply says
  co_return operation.recoveryUnit().setReadSource(ReadSource::kProvided, time);
}

}  // namespace

void appendSnapshotTime(bson::Builder& out, const storage::OperationContext& operation) {
  const storage::ReadConcern& concern = operation.readConcern;
  if (concern.isSnapshot() && concern.atClusterTime) out.append("atClusterTime", *concern.atClusterTime);
}

Task<Status> setUpReadConcern(Request& request) {
  storage::OperationContext& operation = request.operation();
  const storage::ReadConcern& concern = operation.readConcern;
  const bool asksForMore = concern.given || concern.level != ReadConcernLevel::kLocal;
  if (!request.server().progress || !asksForMore) co_return Status::OK();
  TROUPE_CO_TRY(checkIsKnown(request, "afterClusterTime", concern.afterClusterTime));
  TROUPE_CO_TRY(checkIsKnown(request, "atClusterTime", concern.atClusterTime));
  if (concern.afterOpTime) TROUPE_CO_TRY(checkIsKnown(request, *concern.afterOpTime));
  // A write that follows is carried out also for a client that has gone: see runInSession.
  if (request.command->access == Access::kRead) request.endWithClient(kLookWhileAwaitingSet);
  const bool ofMajority = concern.level == ReadConcernLevel::kMajority || concern.isSnapshot();
  if (concern.afterClusterTime) TROUPE_CO_TRY(co_await awaitTime(request, *concern.afterClusterTime, ofMajority));
  if (concern.afterOpTime) TROUPE_CO_TRY(co_await awaitEntry(request, *concern.afterOpTime, ofMajority));
  if (concern.isSnapshot()) co_return co_await setUpSnapshot(request);
  if (concern.level == ReadConcernLevel::kLinearizable) co_return setUpLinearizable(request);
  if (!ofMajority) co_return Status::OK();
  TROUPE_CO_TRY(co_await awaitProgress(request, committed(earliestCommitted(request.server())), {}));
  co_return operation.recoveryUnit().setReadSource(ReadSource::kMajority);
}

Task<Status> confirmLinearizable(Request& request) {
  storage::OperationContext& operation = request.operation();
  if (!request.server().progress || operation.readConcern.level != ReadConcernLevel::kLinearizable)
    co_return Status::OK();
  operation.recoveryUnit().releaseSession();
  operation.setWriteTerm(operation.readConcern.term.value());
  CollectionWriter writer(request.server().writes, operation);
  TROUPE_CO_TRY(co_await writer.note(bson::doc("msg", "linearizable read")));
  const storage::WriteConcern own = std::exchange(operation.writeConcern, {});
  operation.writeConcern.majority = true;
  const Status confirmed = co_await awaitWriteConcern(request);
  operation.writeConcern = own;
  co_return confirmed;
}

}  // namespace troupe::server
