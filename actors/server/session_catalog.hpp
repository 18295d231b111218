#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "actors/server/dropped_children.hpp"
#include "actors/server/session_key.hpp"
#include "actors/server/table_piece.hpp"
#include "state_machines/sessions/session_life.hpp"
#include "storage/catalog/write_observer.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/sessions/retryable_writes.hpp"
#include "storage/sessions/session_id.hpp"

namespace troupe::server {

/// A family of sessions as operators see it (SES-011).
struct FamilyRow {
  std::string key;  ///< SessionId::familyKey
  TimePoint lastCheckOut;
  size_t waiters = 0;
  size_t kills = 0;            ///< that its operation was told of and has not answered yet
  size_t children = 0;         ///< of which something is remembered
  int64_t lastNumber = -1;     ///< of the parent; -1: none
  int32_t lastStatement = -1;  ///< under that number; -1: none
  bool inUse = false;
  int64_t operationId = 0;  ///< that has it; 0: none, or one without an id
};

/// The sessions whose numbered commands this node has carried out as a primary, by families, each with what its
/// retryable writes have done. What happens to a family is decided by its machine (SessionLife); the catalog carries it
/// out. What is known of a session is read from config.transactions and the log when that is needed, so it may be
/// forgotten at any time: families unused for longest give way to new ones. Thread-safe.
class SessionCatalog final : public storage::WriteObserver {
  struct Family;
  using FamilyPtr = std::shared_ptr<Family>;

 public:
  /// Families remembered beside those that are in use.
  static constexpr size_t kMostSessions = 10'000;
  /// Of a session with more statements nothing is remembered once it is free: the log has them.
  static constexpr size_t kMostStatements = 1'000;
  /// Statements remembered of all families that are free, some 100 bytes each.
  static constexpr size_t kMostStatementsOfAll = 500'000;

  /// A session that one operation has for itself, with its whole family, to the end of its life. Move-only; must not
  /// outlive the operation nor the catalog.
  class CheckedOut {
   public:
    CheckedOut() = default;
    CheckedOut(CheckedOut&& other) noexcept
        : catalog_(std::exchange(other.catalog_, nullptr)),
          environment_(other.environment_),
          family_(other.family_),
          writes_(other.writes_),
          ticket_(other.ticket_),
          isChild_(other.isChild_),
          knowsFamily_(other.knowsFamily_),
          retryOf_(other.retryOf_) {}
    CheckedOut& operator=(CheckedOut&& other) noexcept {
      std::swap(catalog_, other.catalog_);
      std::swap(environment_, other.environment_);
      std::swap(family_, other.family_);
      std::swap(writes_, other.writes_);
      std::swap(ticket_, other.ticket_);
      std::swap(isChild_, other.isChild_);
      std::swap(knowsFamily_, other.knowsFamily_);
      std::swap(retryOf_, other.retryOf_);
      return *this;
    }
    ~CheckedOut() {
      if (catalog_) catalog_->checkIn(*this);
    }

    storage::RetryableWrites& writes() const { return *writes_; }
    /// Reads what is known of the session, unless that was done in this term and holds still, for some milliseconds.
    /// False: it is to be called again, once others have had their turn. Errors: those of RetryableWrites::load; what
    /// ended the operation meanwhile.
    StatusWith<bool> bringUpToDate(storage::OperationContext& operation, const storage::OplogStore& log, int64_t term,
                                   int64_t wanted) const;
    /// The operation comes with that number; then `writes` is about it. Children of lower numbers of the parent are
    /// over. After `bringUpToDate`. Errors: TransactionTooOld; the engine's; what ended the operation meanwhile.
    Status begin(storage::OperationContext& operation, int64_t number) const;
    /// Reads what other sessions of the family have done under the number, unless that is known. After `begin`; result
    /// and errors as of `bringUpToDate`.
    StatusWith<bool> bringFamilyUpToDate(storage::OperationContext& operation, const storage::OplogStore& log) const;

   private:
    friend class SessionCatalog;
    StatusWith<int64_t> recordedNumber(storage::OperationContext& operation) const;
    /// Of the parent, in which its children have a part; kNoNumber: it has none (a child without a number).
    int64_t numberOfFamily() const { return isChild_ ? retryOf_ : writes_->number(); }
    StatusWith<bool> readMore(storage::OperationContext& operation, const storage::OplogStore& log) const;

    SessionCatalog* catalog_ = nullptr;
    const Environment* environment_ = nullptr;
    Family* family_ = nullptr;  ///< stays as long as an operation has it
    storage::RetryableWrites* writes_ = nullptr;
    int64_t ticket_ = 0;
    bool isChild_ = false;
    mutable bool knowsFamily_ = false;  ///< `bringFamilyUpToDate` has ended: what it has done since counts for others
    int64_t retryOf_ = sessions::kNoNumber;  ///< SessionId::txnNumber
  };

  /// While it lives, what the operation removes from the records is no edit: nobody can come with these sessions again.
  class Reaping {
   public:
    Reaping(SessionCatalog& catalog, const storage::OperationContext& operation)
        : catalog_(catalog), operation_(&operation) {
      const std::lock_guard lock(catalog_.mutex_);
      catalog_.reaping_.insert(operation_);
    }
    ~Reaping() {
      const std::lock_guard lock(catalog_.mutex_);
      catalog_.reaping_.erase(operation_);
    }
    Reaping(const Reaping&) = delete;

   private:
    SessionCatalog& catalog_;
    const storage::OperationContext* operation_;
  };

  /// Where sessions are kept; before the first `checkOut`.
  void attach(const storage::SessionTables& tables) { tables_.emplace(tables); }

  /// Waits until the session's family is free; then the operation has all of it (SES-002, SES-010). Errors: the
  /// operation has to end; Interrupted (the session was killed while the operation waited).
  Task<StatusWith<CheckedOut>> checkOut(Node& node, storage::OperationContext& operation, storage::SessionId session);

  /// Ends the operation that has the family, and those that wait for it (Interrupted), and forgets what is known
  /// (SES-003). Of several kills the first one acts, until the operation has checked the family in. Whether this one
  /// has acted.
  bool kill(const SessionKey& family);
  /// The families with that id (16 bytes), of all owners.
  std::vector<SessionKey> keysOf(std::string_view id) const;
  /// Those of a piece of the table, so many buckets; none does not mean that the end is reached.
  std::vector<SessionKey> look(TablePlace& place, size_t buckets) const;
  /// Keys of families that are neither in use nor waited for and were last checked out before that.
  std::vector<std::string> unusedSince(TimePoint when) const;
  /// Forgets a family; false while it is in use or waited for. One that is not there is forgotten already.
  bool forget(const std::string& familyKey);
  /// What is known of any session holds no longer, and operations that have one end: a rollback, or another copy of the
  /// data (SES-013).
  void invalidateAll();
  std::vector<FamilyRow> families() const;
  /// Nothing when the family is not remembered.
  std::optional<FamilyRow> family(std::string_view familyKey) const;
  size_t size() const;
  /// Of families that are free, as of when they were checked in.
  size_t rememberedStatements() const;

  DroppedChildren& droppedChildren() { return dropped_; }

  bool observes(const storage::CatalogEntry& entry) const override;
  Status onInsert(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::InsertOperation& inserted) override;
  Status onUpdate(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::UpdateOperation& updated) override;
  Status onRemove(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::RemoveOperation& removed) override;
  Status onTruncate(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onDrop(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) override;

 private:
  struct Waiter;
  using WaiterPtr = std::shared_ptr<Waiter>;
  using Actions = sessions::SessionLife::Actions;

  // With the lock held.
  Family& find(const storage::SessionId& session, int64_t now);
  static FamilyRow rowOf(const Family& family);
  void makeRoom();
  bool isFull() const { return byUse_.size() >= kMostSessions; }
  void countStatements(Family& family, size_t statements);
  CheckedOut handOver(const Environment& environment, Family& family, const storage::SessionId& session,
                      int64_t ticket);
  /// Carries out what the machine of a family has decided, and what comes of it.
  void carryOut(Family& family, Actions actions, int64_t now);
  /// False if the operation has given up waiting in this moment.
  bool grant(Family& family, int64_t ticket);
  void endWaiter(Family& family, int64_t ticket);
  void forgetHistory(Family& family, const std::string& child);
  void invalidate(Family& family);

  void checkIn(const CheckedOut& session);
  void giveUp(const Environment& environment, Family& family, Waiter& waiter);
  /// Tells the machine of a family what has happened, and says what it decided.
  template <class Event>
  Actions tell(Family& family, const Event& event);
  void invalidateAll(storage::RecoveryUnit& unit);
  void invalidateOne(storage::RecoveryUnit& unit, bson::View document);

  std::optional<storage::SessionTables> tables_;
  DroppedChildren dropped_;
  mutable std::mutex mutex_;
  int64_t lastTicket_ = 0;
  size_t statements_ = 0;  ///< sum of Family::statements
  std::set<const storage::OperationContext*> reaping_;
  std::list<FamilyPtr> byUse_;  ///< the one unused for longest first
  /// Keys lie in the families.
  std::unordered_map<std::string_view, std::list<FamilyPtr>::iterator, SessionIdHash> byKey_;
};

}  // namespace troupe::server
