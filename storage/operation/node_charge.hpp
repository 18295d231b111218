#pragma once
#include <cstdint>
#include <utility>

#include "storage/operation/memory_budget.hpp"

namespace troupe::storage {

/// Bytes reserved from the node's governor alone, to the byte and with nothing free, released with this object: what a
/// client leaves behind without an operation, so often that small amounts add up (an idle cursor). What grows while an
/// operation runs is a MemoryReservation. Move-only; must not outlive the governor.
class NodeCharge {
 public:
  NodeCharge() = default;
  NodeCharge(NodeCharge&& other) noexcept
      : governor_(std::exchange(other.governor_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  NodeCharge& operator=(NodeCharge&& other) noexcept {
    std::swap(governor_, other.governor_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~NodeCharge() {
    if (bytes_ > 0) governor_->release(bytes_);
  }

  /// Reserves what `bytes` is more than before, or releases what it is less. `governor` null: nothing is counted. The
  /// first one stays. Errors: ExceededMemoryLimit; the charge is as before then.
  Status resize(MemoryGovernor* governor, int64_t bytes);
  /// Releases all but `bytes`.
  void shrinkTo(int64_t bytes);
  int64_t bytes() const { return bytes_; }

 private:
  MemoryGovernor* governor_ = nullptr;
  int64_t bytes_ = 0;
};

/// The failure of an operation that wants more than the node has.
Status nodeIsFull(const MemoryGovernor& governor);

}  // namespace troupe::storage
