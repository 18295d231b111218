#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "storage/catalog/write_observer.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/sessions/retryable_writes.hpp"

namespace troupe::server {

/// The sessions whose numbered commands this node has carried out as a primary, each with what its retryable writes
/// have done. One operation at a time has a session checked out; others of the session wait for it, so that a retry
/// meets the outcome of the first attempt (SES-010, SES-011). What is known of a session is read from
/// config.transactions and the log when that is needed, so it may be forgotten at any time: those unused for longest
/// give way to new ones. An edit of config.transactions ends the operation that has the session, and what was known of
/// it (SES-013). Thread-safe.
class SessionCatalog final : public storage::WriteObserver {
  struct Session;

 public:
  /// Sessions remembered beside those that are in use.
  static constexpr size_t kMostSessions = 10'000;
  /// Of a session with more statements nothing is remembered once it is free: the log has them.
  static constexpr size_t kMostStatements = 1'000;

  /// A session that one operation has for itself, to the end of its life. Move-only; must not outlive the operation nor
  /// the catalog.
  class CheckedOut {
   public:
    CheckedOut() = default;
    CheckedOut(CheckedOut&& other) noexcept
        : catalog_(std::exchange(other.catalog_, nullptr)), session_(std::move(other.session_)) {}
    CheckedOut& operator=(CheckedOut&& other) noexcept {
      std::swap(catalog_, other.catalog_);
      std::swap(session_, other.session_);
      return *this;
    }
    ~CheckedOut() {
      if (catalog_) catalog_->checkIn(session_);
    }

    storage::RetryableWrites& writes() const;
    /// Reads what is known of the session, unless that was done in this term and holds still. Errors: those of
    /// RetryableWrites::load.
    Status bringUpToDate(storage::OperationContext& operation, const storage::OplogStore& log, int64_t term,
                         int64_t wanted) const;

   private:
    friend class SessionCatalog;
    CheckedOut(SessionCatalog* catalog, std::shared_ptr<Session> session)
        : catalog_(catalog), session_(std::move(session)) {}
    SessionCatalog* catalog_ = nullptr;
    std::shared_ptr<Session> session_;
  };

  /// Where sessions are kept; before the first `checkOut`.
  void attach(const storage::SessionTables& tables) { tables_.emplace(tables); }

  /// Waits until the session ({id, uid}) is free. Errors: the operation has to end.
  Task<StatusWith<CheckedOut>> checkOut(Node& node, storage::OperationContext& operation, bson::Document session);
  size_t size() const;

  // Of a session and its children: `familyKey` is the 48 bytes of their SessionKey.
  /// Ends the operations that have or await such sessions (Interrupted); returns how many.
  size_t kill(const std::function<bool(std::string_view familyKey)>& which);
  /// The sessions that nobody has checked out since then, nor has now.
  std::vector<std::string> unusedSince(TimePoint since) const;
  /// Forgets what is known of a session. False: there is none, or it is in use.
  bool forget(const std::string& familyKey);

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
  using SessionPtr = std::shared_ptr<Session>;
  using WaiterPtr = std::shared_ptr<Waiter>;

  SessionPtr find(const bson::Document& session);
  void checkIn(const SessionPtr& session);
  void giveUp(const SessionPtr& session, const WaiterPtr& waiter);
  /// With the lock held.
  void passOn(Session& session);
  void makeRoom();
  void invalidate(Session& session);
  void invalidateAll(storage::RecoveryUnit& unit);
  void invalidateOne(storage::RecoveryUnit& unit, bson::View document);

  std::optional<storage::SessionTables> tables_;
  mutable std::mutex mutex_;
  std::list<SessionPtr> byUse_;                                                 ///< the one unused for longest first
  std::unordered_map<std::string_view, std::list<SessionPtr>::iterator> byId_;  ///< keys lie in the sessions
};

}  // namespace troupe::server
