#include "actors/server/operation_setup.hpp"

#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

namespace {

using storage::ReadConcernLevel;

/// A session's fields but for `lsid`: rare.
constexpr std::string_view kSessionFields[] = {"txnNumber", "autocommit", "startTransaction", "stmtId", "stmtIds"};

Status readSession(Request& request) {
  storage::OperationContext& operation = request.operation();
  if (request.fields().hasAny<kSessionFields>()) {
    TROUPE_ASSIGN(operation.session, storage::LogicalSession::parse(request.body()));
  }
  operation.session.lsid = request.session();
  if (operation.session.txnNumber)
    return {ErrorCode::kIllegalOperation, "Transaction numbers are only allowed on a replica set member or mongos"};
  return Status::OK();
}

Status checkReadConcern(const storage::ReadConcern& concern) {
  if (concern.level == ReadConcernLevel::kSnapshot)
    return {ErrorCode::kIllegalOperation,
            "Read concern snapshot is only supported on replica sets and sharded clusters"};
  if (concern.level == ReadConcernLevel::kLinearizable)
    return {ErrorCode::kIllegalOperation, "Cannot use linearizable read concern on a standalone server"};
  if (concern.afterClusterTime || concern.atClusterTime)
    return {ErrorCode::kIllegalOperation,
            "Cannot specify afterClusterTime or atClusterTime on a standalone server: cluster times need a replica "
            "set"};
  return Status::OK();
}

Status checkWriteConcern(const storage::WriteConcern& concern) {
  if (concern.w > 1) return {ErrorCode::kBadValue, "cannot use 'w' > 1 when a host is not replicated"};
  if (!concern.mode.empty())
    return {ErrorCode::kUnknownReplWriteConcern,
            "No write concern mode named '" + concern.mode + "' found in replica set configuration"};
  return Status::OK();
}

Status readConcerns(Request& request) {
  storage::OperationContext& operation = request.operation();
  if (const auto given = request.document("readConcern"); !given.empty()) {
    TROUPE_ASSIGN(operation.readConcern, storage::ReadConcern::parse(given));
    TROUPE_TRY(checkReadConcern(operation.readConcern));
  }
  if (const auto given = request.document("writeConcern"); !given.empty()) {
    TROUPE_ASSIGN(operation.writeConcern, storage::WriteConcern::parse(given));
    TROUPE_TRY(checkWriteConcern(operation.writeConcern));
  }
  return Status::OK();
}

Status setDeadline(Request& request) {
  const auto limit = request.arg("maxTimeMS");
  if (!limit || request.command->name == "getMore") return Status::OK();
  const int64_t millis = limit.toInt64(-1);
  if (millis < 0 || millis > INT32_MAX)
    return {ErrorCode::kBadValue, std::to_string(millis) + " value for maxTimeMS is out of range [0, 2147483647]"};
  if (millis > 0) request.operation().setDeadline(request.operation().started() + std::chrono::milliseconds(millis));
  return Status::OK();
}

}  // namespace

Status setUpOperation(Request& request) {
  TROUPE_TRY(readSession(request));
  TROUPE_TRY(readConcerns(request));
  return setDeadline(request);
}

}  // namespace troupe::server
