#include "storage/operation/logical_session.hpp"

#include <string>

namespace troupe::storage {
namespace {

using bson::Element;
using bson::Type;

Status wrongType(const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field '" + std::string(e.name()) + "' is the wrong type '" +
                                        std::string(bson::typeName(e.type())) + "', expected type '" +
                                        std::string(expected) + "'"};
}

Status readFlag(const Element& e, bool& flag) {
  if (!e.is(Type::kBool)) return wrongType(e, "bool");
  flag = e.truthy();
  return Status::OK();
}

Status readField(const Element& e, LogicalSession& session) {
  if (e.name() == "lsid") {
    if (!e.is(Type::kDocument)) return wrongType(e, "object");
    session.lsid = e.asDocument();
  } else if (e.name() == "txnNumber") {
    if (!e.is(Type::kInt64)) return wrongType(e, "long");
    session.txnNumber = e.toInt64();
  } else if (e.name() == "stmtId") {
    if (!e.is(Type::kInt32)) return wrongType(e, "int");
    session.statementIds = {static_cast<int32_t>(e.toInt64())};
  } else if (e.name() == "stmtIds") {
    if (!e.is(Type::kArray)) return wrongType(e, "array");
    session.statementIds.clear();
    for (const Element& id : e.asArray()) {
      if (!id.is(Type::kInt32)) return wrongType(e, "array of ints");
      session.statementIds.push_back(static_cast<int32_t>(id.toInt64()));
    }
  } else if (e.name() == "autocommit") {
    TROUPE_TRY(readFlag(e, session.autocommit.emplace()));
  } else if (e.name() == "startTransaction") {
    TROUPE_TRY(readFlag(e, session.startsTransaction));
    if (!session.startsTransaction)
      return {ErrorCode::kInvalidOptions, "Specifying startTransaction=false is not allowed."};
  }
  return Status::OK();
}

/// Each field of a session needs the one before it.
Status checkTogether(const LogicalSession& session) {
  if (session.startsTransaction && !session.autocommit)
    return {ErrorCode::kInvalidOptions, "'startTransaction' field requires 'autocommit' field to also be specified"};
  if (session.autocommit && !session.txnNumber)
    return {ErrorCode::kInvalidOptions, "'autocommit' field requires a transaction number to also be specified"};
  if (session.autocommit && *session.autocommit)
    return {ErrorCode::kInvalidOptions, "Specifying autocommit=true is not allowed."};
  if (session.txnNumber && session.lsid.empty())
    return {ErrorCode::kInvalidOptions, "Transaction number requires a session ID to also be specified"};
  if (session.txnNumber && *session.txnNumber < 0)
    return {ErrorCode::kInvalidOptions, "Transaction number cannot be negative"};
  return Status::OK();
}

}  // namespace

std::optional<int32_t> LogicalSession::statementId(size_t index) const {
  if (!txnNumber) return std::nullopt;
  if (statementIds.empty()) return static_cast<int32_t>(index);
  if (statementIds.size() == 1) return statementIds.front() + static_cast<int32_t>(index);
  return index < statementIds.size() ? std::optional(statementIds[index]) : std::nullopt;
}

StatusWith<LogicalSession> LogicalSession::parse(bson::View command) {
  LogicalSession session;
  int numberings = 0;
  for (const Element& e : command) {
    if (e.isNullish()) continue;
    if (e.name() == "stmtId" || e.name() == "stmtIds") ++numberings;
    TROUPE_TRY(readField(e, session));
  }
  if (numberings > 1) return Status(ErrorCode::kInvalidOptions, "A command may not specify both stmtId and stmtIds");
  TROUPE_TRY(checkTogether(session));
  return session;
}

}  // namespace troupe::storage
