#include "actors/replication/fetch_figures.hpp"

#include <utility>
#include <variant>

namespace troupe::replication {

FetchFigures::Values FetchFigures::get() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

void FetchFigures::noteReader() {
  const std::lock_guard lock(mutex_);
  ++values_.readers;
}

void FetchFigures::noteBatch(std::chrono::microseconds waited) {
  const std::lock_guard lock(mutex_);
  ++values_.batches;
  values_.waitMicros += waited.count();
}

void FetchFigures::noteEntries(int64_t entries, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  values_.entries += entries;
  values_.bytes += bytes;
}

/// A choice ends with the probe of a source, or with a timer for the next look. What the effects hold is not there any
/// more when they have been performed, but of which kind they were.
void FetchFigures::count(const Snapshot<Fetching>& now, const machines::Outcome<Fetching>& outcome) {
  const std::lock_guard lock(mutex_);
  for (const Effect<Fetching>& effect : outcome.effects) {
    if (const auto* timer = std::get_if<machines::Arm<Fetching>>(&effect)) {
      if (!std::holds_alternative<RetryDue>(timer->event)) continue;
      ++values_.selections;
      ++values_.foundNone;
    }
    const auto* action = std::get_if<machines::Do<Fetching>>(&effect);
    if (!action || !std::holds_alternative<Probe>(action->action)) continue;
    ++values_.selections;
    const bool isSame = std::exchange(source_, now.memory.source) == now.memory.source;
    ++(isSame ? values_.choseSame : values_.choseDifferent);
  }
}

}  // namespace troupe::replication
