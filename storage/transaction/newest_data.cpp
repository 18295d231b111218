#include "storage/transaction/newest_data.hpp"

namespace troupe::storage {

/// The source can always be set while no snapshot is open.
void NewestData::enter(RecoveryUnit& unit) {
  unit_ = &unit;
  source_ = unit.readSource();
  provided_ = unit.providedTime();
  unit.abandonSnapshot();
  (void)unit.setReadSource(ReadSource::kNoTimestamp);
}

void NewestData::leave() {
  unit_->abandonSnapshot();
  (void)unit_->setReadSource(source_, provided_);
}

}  // namespace troupe::storage
