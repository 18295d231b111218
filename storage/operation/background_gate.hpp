#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

namespace troupe::storage {

/// Keeps the node's background work out of storage while a rollback takes it down: checkpoints, flushes of the journal,
/// truncation of the log, reaping of tables, reads of the scrubber. None of these takes locks that the rollback could
/// wait for. Each enters for one piece of its work, and passes its turn while the gate is closed; what is left to do is
/// done at the next turn after it is open again. Any thread; outlives all who enter.
class BackgroundGate {
 public:
  /// Inside of the gate until destroyed. Move-only. False: it was closed.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), inside_(std::exchange(other.inside_, false)) {}
    Pass& operator=(Pass&& other) noexcept {
      if (this != &other) {
        leave();
        gate_ = std::exchange(other.gate_, nullptr);
        inside_ = std::exchange(other.inside_, false);
      }
      return *this;
    }
    ~Pass() { leave(); }
    explicit operator bool() const { return inside_; }
    void leave() {
      inside_ = false;
      if (BackgroundGate* gate = std::exchange(gate_, nullptr)) gate->left();
    }

   private:
    friend class BackgroundGate;
    Pass(BackgroundGate* gate, bool inside) : gate_(gate), inside_(inside) {}
    BackgroundGate* gate_ = nullptr;
    bool inside_ = false;
  };

  BackgroundGate() = default;
  BackgroundGate(const BackgroundGate&) = delete;
  BackgroundGate& operator=(const BackgroundGate&) = delete;

  Pass enter();
  /// The pass of a gate that may not be there: on a node that stands alone nothing is ever rolled back.
  static Pass enter(BackgroundGate* gate) { return gate ? gate->enter() : Pass(nullptr, true); }
  /// Nobody enters any more. `empty` is called once when nobody is inside: at once, or on the thread that leaves last.
  /// It must not block nor throw. One caller at a time.
  void close(std::function<void()> empty);
  void open();
  bool isOpen() const;

 private:
  void left();

  mutable std::mutex mutex_;
  bool open_ = true;
  size_t inside_ = 0;
  std::function<void()> empty_;
};

/// Closes a gate until it is destroyed.
class ClosedGate {
 public:
  ClosedGate(BackgroundGate& gate, std::function<void()> empty) : gate_(gate) { gate_.close(std::move(empty)); }
  ~ClosedGate() { gate_.open(); }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;

 private:
  BackgroundGate& gate_;
};

}  // namespace troupe::storage
