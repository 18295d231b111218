#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "messaging/clock/op_time.hpp"
#include "state_machines/replication/flow_control.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::replication {

/// What flow control remembers between its looks, and the samples of the log that writers take meanwhile. Outlives the
/// lives of the actor (FlowControl) and all operations. Any thread.
class FlowControlState {
 public:
  /// `samplePeriod`: flowControlSamplePeriod. All outlive this.
  FlowControlState(std::function<FlowControlSettings()> settings, const std::atomic<int64_t>& samplePeriod,
                   const storage::OplogStore& oplog)
      : settings_(std::move(settings)), samplePeriod_(samplePeriod), oplog_(oplog) {}

  /// `newest` has become the newest entry of the own log that can be read. Cheap: takes a sample only when
  /// `samplePeriod` entries have come since the last one.
  void noteWritten(const OpTime& newest, TimePoint now);
  /// A look at the whole: takes a sample in any case, and decides. `input.operations` is filled in here.
  FlowDecision decide(const OpTime& newest, FlowInput input);
  FlowDecision last() const;
  bool isEnabled() const { return settings_().enabled; }

 private:
  void sample(const OpTime& newest, TimePoint now, int64_t operations);

  const std::function<FlowControlSettings()> settings_;
  const std::atomic<int64_t>& samplePeriod_;
  const storage::OplogStore& oplog_;
  std::atomic<int64_t> sampled_{0};  ///< entries at the last sample
  mutable std::mutex mutex_;
  WriteSamples samples_;
  FlowRule rule_;
};

}  // namespace troupe::replication
