#include "actors/maintenance/concurrency_tuner.hpp"

#include <optional>

namespace troupe::maintenance {

namespace {

std::optional<int64_t> fixedSize(int64_t parameter) { return parameter > 0 ? std::optional(parameter) : std::nullopt; }

}  // namespace

void ConcurrencyTuner::onStart() {
  setPhase("tuning", "measures the throughput and sizes the pools of tickets");
  start(run());
}

bson::Document ConcurrencyTuner::describe() const {
  storage::ExecutionAdmission& admission = server_->admission;
  return bson::doc("readTickets", admission.read().total(), "writeTickets", admission.write().total());
}

Task<void> ConcurrencyTuner::run() {
  for (;;) {
    tune();
    co_await sleepFor(std::chrono::milliseconds(server_->parameters.concurrencyAdjustmentIntervalMillis));
  }
}

void ConcurrencyTuner::tune() {
  const server::Parameters& parameters = server_->parameters;
  storage::ExecutionAdmission& admission = server_->admission;
  admission.setLowBypassThreshold(parameters.lowPriorityAdmissionBypassThreshold);
  admission.setFixed(fixedSize(parameters.concurrentReadTransactions),
                     fixedSize(parameters.concurrentWriteTransactions));
  admission.adapt();
}

}  // namespace troupe::maintenance
