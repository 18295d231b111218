#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"
#include "messaging/clock/time_point.hpp"
#include "messaging/errors/invariant.hpp"
#include "messaging/errors/status.hpp"
#include "storage/admission/execution_admission.hpp"
#include "storage/locks/locker.hpp"
#include "storage/operation/concerns.hpp"
#include "storage/operation/idle_units.hpp"
#include "storage/operation/logical_session.hpp"
#include "storage/operation/memory_budget.hpp"
#include "storage/operation/write_mode.hpp"
#include "storage/transaction/recovery_unit.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

class NodeState;
class RetryableWrites;
enum class RetryImage : uint8_t;
struct ReplicatedWrites;

/// A text that its operation sets while others may look at it.
class SharedText {
 public:
  SharedText& operator=(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
    return *this;
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// How far long work is, for currentOp. `total` is an estimate.
struct OperationProgress {
  SharedText message;  ///< empty: it shows none
  std::atomic<int64_t> done{0}, total{0};
};

/// Costs of an operation, for slow-operation lines and currentOp. Written by the operation only; others look at what
/// currentOp shows, the yields, the plan and the progress.
struct OperationMetrics {
  int64_t keysExamined = 0;
  int64_t docsExamined = 0;
  int64_t returned = 0;
  int64_t inserted = 0;
  int64_t modified = 0;
  int64_t deleted = 0;
  int64_t writeConflicts = 0;  ///< of all statements together
  std::atomic<int64_t> yields{0};
  int64_t replyBytes = 0;
  /// Tickets of flow control (LCK-021); currentOp shows all of it.
  struct FlowControl {
    std::atomic<int64_t> acquired{0}, waits{0}, micros{0};
    std::atomic<bool> isWaiting{false};
  } flowControl;
  /// Time an awaitData cursor or awaitable hello spent blocked; excluded from latency.
  std::chrono::nanoseconds awaited{0};
  bool hasSortStage = false;
  SharedText planSummary;
  OperationProgress progress;
};

/// Origin of an operation.
enum class OperationOrigin : uint8_t {
  kClient,   ///< a command of a connection
  kMachine,  ///< a machine host that writes or reads state documents
  kService,  ///< the node's own work: user cache, index scans, TTL, start-up and tools
  kApplier,  ///< operations of another node's log
};

/// Parts of the node that operations use; all of it outlives them. Those of a whole node are made in one place
/// (NodeAssembly); work that is alone with its tables names their pool only.
struct OperationServices {
  SessionPool& sessions;
  const ReadTimes* times = nullptr;         ///< null on a node without replication
  LockManager* locks = nullptr;             ///< null: the work is alone on its node (start-up, tools)
  ExecutionAdmission* admission = nullptr;  ///< null: operations need no ticket
  ReplicatedWrites* replicated = nullptr;   ///< null on a node that stands alone
  IdleUnits* idleUnits = nullptr;           ///< null: no unit of work outlives its operation
  const NodeState* node = nullptr;          ///< its role and term (RDS-004); null on a node that stands alone
  MemoryGovernor* memory = nullptr;         ///< null: operations may hold as much memory as they like
};

/// State of an operation, stashed for another command on any thread, and the read concern it was begun with. A cursor's
/// is its recovery unit, with its open snapshot, if any, and the budget of the memory that its plan holds. A
/// transaction's is its open unit of work with all that it holds, which lies in the node's IdleUnits: it may be ended
/// there before it is taken up. Destroying it ends it. Empty after it was taken.
struct StashedOperation {
  std::unique_ptr<RecoveryUnit> unit;
  ReadConcern readConcern;
  IdleUnits::Place open;
  bool writes = false;  ///< the unit of work has announced writes: who takes it up locks for writing
  std::shared_ptr<MemoryBudget> memory = nullptr;
};

/// One piece of work: a command, a batch of state documents, a background job. It owns what must have an owner: the
/// interrupt point (kill, deadline and the end of its client), the session and statement, read and write concern, the
/// memory budget and the only recovery unit. Observers of its writes reach it through the unit. Belongs to the actor or
/// thread that runs it; others meet a client's operation only through Client::withOperation, once `database`,
/// `commandName` and `command` are set: they may kill it, and look at these three, the namespace, the locker's id, and
/// what its metrics share.
class OperationContext {
 public:
  /// `id`: for currentOp and killOp; 0 for work that neither shows.
  explicit OperationContext(const OperationServices& services, OperationOrigin origin = OperationOrigin::kService,
                            int64_t id = 0, TimePoint started = {})
      : services_(services), origin_(origin), id_(id), started_(started) {}
  OperationContext(const OperationContext&) = delete;
  OperationContext& operator=(const OperationContext&) = delete;

  int64_t id() const { return id_; }
  TimePoint started() const { return started_; }
  OperationOrigin origin() const { return origin_; }
  const OperationServices& services() const { return services_; }

  // --- Storage
  /// The operation's only recovery unit, made at first use.
  RecoveryUnit& recoveryUnit() { return unit_ ? *unit_ : makeUnit(); }
  bool hasRecoveryUnit() const { return unit_ != nullptr; }
  /// Opens a unit of work that `stash` takes along: a transaction's. It ends by `commitLastingUnit`, by `prepare` and
  /// `commitPrepared` of the result, or is rolled back with the operation or its stash. No other may be open. `end`: of
  /// its lifetime, apart from this command's deadline. A prepared one belongs to its coordinator: the command must
  /// stash it again, also when it was killed.
  WriteUnitOfWork& openLastingUnit(UnitLogging logging, std::optional<TimePoint> end = {});
  /// Null when there is none.
  WriteUnitOfWork* lastingUnit() { return lasting_.get(); }
  Status commitLastingUnit();
  /// Hands the recovery unit on; the next use makes another. A lasting unit of work goes with it, and with that all
  /// locks of this operation, which the unit now holds to its end, the term and mode of its writes, and the outcome of
  /// a kill; the ticket is given back. Throws std::logic_error within any other unit of work.
  StashedOperation stash();
  /// Goes on with what another operation left: `takeUp` (actors/storage), which takes lock and ticket before, for one
  /// with an open unit of work. The own unit must not be active (throws std::logic_error). Errors: what ended the unit
  /// of work meanwhile (InterruptedDueToReplStateChange, TransactionExceededLifetimeLimitSeconds, the code of a kill).
  Status unstash(StashedOperation stashed);

  /// The memory it may hold, made at first use. Its cursor takes it along.
  MemoryBudget& memory() { return memory_ ? *memory_ : makeBudget(); }
  /// The most it has held so far, in bytes.
  int64_t memoryPeak() const { return memory_ ? memory_->peak() : 0; }

  // --- Locks and admission
  /// The operation's locks, made at first use; null without a lock manager.
  Locker* locker() {
    if (!locker_ && services_.locks) makeLocker();
    return locker_ ? &*locker_ : nullptr;
  }
  /// Of the locker; 0 before there is one. Any thread.
  uint64_t lockerId() const { return lockerId_.load(std::memory_order_acquire); }
  /// For currentOp: the locker once there is one, for its `statistics` only. Any thread.
  const Locker* shownLocker() const { return lockerId() ? &*locker_ : nullptr; }
  AdmissionPriority priority() const { return priority_.load(std::memory_order_relaxed); }
  /// Counts from the next ticket on.
  void setPriority(AdmissionPriority priority) { priority_.store(priority, std::memory_order_relaxed); }
  /// Two-phase locking: releases within a unit of work wait for its end (LCK-004). `release`: once for an acquisition.
  void release(const ResourceId& resource);
  void endUnit();
  /// Takes a ticket of flow control, unless it has one that is not used or needs none: operations of a node that stands
  /// alone and immediate ones need none (LCK-009). False: it has to wait for one, which `noteFlowTicket` then notes.
  bool tryPassFlow();
  void noteFlowTicket();
  /// The lock for which it was taken is held.
  void useFlowTicket() { hasFlowTicket_ = false; }
  /// Takes a ticket of the pool of readers or writers, if it has none and one is free. True when it has one.
  bool tryAdmit(bool write);
  /// Takes a ticket of the present priority in place of the one it has, if one is free. False: it keeps the old one.
  bool exchangeTicket();
  void admit(Ticket ticket) { ticket_ = std::move(ticket); }
  bool isAdmitted() const { return !services_.admission || static_cast<bool>(ticket_); }
  void returnTicket() { ticket_.reset(); }
  /// Gives up all locks and the ticket, as before a wait; `takeYielded` says what has to be acquired again afterwards.
  /// Not within a unit of work.
  void yieldLocks();
  LockSnapshot takeYielded() { return std::exchange(yielded_, {}); }

  /// Marks the operation as a writer, which a role change kills. To be called before the first write.
  void announceWrites() { announcesWrites_.store(true, std::memory_order_release); }
  /// Any thread.
  bool announcesWrites() const { return announcesWrites_.load(std::memory_order_acquire); }
  WriteMode writeMode() const { return writeMode_; }
  void setWriteMode(WriteMode mode) { writeMode_ = mode; }
  /// WriteMode::kApplied: the time of the entry that is being applied, which its units of work carry (write_slots.hpp).
  std::optional<bson::Timestamp> appliedTime() const { return appliedTime_; }
  void setAppliedTime(std::optional<bson::Timestamp> time) { appliedTime_ = time; }
  /// Likewise: the data may be later than what is applied (ApplyMode::kReplaying, or a copy while it changes).
  bool isReplaying() const { return isReplaying_; }
  void setReplaying(bool replays) { isReplaying_ = replays; }
  /// Likewise: the time of the first entry of those that are applied side by side, of which it is one. Nothing: they
  /// are applied one after the other.
  std::optional<bson::Timestamp> batchStart() const { return batchStart_; }
  void setBatchStart(bson::Timestamp time) { batchStart_ = time; }
  /// Whether a unit of work of this operation committed writes: then there is something to await.
  bool hasWritten() const { return hasWritten_; }
  void noteWritten() { hasWritten_ = true; }
  /// A statement changed nothing, or less than it found, or met a duplicate: its answer depends on what others wrote.
  bool reliesOnOthers() const { return reliesOnOthers_; }
  void noteReliance() { reliesOnOthers_ = true; }
  /// Of the last stamped write that committed; the null OpTime before.
  const OpTime& lastOpTime() const { return lastOpTime_; }
  void setLastOpTime(const OpTime& opTime) { lastOpTime_ = opTime; }
  /// The term in which this operation's first write was admitted; writes of a later term are refused.
  std::optional<int64_t> writeTerm() const { return writeTerm_; }
  void setWriteTerm(int64_t term) { writeTerm_ = term; }

  // --- The client's wishes, parsed once by the dispatcher
  LogicalSession session;
  /// What the session has done under its number, while the operation has it checked out; null otherwise. Its writes
  /// add to it.
  RetryableWrites* retryable = nullptr;
  /// The document that the next write has to keep for a retry; kNone but for a findAndModify.
  RetryImage retryImage{};
  ReadConcern readConcern;
  WriteConcern writeConcern;

  /// The positions, in the client's command, of the statements that the next write carries out: one a document. Empty:
  /// it carries out the first. Borrowed until it is set again.
  void setStatements(std::span<const int32_t> positions) { statements_ = positions; }
  /// The id of the next write's statement `index`; nothing outside of a numbered session.
  std::optional<int32_t> statementId(size_t index) const {
    return session.statementId(index < statements_.size() ? static_cast<size_t>(statements_[index]) : index);
  }

  // --- Interrupt
  /// Asks the operation to end with `code` (Interrupted, InterruptedAtShutdown, CursorKilled ...) at its next check. An
  /// end of the role or of the node stays the reason, whoever kills it also: clients may send such a command again.
  void kill(ErrorCode code) {
    const auto stays = [](int32_t pending) {
      return pending == static_cast<int32_t>(ErrorCode::kInterruptedDueToReplStateChange) ||
             pending == static_cast<int32_t>(ErrorCode::kInterruptedAtShutdown);
    };
    int32_t pending = killed_.load(std::memory_order_relaxed);
    while (!stays(pending) &&
           !killed_.compare_exchange_weak(pending, static_cast<int32_t>(code), std::memory_order_relaxed)) {
    }
    const std::lock_guard lock(wakerMutex_);
    if (onKill_) onKill_();
  }
  /// While the operation waits for something: `wake` is called, from any thread, when it is killed (at once when it has
  /// been). Empty: no longer. For InterruptibleWait (actors/storage).
  void wakeOnKill(std::function<void()> wake) {
    const std::lock_guard lock(wakerMutex_);
    invariant(!wake || !onKill_, "an operation waits for one thing at a time");
    onKill_ = std::move(wake);
    if (onKill_ && killed()) onKill_();
  }
  bool killed() const { return killed_.load(std::memory_order_relaxed) != 0; }
  /// maxTimeMS, or the deadline of the node that asked: the earliest holds. Without one there is no limit.
  void setDeadline(TimePoint deadline) { deadline_ = deadline_ ? std::min(*deadline_, deadline) : deadline; }
  std::optional<TimePoint> deadline() const { return deadline_; }
  /// `isGone` (borrowed) says whether the client has closed its connection. It is asked by the operation's own checks,
  /// once it has lasted kClientLook and so often; then the operation is killed (HostUnreachable).
  void watchClient(const std::function<bool()>* isGone) { isClientGone_ = isGone; }
  /// The failure the operation has to end with now: it was killed, its time (maxTimeMS) is over, or its client is gone.
  /// On the operation's own thread.
  Status checkForInterrupt(TimePoint now) {
    if (isClientGone_ && now >= nextClientLook_) lookAtClient(now);
    if (const auto code = killed_.load(std::memory_order_relaxed))
      return {static_cast<ErrorCode>(code), "operation was interrupted"};
    if (deadline_ && now >= *deadline_) return {ErrorCode::kMaxTimeMSExpired, "operation exceeded time limit"};
    return Status::OK();
  }

  // --- For currentOp, logs and profiles
  std::string_view database;
  SharedText ns;  ///< "db.collection" once known
  /// The namespace as operators see it, also while it is not known.
  std::string shownNs() const {
    std::string known = ns.text();
    return known.empty() ? std::string(database) + ".$cmd" : known;
  }
  std::string_view commandName;
  bson::View command;  ///< the request's body
  OperationMetrics metrics;

 private:
  static constexpr std::chrono::milliseconds kClientLook{50};
  RecoveryUnit& makeUnit();
  MemoryBudget& makeBudget();
  void lookAtClient(TimePoint now);
  void makeLocker();
  StashedOperation stashOpenUnit();
  void adopt(OpenUnit open);

  const OperationServices services_;
  const OperationOrigin origin_;
  WriteMode writeMode_ = WriteMode::kReplicated;
  std::optional<bson::Timestamp> appliedTime_, batchStart_;
  bool isReplaying_ = false;
  bool hasWritten_ = false;
  bool reliesOnOthers_ = false;
  std::atomic<bool> announcesWrites_{false};
  const int64_t id_;
  const TimePoint started_;
  std::optional<TimePoint> deadline_;
  std::atomic<int32_t> killed_{0};
  const std::function<bool()>* isClientGone_ = nullptr;
  TimePoint nextClientLook_ = started_ + kClientLook;
  std::shared_ptr<MemoryBudget> memory_;
  std::mutex wakerMutex_;
  std::function<void()> onKill_;
  OpTime lastOpTime_;
  std::optional<int64_t> writeTerm_;
  std::span<const int32_t> statements_;
  // In this order: at the end the unit of work goes first, then the recovery unit, then the locks, then the ticket.
  std::atomic<AdmissionPriority> priority_{AdmissionPriority::kNormal};
  bool hasFlowTicket_ = false;
  Ticket ticket_;
  std::atomic<uint64_t> lockerId_{0};
  std::optional<Locker> locker_;
  LockSnapshot yielded_;
  std::unique_ptr<RecoveryUnit> unit_;
  std::unique_ptr<WriteUnitOfWork> lasting_;
  std::optional<TimePoint> lastingEnd_;
};

}  // namespace troupe::storage
