#include "actors/server/cluster_time.hpp"

#include <algorithm>
#include <string>

#include "actors/replication/replication_progress.hpp"
#include "actors/server/server_context.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::server {

namespace {

/// As it stands where no key signs it: clients send it back as it is.
bson::Document unsignedTime(bson::Timestamp time) {
  const std::string noHash(20, '\0');
  return bson::doc("clusterTime", time, "signature",
                   bson::doc("hash", bson::Binary{bson::kBinaryGeneric, noHash}, "keyId", int64_t{0}));
}

/// Reads of what a majority has see no later operation, whatever else this member has applied.
bson::Timestamp operationTime(const Request& request) {
  const storage::OperationContext& operation = request.operation();
  const replication::ReplicationProgress& progress = *request.server().progress;
  if (operation.hasWritten()) return std::max(operation.lastOpTime().timestamp, progress.lastApplied());
  const bool committed = operation.readConcern.level == storage::ReadConcernLevel::kMajority;
  return committed ? progress.majority() : progress.lastApplied();
}

}  // namespace

Status takeClusterTime(const Request& request) {
  ServerContext& server = request.server();
  if (!server.progress) return Status::OK();
  const bson::View gossiped = request.document("$clusterTime");
  if (gossiped.empty()) return Status::OK();
  const bson::Element time = gossiped["clusterTime"];
  if (!time.is(bson::Type::kTimestamp))
    return {ErrorCode::kTypeMismatch, "$clusterTime.clusterTime must be a timestamp"};
  const int64_t limit = wallMillis(server) / 1000 + server.parameters.maxAcceptableLogicalClockDriftSecs;
  if (int64_t{time.asTimestamp().seconds} > limit)
    return {ErrorCode::kClusterTimeFailsRateLimiter,
            "New cluster time is too far from this node's wall clock time: it is more than " +
                std::to_string(server.parameters.maxAcceptableLogicalClockDriftSecs.load()) +
                " seconds ahead; check the clocks of all nodes and clients"};
  server.operations.replicated->slots.advanceTo(time.asTimestamp());
  return Status::OK();
}

void appendTimes(Request& request) {
  const ServerContext& server = request.server();
  if (!server.progress) return;
  const bson::Timestamp time = operationTime(request);
  const bson::Timestamp known = std::max(time, server.operations.replicated->slots.newest());
  if (known == bson::Timestamp{}) return;
  request.reply().append("$clusterTime", unsignedTime(known)).append("operationTime", time);
}

}  // namespace troupe::server
