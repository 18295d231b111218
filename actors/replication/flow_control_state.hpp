#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "actors/server/parameters.hpp"
#include "messaging/clock/op_time.hpp"
#include "state_machines/replication/flow_control.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::replication {

/// What flow control remembers between its looks, and the samples of the log that writers take meanwhile. Outlives the
/// lives of the actor (FlowControl) and all operations. Any thread.
class FlowControlState {
 public:
  FlowControlState(const server::Parameters& parameters, const storage::OplogStore& oplog)
      : parameters_(parameters), oplog_(oplog) {}

  /// `newest` has become the newest entry of the own log that can be read. Cheap: takes a sample only when
  /// flowControlSamplePeriod entries have come since the last one.
  void noteWritten(const OpTime& newest, TimePoint now);
  /// A look at the whole: takes a sample in any case, and decides. `input.operations` is filled in here.
  FlowDecision decide(const OpTime& newest, FlowInput input);
  FlowDecision last() const;
  bool isEnabled() const { return parameters_.enableFlowControl; }

 private:
  void sample(const OpTime& newest, TimePoint now, int64_t operations);
  FlowControlSettings settings() const;

  const server::Parameters& parameters_;
  const storage::OplogStore& oplog_;
  std::atomic<int64_t> sampled_{0};  ///< entries at the last sample
  mutable std::mutex mutex_;
  WriteSamples samples_;
  FlowRule rule_;
};

}  // namespace troupe::replication
