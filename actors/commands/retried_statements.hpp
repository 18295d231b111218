#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/commands/modify.hpp"
#include "actors/server/request.hpp"
#include "storage/oplog/oplog_entry.hpp"

namespace troupe::commands {
using namespace server;

/// The statements of a retryable command that an earlier attempt has executed: they are not executed again, and what
/// they are answered with is found in the log (SES-017). Asked by the operation that has the session checked out; for
/// other commands no statement was. Each is asked for with the namespace that the command may write: an answer shows
/// documents, and those of another collection the client may not be allowed to read. Errors: 40606, where the statement
/// of that id was another one, or one in another namespace (a true retry gives the same name, also of a collection that
/// was renamed or dropped since); IncompleteTransactionHistory, where what it did cannot be known any more;
/// NotWritablePrimary or InterruptedDueToReplStateChange, where the node is no longer the primary that knew it.
class RetriedStatements {
 public:
  explicit RetriedStatements(Request& request) : request_(request) {}
  ~RetriedStatements();
  RetriedStatements(const RetriedStatements&) = delete;

  /// Whether the statement at that position of the command, an insert, was executed. Its answer shows no document:
  /// where the log no longer has the entry, it is enough that the session remembers the statement.
  StatusWith<bool> contains(int32_t position, const AuthorizedNamespace& ns);
  /// What an update (or, with `removes`, a delete) at that position did; nothing: it was not executed.
  StatusWith<std::optional<ModificationOutcome>> outcomeOf(int32_t position, const AuthorizedNamespace& ns,
                                                           bool removes);
  /// Of a findAndModify: with the document that it answers with.
  StatusWith<std::optional<ModificationOutcome>> outcomeWithDocument(const AuthorizedNamespace& ns,
                                                                     const Modification& what);
  /// Appends `retriedStmtIds`, unless there are none.
  void appendTo(bson::Builder& reply) const;
  /// Appends `retriedStmtId` in its place, as a findAndModify does.
  void appendOnlyTo(bson::Builder& reply) const;

 private:
  /// A statement that was executed, and its entry in the log.
  struct Executed {
    int32_t id = 0;
    std::optional<bson::Document> entry;  ///< nothing: the log was truncated
  };
  StatusWith<std::optional<Executed>> executed(int32_t position);
  StatusWith<std::optional<bson::Document>> entryOf(int32_t position, const AuthorizedNamespace& ns);
  Status historyIsGone(const std::string& what) const;
  Status roleOr(Status missing) const;
  StatusWith<bson::Document> imageOf(const storage::OplogEntry& entry, storage::RetryImage kind);
  StatusWith<bson::Document> imageKeptAside(const storage::OplogEntry& entry);
  StatusWith<bson::Document> imageInLog(const OpTime& place);

  Request& request_;
  std::vector<int32_t> ids_;
};

/// Retryable writes change one document a statement. Errors: InvalidOptions.
Status checkMayBeRetried(const Request& request, bool isMulti, std::string_view field);
/// A command has as many different statement ids as statements, or the first of them. Errors: InvalidOptions,
/// InvalidLength.
Status checkStatementIds(const Request& request, size_t statements);

}  // namespace troupe::commands
