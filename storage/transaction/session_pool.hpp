#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/engine/engine.hpp"
#include "storage/oplog/oplog_visibility.hpp"
#include "storage/transaction/prepared_times.hpp"

namespace troupe::storage {

class SessionPool;

/// A session on loan. Giving it back (destruction) rolls back what is open. Move-only; may cross threads with its
/// operation; must not outlive the pool.
class SessionLease {
 public:
  SessionLease() = default;
  SessionLease(SessionLease&& other) noexcept;
  SessionLease& operator=(SessionLease&& other) noexcept;
  ~SessionLease() { giveBack(); }

  explicit operator bool() const { return slot_ != nullptr; }
  Session& operator*() const { return *slot_->session; }
  Session* operator->() const { return slot_->session.get(); }
  Session* get() const { return slot_ ? slot_->session.get() : nullptr; }
  void giveBack();

 private:
  friend class SessionPool;
  struct Slot {
    std::unique_ptr<Session> session;
    uint64_t forgotten = 0;  ///< how many of the pool's forgotten tables this session has been told of
  };
  SessionLease(SessionPool* pool, std::unique_ptr<Slot> slot) : pool_(pool), slot_(std::move(slot)) {}

  SessionPool* pool_ = nullptr;
  std::unique_ptr<Slot> slot_;
};

/// Lends engine sessions, one per operation: opening one costs far more than a point read, and its cached cursors
/// are worth keeping. Long-lived cursors and transactions simply keep their lease. Thread-safe; idle sessions lie in
/// stripes chosen by thread, so that threads seldom meet. Owns the sessions; the engine must outlive the pool.
class SessionPool {
 public:
  /// `maxSessions` bounds idle and lent sessions together (the engine's own session limit lies above it).
  explicit SessionPool(Engine& engine, int maxSessions = 1500);
  ~SessionPool();
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  /// TemporarilyUnavailable when all sessions are lent; else what Engine::openSession says.
  StatusWith<SessionLease> borrow();

  /// Makes every session close its cached cursors of the table, so that it can be dropped: idle ones now, lent ones
  /// when they come back.
  void forgetTable(const Table& table);
  /// Closes all idle sessions, as before the engine closes.
  void closeIdle();

  struct Statistics {
    int64_t open = 0;
    int64_t lent = 0;
    int64_t max = 0;
  };
  Statistics statistics() const;
  /// The oplog's visibility point, which each snapshot notes when it is opened; null: there is no oplog. Set before
  /// other threads use the pool; outlives all snapshots.
  void setOplogVisibility(const OplogVisibility* visibility) { oplogVisibility_ = visibility; }
  const OplogVisibility* oplogVisibility() const { return oplogVisibility_; }
  /// The node is a member of a replica set: recovery units then refuse a write to a replicated table that has neither a
  /// slot nor a given time (write_slots.hpp). Set before the catalog is opened.
  void setMember(bool member) { member_ = member; }
  bool isMember() const { return member_; }
  Engine& engine() const { return engine_; }
  /// Of units of work that were prepared in these sessions.
  PreparedTimes& preparedTimes() { return preparedTimes_; }

 private:
  friend class SessionLease;
  using Slot = SessionLease::Slot;
  static constexpr size_t kStripes = 16;
  /// Forgotten tables that the pool remembers. A session that has missed more is closed instead of being told of each.
  static constexpr size_t kForgottenKept = 256;
  struct alignas(64) Stripe {
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<Slot>> idle;
  };

  std::unique_ptr<Slot> takeIdle();
  void giveBack(std::unique_ptr<Slot> slot);
  /// False when the session is too far behind and must be closed.
  bool catchUp(Slot& slot);

  Engine& engine_;
  PreparedTimes preparedTimes_;
  const OplogVisibility* oplogVisibility_ = nullptr;
  bool member_ = false;
  const int maxSessions_;
  std::atomic<int> open_{0};
  std::atomic<uint64_t> forgottenCount_{0};
  std::mutex forgottenMutex_;
  std::vector<Table> forgotten_;  ///< the last ones, up to forgottenCount_
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace troupe::storage
