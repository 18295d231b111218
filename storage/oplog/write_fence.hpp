#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// This node's right to write what is replicated, and the term it holds the right in. A unit of work enters before its
/// first such write and leaves when it has ended, so once a closed fence is empty no write of the old term can commit
/// any more, late retries included. Any thread; entering and leaving are one atomic addition each.
class WriteFence {
 public:
  /// One unit of work inside of the fence; leaves it when destroyed. Move-only; must not outlive the fence.
  class Pass {
   public:
    Pass(Pass&& other) noexcept : fence_(std::exchange(other.fence_, nullptr)), term_(other.term_) {}
    Pass& operator=(Pass&& other) noexcept {
      std::swap(fence_, other.fence_);
      std::swap(term_, other.term_);
      return *this;
    }
    ~Pass() {
      if (fence_) fence_->leave();
    }
    int64_t term() const { return term_; }

   private:
    friend class WriteFence;
    Pass(WriteFence* fence, int64_t term) : fence_(fence), term_(term) {}
    WriteFence* fence_;
    int64_t term_;
  };

  /// Interest in the end of the right to write; withdrawn when destroyed. Move-only; must not outlive the fence.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept : fence_(std::exchange(other.fence_, nullptr)), id_(other.id_) {}
    Watch& operator=(Watch&& other) noexcept {
      std::swap(fence_, other.fence_);
      std::swap(id_, other.id_);
      return *this;
    }
    ~Watch() {
      if (fence_) fence_->withdraw(id_);
    }

   private:
    friend class WriteFence;
    Watch(WriteFence* fence, uint64_t id) : fence_(fence), id_(id) {}
    WriteFence* fence_ = nullptr;
    uint64_t id_ = 0;
  };

  WriteFence() = default;
  WriteFence(const WriteFence&) = delete;
  WriteFence& operator=(const WriteFence&) = delete;

  /// Admits writes, in this term: at step-up, and on a standalone node (term 0) from its start. The fence must be
  /// closed and empty (throws std::logic_error).
  void open(int64_t term);
  /// Admits no more. `drained` is called once every unit that was admitted has ended: before this returns when there is
  /// none, else by the thread that ends the last one. Closing a closed fence waits for the same units.
  void close(std::function<void()> drained);

  /// Admits a unit of work. `since`: the term in which its operation wrote first; a later term is not its own.
  /// Errors: NotWritablePrimary (the fence is closed), InterruptedDueToReplStateChange (the term has changed).
  StatusWith<Pass> enter(std::optional<int64_t> since = std::nullopt);

  /// Calls `opened` once the fence is open: before this returns when it is, else by the thread that opens it. It must
  /// neither block nor throw, and stays noted if the fence is never opened.
  void whenOpen(std::function<void()> opened);

  /// Calls `closed` once the fence is closed: before this returns when it is, else by the thread that closes it. It
  /// must neither block nor throw, may be called more than once, and also while the watch is being withdrawn.
  [[nodiscard]] Watch whenClosed(std::function<void()> closed);

  bool isOpen() const { return (inside_.load(std::memory_order_acquire) & kClosed) == 0; }
  /// The term in which writes are admitted; nothing when they are not.
  std::optional<int64_t> term() const;

 private:
  static constexpr uint64_t kClosed = uint64_t{1} << 63;
  void leave();
  void withdraw(uint64_t watch);

  /// Units inside, and the mark of a closed fence. A unit that enters counts itself first and backs out of a closed
  /// one.
  std::atomic<uint64_t> inside_{kClosed};
  std::atomic<int64_t> term_{0};
  std::mutex mutex_;
  std::vector<std::function<void()>> drained_, opened_;
  std::map<uint64_t, std::function<void()>> closed_;
  uint64_t lastWatch_ = 0;
};

}  // namespace troupe::storage
