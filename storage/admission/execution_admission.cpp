#include "storage/admission/execution_admission.hpp"

namespace troupe::storage {

ExecutionAdmission::ExecutionAdmission(TicketPool::Clock now, unsigned processors)
    : now_(std::move(now)),
      probe_({}, processors),
      read_(now_, probe_.sizes().read),
      write_(now_, probe_.sizes().write),
      flow_(now_) {}

void ExecutionAdmission::setFixed(std::optional<int64_t> read, std::optional<int64_t> write) {
  const std::lock_guard lock(mutex_);
  fixedRead_ = read;
  fixedWrite_ = write;
  applySizes();
}

void ExecutionAdmission::setLowBypassThreshold(int64_t threshold) {
  read_.setLowBypassThreshold(threshold);
  write_.setLowBypassThreshold(threshold);
}

void ExecutionAdmission::adapt() {
  const std::lock_guard lock(mutex_);
  if (fixedRead_ && fixedWrite_) return;
  const auto now = now_();
  const int64_t finished = read_.finished() + write_.finished();
  const double seconds = std::chrono::duration<double>(now - measured_).count();
  if (seconds <= 0) return;
  const bool readExhausted = read_.takeExhausted(), writeExhausted = write_.takeExhausted();  // both begin anew
  probe_.step({static_cast<double>(finished - finished_) / seconds, readExhausted || writeExhausted});
  measured_ = now;
  finished_ = finished;
  applySizes();
}

void ExecutionAdmission::applySizes() {
  const auto sizes = probe_.sizes();
  const int64_t read = fixedRead_.value_or(sizes.read), write = fixedWrite_.value_or(sizes.write);
  if (read_.total() != read) read_.resize(read);
  if (write_.total() != write) write_.resize(write);
}

ThroughputProbe::Statistics ExecutionAdmission::statistics() const {
  const std::lock_guard lock(mutex_);
  return probe_.statistics();
}

}  // namespace troupe::storage
