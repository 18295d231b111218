#include "actors/maintenance/disk_watch.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kMeasureEvery = std::chrono::seconds(1);
}

void DiskWatch::onStart() {
  look();
  every(kMeasureEvery, [this] { look(); });
}

void DiskWatch::look() {
  guard_->look();
  if (guard_->refusing()) {
    if (!full_) tell(checkpointer_, local(CheckpointNow{}));
    if (guard_->stopsReplication()) setPhase("used up", "this member takes no data from others until there is space");
    else setPhase("full", "writes that add data are refused until there is space again");
  } else {
    setPhase("watching", "there is space on the disk");
  }
  full_ = guard_->refusing();
}

bson::Document DiskWatch::describe() const {
  return bson::doc("freeBytes", guard_->freeBytes(), "reserveBytes", guard_->reserveBytes(), "refusing",
                   guard_->refusing(), "stopsReplication", guard_->stopsReplication(), "timesFull", guard_->refusals());
}

}  // namespace troupe::maintenance
