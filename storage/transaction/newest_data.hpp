#pragma once
#include <optional>

#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

/// While it lives, a recovery unit whose reads are of an earlier time (a snapshot, what a majority has) reads the
/// newest data, as a write has to: what it overwrites may be later than what the operation reads. Afterwards reads go
/// on as before, at the provided time, or at the one that is the source's by then. Ends the open snapshot at both ends:
/// cursors are to be saved. Changes nothing where the newest data are read anyway, nor within a unit of work, whose
/// snapshot stands.
class NewestData {
 public:
  explicit NewestData(RecoveryUnit& unit) {
    if (unit.readSource() != ReadSource::kNoTimestamp && !unit.inUnitOfWork()) enter(unit);
  }
  ~NewestData() {
    if (unit_) leave();
  }
  NewestData(const NewestData&) = delete;
  NewestData& operator=(const NewestData&) = delete;

 private:
  void enter(RecoveryUnit& unit);
  void leave();

  RecoveryUnit* unit_ = nullptr;  ///< null: nothing was changed
  ReadSource source_ = ReadSource::kNoTimestamp;
  std::optional<Timestamp> provided_;
};

}  // namespace troupe::storage
