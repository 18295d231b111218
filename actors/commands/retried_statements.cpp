#include "actors/commands/retried_statements.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "actors/server/server_context.hpp"
#include "storage/oplog/oplog_batch.hpp"
#include "storage/sessions/retryable_writes.hpp"

namespace troupe::commands {
using namespace server;

using storage::OplogEntry;
using storage::OplogKind;
using storage::RetryImage;

namespace {

Status isAnotherStatement(const OplogEntry& entry) {
  return {ErrorCode(40606), "a statement of this transaction number and id was executed before, but was another one: " +
                                storage::nameOf(entry) + " in " + std::string(entry.operation.ns) +
                                ". A retry must send the same command"};
}

/// The entry has the name under which the collection was written then, which is the one that a retry gives again. The
/// client is told of no other.
Status checkNamespace(bson::View document, const AuthorizedNamespace& ns) {
  TROUPE_ASSIGN(const OplogEntry entry, OplogEntry::parse(document));
  if (entry.operation.ns == ns.toString()) return Status::OK();
  return {ErrorCode(40606), "a statement of this transaction number and id was executed before, but not in " +
                                ns.toString() + ". A retry must send the same command"};
}

/// What the statement did that wrote the entry.
StatusWith<ModificationOutcome> outcomeIn(const OplogEntry& entry, bool removes) {
  const OplogKind kind = entry.operation.kind;
  ModificationOutcome outcome;
  if (!removes && kind == OplogKind::kInsert) {
    outcome.upsertedId = bson::Value(entry.operation.object["_id"]);
    outcome.after = bson::Document(entry.operation.object);
    return outcome;
  }
  if (kind != (removes ? OplogKind::kRemove : OplogKind::kUpdate)) return isAnotherStatement(entry);
  outcome.matched = outcome.modified = 1;
  return outcome;
}

}  // namespace

RetriedStatements::~RetriedStatements() {
  if (ids_.empty()) return;
  ServerCounters& counters = request_.server().counters;
  counters.retriedCommands.fetch_add(1, std::memory_order_relaxed);
  counters.retriedStatements.fetch_add(static_cast<int64_t>(ids_.size()), std::memory_order_relaxed);
}

Status RetriedStatements::historyIsGone(const std::string& what) const {
  return roleOr({ErrorCode::kIncompleteTransactionHistory,
                 what + " is no longer there: the statement was executed, but cannot be answered again"});
}

/// What the operation knows is of its term. When that is over a rollback may have removed entry and image: then the
/// next primary knows, and drivers send the command again, as after any write that met the end of a term.
Status RetriedStatements::roleOr(Status missing) const {
  const storage::OperationContext& operation = request_.operation();
  TROUPE_TRY(request_.server().operations.replicated->fence.enter(operation.writeTerm()).status());
  return missing;
}

StatusWith<bool> RetriedStatements::contains(int32_t position, const AuthorizedNamespace& ns) {
  TROUPE_ASSIGN(const auto statement, executed(position));
  if (!statement) return false;
  TROUPE_TRY(statement->entry ? checkNamespace(*statement->entry, ns) : roleOr(Status::OK()));
  ids_.push_back(statement->id);
  return true;
}

/// Nothing: the statement was not executed.
StatusWith<std::optional<bson::Document>> RetriedStatements::entryOf(int32_t position, const AuthorizedNamespace& ns) {
  TROUPE_ASSIGN(auto statement, executed(position));
  if (!statement) return std::optional<bson::Document>();
  if (!statement->entry) return historyIsGone("the entry of the log");
  TROUPE_TRY(checkNamespace(*statement->entry, ns));
  ids_.push_back(statement->id);
  return std::move(statement->entry);
}

/// The same whose namespace is still to be checked.
StatusWith<std::optional<RetriedStatements::Executed>> RetriedStatements::executed(int32_t position) {
  storage::OperationContext& operation = request_.operation();
  if (!operation.retryable || operation.retryable->isEmpty()) return std::optional<Executed>();
  const auto id = operation.session.statementId(static_cast<size_t>(position));
  if (!id) return std::optional<Executed>();
  const auto place = operation.retryable->executed(*id);
  if (!place.isOK()) return roleOr(place.status());
  if (!*place) return std::optional<Executed>();
  TROUPE_ASSIGN(auto found, storage::entryAt(operation.recoveryUnit(), *request_.server().oplog, **place));
  operation.recoveryUnit().abandonSnapshot();
  return std::optional(Executed{*id, std::move(found)});
}

StatusWith<std::optional<ModificationOutcome>> RetriedStatements::outcomeOf(int32_t position,
                                                                            const AuthorizedNamespace& ns,
                                                                            bool removes) {
  TROUPE_ASSIGN(const auto document, entryOf(position, ns));
  if (!document) return std::optional<ModificationOutcome>();
  TROUPE_ASSIGN(const OplogEntry entry, OplogEntry::parse(*document));
  TROUPE_ASSIGN(auto outcome, outcomeIn(entry, removes));
  return std::optional(std::move(outcome));
}

StatusWith<std::optional<ModificationOutcome>> RetriedStatements::outcomeWithDocument(const AuthorizedNamespace& ns,
                                                                                      const Modification& what) {
  TROUPE_ASSIGN(const auto document, entryOf(0, ns));
  if (!document) return std::optional<ModificationOutcome>();
  TROUPE_ASSIGN(const OplogEntry entry, OplogEntry::parse(*document));
  const bool removes = !what.update.ok();
  TROUPE_ASSIGN(auto outcome, outcomeIn(entry, removes));
  if (outcome.upsertedId) return std::optional(std::move(outcome));
  const RetryImage kind = what.keepAfter && !removes ? RetryImage::kAfter : RetryImage::kBefore;
  TROUPE_ASSIGN(auto image, imageOf(entry, kind));
  request_.operation().recoveryUnit().abandonSnapshot();
  (kind == RetryImage::kAfter ? outcome.after : outcome.before) = std::move(image);
  return std::optional(std::move(outcome));
}

/// In the way in which the entry was written, whatever the parameter says now.
StatusWith<bson::Document> RetriedStatements::imageOf(const OplogEntry& entry, RetryImage kind) {
  if (entry.image == kind) return imageKeptAside(entry);
  const auto& note = kind == RetryImage::kBefore ? entry.preImage : entry.postImage;
  return note ? imageInLog(*note) : isAnotherStatement(entry);
}

StatusWith<bson::Document> RetriedStatements::imageInLog(const OpTime& place) {
  storage::OperationContext& operation = request_.operation();
  TROUPE_ASSIGN(const auto found, storage::entryAt(operation.recoveryUnit(), *request_.server().oplog, place));
  if (!found) return historyIsGone("the document that it answered with");
  TROUPE_ASSIGN(const OplogEntry note, OplogEntry::parse(*found));
  return bson::Document(note.operation.object);
}

/// Of the session that wrote the entry: it may be another one of the family.
StatusWith<bson::Document> RetriedStatements::imageKeptAside(const OplogEntry& entry) {
  storage::OperationContext& operation = request_.operation();
  const storage::RetryableWrites& writes = *operation.retryable;
  TROUPE_ASSIGN(const bson::Document found, writes.tables().findImage(operation.recoveryUnit(), *entry.session));
  if (found.empty()) return historyIsGone("the document that it answered with");
  TROUPE_ASSIGN(const auto record, storage::ImageRecord::parse(found));
  const bool isIts = record.txnNumber == entry.txnNumber && record.time == entry.opTime.timestamp;
  if (!isIts || record.invalidated) return historyIsGone("the document that it answered with");
  return bson::Document(record.image);
}

void RetriedStatements::appendTo(bson::Builder& reply) const {
  if (!ids_.empty()) reply.append("retriedStmtIds", ids_);
}

void RetriedStatements::appendOnlyTo(bson::Builder& reply) const {
  if (!ids_.empty()) reply.append("retriedStmtId", ids_.front());
}

Status checkMayBeRetried(const Request& request, bool isMulti, std::string_view field) {
  if (!request.operation().session.txnNumber || !isMulti) return Status::OK();
  return {ErrorCode::kInvalidOptions, "Cannot use (or request) retryable writes with " + std::string(field)};
}

Status checkStatementIds(const Request& request, size_t statements) {
  std::vector<int32_t> given = request.operation().session.statementIds;
  if (request.fields()["stmtIds"].isNullish()) {
    const bool fits =
        given.empty() || (given.front() >= 0 && int64_t{given.front()} + static_cast<int64_t>(statements) <= INT32_MAX);
    if (fits) return Status::OK();
    return {ErrorCode::kInvalidOptions,
            "stmtId must not be negative, nor too large for the statements behind the first"};
  }
  if (given.size() != statements)
    return {ErrorCode::kInvalidLength, "Number of statement ids must match the number of batch entries. Got " +
                                           std::to_string(given.size()) + " statement ids but operation size is " +
                                           std::to_string(statements)};
  std::ranges::sort(given);
  if (given.front() >= 0 && std::ranges::adjacent_find(given) == given.end()) return Status::OK();
  return {ErrorCode::kInvalidOptions, "stmtIds must be different ids of 0 or more"};
}

}  // namespace troupe::commands
