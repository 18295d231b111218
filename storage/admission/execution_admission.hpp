#pragma once
#include <mutex>
#include <optional>

#include "storage/admission/flow_tickets.hpp"
#include "storage/admission/throughput_probe.hpp"
#include "storage/admission/ticket_pool.hpp"

namespace troupe::storage {

/// Admission of operations to storage: separate pools of read and write tickets (LCK-011), whose sizes are fixed by
/// parameters or adapt to the throughput (LCK-012), and the tickets of flow control, which come before (LCK-008).
/// Thread-safe.
class ExecutionAdmission {
 public:
  /// `now`: a coarse clock will do; it is read twice for each operation, and only sums are kept.
  explicit ExecutionAdmission(TicketPool::Clock now, unsigned processors = 1);

  TicketPool& pool(bool write) { return write ? write_ : read_; }
  TicketPool& read() { return read_; }
  TicketPool& write() { return write_; }
  FlowTickets& flow() { return flow_; }

  /// storageEngineConcurrentReadTransactions and ...WriteTransactions: a fixed size each, or nothing to let it adapt.
  void setFixed(std::optional<int64_t> read, std::optional<int64_t> write);
  void setLowBypassThreshold(int64_t threshold);
  /// Measures the throughput since the last call and resizes the pools that adapt. Called regularly, by one caller.
  void adapt();
  ThroughputProbe::Statistics statistics() const;

 private:
  void applySizes();

  const TicketPool::Clock now_;
  mutable std::mutex mutex_;
  ThroughputProbe probe_;
  std::optional<int64_t> fixedRead_, fixedWrite_;
  std::chrono::steady_clock::time_point measured_;
  int64_t finished_ = 0;  ///< operations, at that time
  TicketPool read_, write_;
  FlowTickets flow_;
};

}  // namespace troupe::storage
