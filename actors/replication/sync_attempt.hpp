#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "actors/replication/remote_members.hpp"
#include "actors/replication/sync_status.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/batch_units.hpp"

namespace troupe::replication {

/// From as many documents on it pays to fill a collection (storage::CollectionLoad).
inline constexpr int64_t kLoadFrom = 1000;
inline constexpr size_t kMaxKeyBytes = size_t{128} << 20;

/// Parts of the node that an initial sync copies with; all of it outlives the copy.
struct CopyParts {
  Node* node = nullptr;
  storage::Catalog* catalog = nullptr;
  storage::OplogStore* log = nullptr;
  storage::OperationServices services;
  RemoteMembers* members = nullptr;
  SyncStatus* status = nullptr;
  /// Writes a line to the node's log. May be null.
  std::function<void(std::string_view message, const bson::Document& attributes)> note;
  storage::UnitLimits unit = {};
  size_t credit = size_t{16} << 20;              ///< bytes that a source may have sent and that were not read yet
  Duration timeout = std::chrono::seconds(60);   ///< of one command there
  Duration patience = std::chrono::seconds(60);  ///< for which a source may give nothing but errors
  Duration pause = std::chrono::seconds(1);      ///< between two attempts to go on with it
  int64_t loadFrom = kLoadFrom;                  ///< documents from which on a collection is filled
  size_t maxKeyBytes = kMaxKeyBytes;             ///< that filling may keep in memory
  /// Whether the disk has room for that many bytes more. Null: it always has.
  std::function<Status(size_t bytes)> roomFor = {};
  std::function<void()> beforeStep;  ///< of a copy: for tests. May be null
};

/// One attempt to copy the data of another member. Shared by the actor and the tasks that copy for it, all of which run
/// on the actor's thread; a task that has waited looks whether the attempt still goes on.
class SyncAttempt {
 public:
  SyncAttempt(const CopyParts& parts, NodeName source) : parts(parts), source(std::move(source)) {}

  const CopyParts& parts;
  const NodeName source;
  int64_t rollbackId = 0;  ///< of the source, before anything was copied
  bson::Timestamp at;      ///< the time of all that is copied

  bool isAbandoned() const { return isAbandoned_; }
  /// Nothing is written for the attempt any more, but what is being written now.
  void abandon() { isAbandoned_ = true; }
  /// Completes when nothing is being written.
  Future<troupe::Done> untilIdle();

  /// Something is being written as long as it lives. Each write of an attempt has one.
  class Writing {
   public:
    /// When the disk has room for `bytes` more. Nothing: it needs none, since it frees space (a drop) or uses what is
    /// reserved for it (a checkpoint). Errors: Interrupted (the attempt is over).
    static Task<StatusWith<Writing>> begin(std::shared_ptr<SyncAttempt> attempt, std::optional<size_t> bytes);
    ~Writing() {
      if (of_) of_->endWriting();
    }
    Writing(Writing&&) noexcept = default;
    Writing& operator=(Writing&&) = delete;

   private:
    explicit Writing(std::shared_ptr<SyncAttempt> of) : of_(std::move(of)) { ++of_->writing_; }
    std::shared_ptr<SyncAttempt> of_;
  };

 private:
  void endWriting();
  bool isAbandoned_ = false;
  int writing_ = 0;
  std::vector<Promise<troupe::Done>> awaitingIdle_;
};

/// How long a source has been giving nothing but errors. Of one task.
class SourcePatience {
 public:
  explicit SourcePatience(std::shared_ptr<SyncAttempt> attempt) : attempt_(std::move(attempt)) {}
  /// It has given something.
  void renew() { failedSince_.reset(); }
  /// Waits a moment after `failure` of the source. OK: to be tried again. Else the failure that ends the attempt: it
  /// does not pass by itself, has lasted too long, or the source's log may have lost entries meanwhile (ISY-005).
  Task<Status> wait(Status failure);

 private:
  std::shared_ptr<SyncAttempt> attempt_;
  std::optional<TimePoint> failedSince_;
};

/// Runs a command on the source, again and again while it fails for a moment only. Errors: those of
/// SourcePatience::wait and of the command.
Task<StatusWith<bson::Document>> askSource(std::shared_ptr<SyncAttempt> attempt, std::string database,
                                           bson::Document command);
/// All documents of a command there that gives a cursor. Errors: likewise.
Task<StatusWith<std::vector<bson::Document>>> listOfSource(std::shared_ptr<SyncAttempt> attempt, std::string database,
                                                           bson::Document command);

/// How a collection is written to by a copy.
struct CopyWrite {
  storage::Namespace ns;
  storage::LockMode mode;
  /// Roughly what the disk needs for it; nothing: see SyncAttempt::Writing.
  std::optional<size_t> bytes = 0;
};
/// Writes to a collection, under its lock and with the attempt's time (WriteMode::kApplied): `body` opens its own units
/// of work, and is run again after conflicts. Errors: those of `body`; Interrupted (the attempt is over: nothing was
/// written).
Task<Status> writeCopied(std::shared_ptr<SyncAttempt> attempt, CopyWrite to,
                         std::function<Status(storage::RecoveryUnit&)> body);

}  // namespace troupe::replication
