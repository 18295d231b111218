#include "state_machines/replication/common_point.hpp"

namespace troupe::replication {

CommonPointSearch::Wants CommonPointSearch::wants() const {
  if (found_ || localEnded_ || remoteEnded_) return Wants::kNothing;
  return local_ ? Wants::kRemote : Wants::kLocal;
}

void CommonPointSearch::local(std::optional<OpTime> entry) {
  local_ = entry;
  localEnded_ = !entry;
  compare();
}

void CommonPointSearch::remote(std::optional<OpTime> entry) {
  remote_ = entry;
  remoteEnded_ = !entry;
  compare();
}

/// Passes over the later of two entries that differ. Within each log times fall; of the same time there is one entry at
/// most, so that two of different terms are both passed over.
void CommonPointSearch::compare() {
  if (!local_ || !remote_) return;
  if (*local_ == *remote_) {
    found_ = local_;
    return;
  }
  const bool passLocal = local_->timestamp >= remote_->timestamp;
  const bool passRemote = remote_->timestamp >= local_->timestamp;
  if (passLocal) {
    local_.reset();
    ++undone_;
  }
  if (passRemote) remote_.reset();
}

}  // namespace troupe::replication
