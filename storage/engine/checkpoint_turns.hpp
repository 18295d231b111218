#pragma once
#include <condition_variable>
#include <mutex>

namespace troupe::storage {

/// Turns of the work that takes checkpoints, or must not meet one: one at a time. Pieces of compactions come last. They
/// follow each other closely, and with a mutex alone a checkpoint might never get in between. Thread-safe.
class CheckpointTurns {
 public:
  enum class Kind { kCheckpoint, kCompaction };

  /// A turn: begun by the constructor, which *blocks* until it is there, ended by the destructor.
  class Turn {
   public:
    Turn(CheckpointTurns& turns, Kind kind) : turns_(turns) { turns_.begin(kind); }
    ~Turn() { turns_.end(); }
    Turn(const Turn&) = delete;

   private:
    CheckpointTurns& turns_;
  };

  /// How many wait for a turn.
  int waiting(Kind kind) {
    const std::lock_guard lock(mutex_);
    return kind == Kind::kCheckpoint ? checkpoints_ : compactions_;
  }

 private:
  void begin(Kind kind) {
    std::unique_lock lock(mutex_);
    int& waiting = kind == Kind::kCheckpoint ? checkpoints_ : compactions_;
    ++waiting;
    changed_.wait(lock, [&] { return !busy_ && (kind == Kind::kCheckpoint || checkpoints_ == 0); });
    --waiting;
    busy_ = true;
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  int checkpoints_ = 0, compactions_ = 0;  ///< that wait
};

}  // namespace troupe::storage
