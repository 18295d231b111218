#pragma once
#include "messaging/errors/status.hpp"
#include "storage/records/record_store.hpp"

namespace troupe::storage {

class RecoveryUnit;

/// Counts the records of a store and their bytes by a scan, and corrects its counters. Nobody else may write meanwhile.
/// *Blocks.* Damaged records count: validation names them.
Status countRecords(RecoveryUnit& unit, RecordStore& store);

}  // namespace troupe::storage
