#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/operation/memory_budget.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/sessions/session_tables.hpp"

namespace troupe::storage {

/// Statements that sessions of a family have executed under one number of the parent, and the entries of the log that
/// tell of them.
struct FamilyStatements {
  std::unordered_map<int32_t, OpTime> places;
  bool isComplete = true;  ///< false: the log has been truncated, and there may have been others
};

/// What the retryable writes of one session have done so far under its present number (SES-017, SES-018): a primary's
/// memory of the session's record and of the entries behind it. Used by the one operation that has the session checked
/// out. What an operation writes counts once it has committed.
class RetryableWrites {
 public:
  /// Of a statement in the table, with the allocator's share.
  static constexpr size_t kBytesOfStatement = 100;

  /// `session`: its whole id. `tables` outlives it.
  RetryableWrites(bson::Document session, const SessionTables& tables)
      : session_(std::move(session)), tables_(tables) {}

  bson::View session() const { return session_; }
  const SessionTables& tables() const { return tables_; }
  int64_t number() const { return number_; }
  /// Of the last entry under the present number; the null OpTime before there is one.
  const OpTime& lastWrite() const { return lastWrite_; }

  /// Forgets what it knew and reads the record, in the operation's snapshot. A lower number of it is over; where it is
  /// `wanted`, the chain of its entries is to be followed by `loadMore`. Errors, after which it is to be loaded again:
  /// the engine's; FailedToParse (documents that the server has not made); TransactionTooOld.
  Status load(OperationContext& operation, int64_t wanted);
  /// Follows the chain for a piece of kPiece entries, which takes some milliseconds: others may run before the next
  /// one, in another snapshot, since entries do not change. Errors: as of `load`; Interrupted; ExceededMemoryLimit.
  Status loadMore(OperationContext& operation, const OplogStore& log);
  bool isLoaded() const { return next_.timestamp == bson::Timestamp(); }
  /// The operation comes with a number. A newer one begins anew. Errors: TransactionTooOld.
  Status begin(int64_t number);
  /// The same for the number that its record tells of, whichever that is.
  Status loadPresent(OperationContext& operation);
  /// The entry of a statement that was executed under the present number, by this session or its family; nothing: it
  /// was not. Errors: IncompleteTransactionHistory (the log has been truncated: nobody knows).
  StatusWith<std::optional<OpTime>> executed(int32_t statement) const;
  /// Nothing was executed under the present number, as far as anybody knows.
  void forget();
  size_t size() const { return statements_.size(); }  ///< statements that are remembered
  /// Reserves memory from the node for so many statements more than it remembers, while an operation has the session.
  /// Errors: ExceededMemoryLimit.
  Status reserve(const OperationContext& operation, size_t more);
  /// Nobody has the session any more: who remembers it counts its statements.
  void endReservation() { memory_.reset(); }
  /// The one that was executed last under the present number, as far as it is known; -1: none.
  int32_t lastStatement() const { return lastStatement_; }
  bool isEmpty() const {
    return isComplete_ && statements_.empty() && (!family_ || (family_->isComplete && family_->places.empty()));
  }
  bool isComplete() const { return isComplete_; }
  /// Calls `note(statement, entry)` for those of this session that are remembered.
  template <class Note>
  void each(const Note& note) const {
    for (const auto& [statement, entry] : statements_) note(statement, entry);
  }
  /// Borrowed until it is set again, by the operation that has the session; null: it has no family.
  void setFamily(const FamilyStatements* family) { family_ = family; }
  /// Where the images of its findAndModifys are kept (storeFindAndModifyImagesInSideCollection): the same for the whole
  /// of an operation, which sets it when it has the session.
  bool keepsImagesAside() const { return keepsImagesAside_; }
  void keepImagesAside(bool aside) { keepsImagesAside_ = aside; }
  /// Called in each unit of work before its commit, which it may make fail; empty: nothing is. For fail points, by the
  /// operation that has the session.
  void setBeforeCommit(std::function<Status()> hook) { beforeCommit_ = std::move(hook); }
  Status beforeCommit() const { return beforeCommit_ ? beforeCommit_() : Status::OK(); }
  /// Where its record was put last, as a guess.
  const RecordId& place() const { return place_; }
  void notePlace(const RecordId& record) { place_ = record; }
  void note(int32_t statement, const OpTime& entry) {
    statements_.insert_or_assign(statement, entry);
    lastWrite_ = entry;
    lastStatement_ = statement;
  }

 private:
  static constexpr int kPiece = 512;

  const bson::Document session_;
  const SessionTables& tables_;
  int64_t number_ = -1;
  OpTime lastWrite_;
  int32_t lastStatement_ = -1;
  std::unordered_map<int32_t, OpTime> statements_;
  MemoryReservation memory_;  ///< of them
  OpTime next_;               ///< the entry that `loadMore` reads first; null: there is none
  bool isComplete_ = true;
  const FamilyStatements* family_ = nullptr;
  bool keepsImagesAside_ = true;
  RecordId place_;
  std::function<Status()> beforeCommit_;
};

/// The entry at a place of the log, in the unit's snapshot; nothing when it has been truncated or is another one.
StatusWith<std::optional<bson::Document>> entryAt(RecoveryUnit& unit, const OplogStore& log, const OpTime& place);

/// What one unit of work writes for a session: the chain of its entries, and at its end, in the same storage
/// transaction, the session's record and the image (SES-016, SES-021). Its operation has the session checked out.
class SessionWrites final : public BoundState {
 public:
  /// That of the unit, made with the first entry.
  static SessionWrites& of(RecoveryUnit& unit);

  /// The session's entry before the next one; the null OpTime: there is none under its number.
  const OpTime& previous() const { return last_; }
  void add(int32_t statement, const OpTime& entry, bson::Date wall);
  void keep(RetryImage kind, bson::View image) {
    kind_ = kind;
    image_ = bson::Document(image);
  }

 private:
  explicit SessionWrites(RetryableWrites& session) : session_(session), last_(session.lastWrite()) {}
  Status write(RecoveryUnit& unit);

  struct Statement {
    int32_t id;
    OpTime entry;
    bson::Date wall;
  };

  RetryableWrites& session_;
  OpTime last_;
  std::vector<Statement> statements_;
  SessionTables::Place record_;
  RetryImage kind_ = RetryImage::kNone;
  bson::Document image_;
};

}  // namespace troupe::storage
