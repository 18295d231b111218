#include "actors/server/operation_setup.hpp"

#include <algorithm>

#include "actors/server/command.hpp"
#include "actors/server/default_concerns.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/bson/numeric.hpp"

namespace troupe::server {

namespace {

using storage::ReadConcernLevel;

/// A session's fields but for `lsid`: rare.
constexpr std::string_view kSessionFields[] = {"txnNumber", "autocommit", "startTransaction", "stmtId", "stmtIds"};

Status checkNumbered(const Request& request) {
  if (!request.server().membership)
    return {ErrorCode::kIllegalOperation, "Transaction numbers are only allowed on a replica set member or mongos"};
  if (request.operation().session.inTransaction())
    return {ErrorCode::kCommandNotSupported, "multi-document transactions are not supported"};
  if (!request.command->retryable)
    return {ErrorCode(50768),
            "txnNumber may only be provided for multi-document transactions and retryable write "
            "commands. autocommit:false was not provided, and " +
                std::string(request.command->name) + " is not a retryable write command."};
  if (request.db() == "local")
    return {ErrorCode::kIllegalOperation,
            "Retryable writes are not allowed in the local database, which is not replicated"};
  const bson::Element w = request.document("writeConcern")["w"];
  if (w.isNumber() && w.toInt64() == 0)
    return {ErrorCode::kInvalidOptions, "Retryable writes cannot be unacknowledged: leave w: 0 or the txnNumber out"};
  return Status::OK();
}

Status readSession(Request& request) {
  storage::OperationContext& operation = request.operation();
  if (request.fields().hasAny<kSessionFields>()) {
    TROUPE_ASSIGN(operation.session, storage::LogicalSession::parse(request.body()));
  }
  operation.session.lsid = request.session();
  return operation.session.txnNumber ? checkNumbered(request) : Status::OK();
}

bool takesLevel(const Command& command, ReadConcernLevel level) {
  return level == ReadConcernLevel::kLocal || command.readConcerns == ReadConcerns::kAll ||
         (command.readConcerns == ReadConcerns::kAllButSnapshot && level != ReadConcernLevel::kSnapshot);
}

/// Whether the command takes the level, and then whether the node can serve it.
Status checkReadConcern(const Command& command, std::string_view db, const storage::ReadConcern& concern,
                        bool isMember) {
  if (!takesLevel(command, concern.level))
    return {ErrorCode::kInvalidOptions, "Command " + std::string(command.name) + " does not support this read concern"};
  if (isMember && concern.isSnapshot() && db == "local")  // what a member keeps for itself has no times (TRN-003)
    return {ErrorCode::kInvalidOptions, "Read concern snapshot is not supported on the database local"};
  if (isMember) return Status::OK();
  if (concern.isSnapshot())
    return {ErrorCode::kNotAReplicaSet, "Read concern snapshot is only supported on replica sets and sharded clusters"};
  if (concern.level == ReadConcernLevel::kLinearizable)
    return {ErrorCode::kNotAReplicaSet, "Cannot use linearizable read concern on a standalone server"};
  if (concern.afterClusterTime || concern.atClusterTime)
    return {ErrorCode::kIllegalOperation,
            "Cannot specify afterClusterTime or atClusterTime on a standalone server: cluster times need a replica "
            "set"};
  return Status::OK();
}

/// Stages that show the node as it is take no read concern but the weakest, and those that write no linearizable one.
/// This holds whatever the node is, so it is said first.
Status checkReadConcernOfStages(bson::View pipeline, ReadConcernLevel level) {
  constexpr std::string_view kLocalOnly[] = {"$currentOp", "$listLocalSessions", "$planCacheStats",
                                             "$listClusterCatalog"};
  constexpr std::string_view kWriting[] = {"$out", "$merge"};
  if (level == ReadConcernLevel::kLocal) return Status::OK();
  bool first = true;
  for (const bson::Element& e : pipeline) {
    const auto stage = e.is(bson::Type::kDocument) ? e.asDocument().first().name() : std::string_view();
    if (first && std::ranges::count(kLocalOnly, stage) > 0)
      return {ErrorCode::kInvalidOptions, std::string(stage) + " takes only the read concern 'local'"};
    if (level == ReadConcernLevel::kLinearizable && std::ranges::count(kWriting, stage) > 0)
      return {ErrorCode::kInvalidOptions, std::string(stage) + " cannot be used with a 'linearizable' read concern"};
    first = false;
  }
  return Status::OK();
}

Status checkStages(const Request& request, ReadConcernLevel level) {
  if (request.command->name != "aggregate") return Status::OK();
  return checkReadConcernOfStages(request.document("pipeline"), level);
}

/// On a member its set decides, when the write is there.
Status checkWriteConcern(const storage::WriteConcern& concern, bool isMember) {
  if (isMember && concern.tagged)
    return {ErrorCode::kUnknownReplWriteConcern,
            "tags in a write concern are not supported: name a mode of the "
            "config's settings.getLastErrorModes"};
  if (isMember) return Status::OK();
  if (concern.w > 1) return {ErrorCode::kBadValue, "cannot use 'w' > 1 when a host is not replicated"};
  if (concern.named)
    return {ErrorCode::kBadValue,
            "cannot use non-majority 'w' mode '" + concern.mode + "' when a host is not a member of a replica set"};
  return Status::OK();
}

Status readConcerns(Request& request) {
  storage::OperationContext& operation = request.operation();
  if (const auto given = request.document("readConcern"); !given.empty()) {
    TROUPE_ASSIGN(operation.readConcern, storage::ReadConcern::parse(given));
    TROUPE_TRY(checkStages(request, operation.readConcern.level));
    TROUPE_TRY(
        checkReadConcern(*request.command, request.db(), operation.readConcern, request.server().progress != nullptr));
  }
  if (request.arg("writeConcern") && request.command->access != Access::kWrite && !request.command->mayWrite)
    return {ErrorCode::kInvalidOptions,
            "Command " + std::string(request.command->name) + " does not support writeConcern"};
  if (const auto given = request.document("writeConcern"); !given.empty()) {
    TROUPE_ASSIGN(operation.writeConcern, storage::WriteConcern::parse(given));
    TROUPE_TRY(checkWriteConcern(operation.writeConcern, request.server().progress != nullptr));
  }
  return applyDefaultConcerns(request);
}

Status setDeadline(Request& request) {
  const auto limit = request.arg("maxTimeMS");
  if (!limit || request.command->name == "getMore") return Status::OK();
  const auto exact = bson::integerOf(limit);
  if (!exact.isOK()) return exact.status().withContext("maxTimeMS");
  const int64_t millis = *exact;
  if (millis < 0 || millis > INT32_MAX)
    return {ErrorCode::kBadValue, std::to_string(millis) + " value for maxTimeMS is out of range [0, 2147483647]"};
  return millis > 0 ? limitTime(request, std::chrono::milliseconds(millis)) : Status::OK();
}

}  // namespace

bool takesReadConcern(const Request& request, storage::ReadConcernLevel level) {
  return takesLevel(*request.command, level) && checkStages(request, level).isOK();
}

Status limitTime(Request& request, Duration limit) {
  FailPoints& failPoints = request.server().failPoints;
  const bool switchesThem = request.command->name == "configureFailPoint";
  if (!switchesThem && failPoints.fires("maxTimeAlwaysTimeOut"))
    return {ErrorCode::kMaxTimeMSExpired, "operation exceeded time limit: the fail point maxTimeAlwaysTimeOut is on"};
  if (!failPoints.fires("maxTimeNeverTimeOut")) request.operation().setDeadline(request.operation().started() + limit);
  return Status::OK();
}

Status setUpOperation(Request& request) {
  TROUPE_TRY(readSession(request));
  TROUPE_TRY(readConcerns(request));
  return setDeadline(request);
}

}  // namespace troupe::server
