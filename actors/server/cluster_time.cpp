#include "actors/server/cluster_time.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "actors/replication/replication_progress.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/time_proofs.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::server {

namespace {

/// Who may move the clock needs no signature, and is given none.
bool mayAdvance(const Request& request) {
  return !request.server().identity.authentication ||
         request.client().allows(auth::Action::kAdvanceClusterTime, auth::Resource::cluster());
}

/// Clients send it back as it is. Nothing for one whose times have to be proven while there is no proof: other members
/// would refuse it, and with it all the client's commands.
std::optional<bson::Document> gossipOf(const Request& request, bson::Timestamp time) {
  auth::TimeProof proof;
  if (!mayAdvance(request)) {
    proof = request.server().proofs->sign(time);
    if (proof.isDummy()) return std::nullopt;
  }
  return bson::doc("clusterTime", time, "signature",
                   bson::doc("hash", bson::Binary{bson::kBinaryGeneric, proof.hash}, "keyId", proof.keyId));
}

/// Without a limit a clock that is wrong, or a client that lies, would use up all times there are.
Status checkDistance(const ServerContext& server, bson::Timestamp time) {
  const int64_t limit = wallMillis(server) / 1000 + server.parameters.maxAcceptableLogicalClockDriftSecs;
  if (int64_t{time.seconds} <= limit) return Status::OK();
  return {ErrorCode::kClusterTimeFailsRateLimiter,
          "New cluster time is too far from this node's wall clock time: it is more than " +
              std::to_string(server.parameters.maxAcceptableLogicalClockDriftSecs.load()) +
              " seconds ahead; check the clocks of all nodes and clients"};
}

/// The newest time of which a local read may have seen something. A primary shows what it has committed also while
/// older writes are under way, with which its log is not applied as far yet; these may end after its fence has closed.
/// A rollback and an initial sync take the slots back with the log.
bson::Timestamp newestSeen(const ServerContext& server) {
  return std::max(server.progress->lastApplied(), server.operations.replicated->slots.newestWritten());
}

/// Reads of what a majority has see no later operation, whatever else this member has applied; the writes of a pipeline
/// that reads so look at the newest data.
bson::Timestamp operationTime(const Request& request) {
  const storage::OperationContext& operation = request.operation();
  const ServerContext& server = request.server();
  if (operation.hasWritten()) return std::max(operation.lastOpTime().timestamp, newestSeen(server));
  const bool committed =
      operation.readConcern.level == storage::ReadConcernLevel::kMajority && !operation.announcesWrites();
  return committed ? server.progress->majority() : newestSeen(server);
}

}  // namespace

bson::Timestamp MemberClock::newest() const {
  return server_.progress ? server_.operations.replicated->slots.newest() : bson::Timestamp{};
}

bool MemberClock::learn(bson::Timestamp time, bool authenticated) {
  if (!server_.progress || time <= newest()) return true;
  if (server_.identity.authentication && !authenticated) return false;
  if (!checkDistance(server_, time).isOK()) return false;
  server_.operations.replicated->slots.advanceTo(time);
  return true;
}

Status takeClusterTime(const Request& request) {
  ServerContext& server = request.server();
  if (!server.progress) return Status::OK();
  const bson::View gossiped = request.document("$clusterTime");
  if (gossiped.empty()) return Status::OK();
  const bson::Element given = gossiped["clusterTime"];
  if (!given.is(bson::Type::kTimestamp))
    return {ErrorCode::kTypeMismatch, "$clusterTime.clusterTime must be a timestamp"};
  const bson::Timestamp time = given.asTimestamp();
  storage::SlotReserver& clock = server.operations.replicated->slots;
  if (time <= clock.newest()) return Status::OK();
  TROUPE_TRY(checkDistance(server, time));
  if (!mayAdvance(request)) {
    const bson::Element signature = gossiped["signature"];
    const Status proven =
        server.proofs->verify(time, signature.is(bson::Type::kDocument) ? signature.asDocument() : bson::View());
    // A member that has no key yet lets strangers greet it and log in.
    if (!proven.isOK()) return request.client().authenticated() ? proven : Status::OK();
  }
  clock.advanceTo(time);
  return Status::OK();
}

void appendTimes(Request& request) {
  const ServerContext& server = request.server();
  if (!server.progress) return;
  const bson::Timestamp time = operationTime(request);
  const bson::Timestamp known = std::max(time, server.operations.replicated->slots.newest());
  if (known == bson::Timestamp{}) return;
  if (const auto gossip = gossipOf(request, known)) request.reply().append("$clusterTime", *gossip);
  // A member that has no data yet has heard of times; a client could read after the null time nowhere.
  if (time != bson::Timestamp{}) request.reply().append("operationTime", time);
}

}  // namespace troupe::server
