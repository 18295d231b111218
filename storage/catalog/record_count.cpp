#include "storage/catalog/record_count.hpp"

#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

Status countRecords(RecoveryUnit& unit, RecordStore& store) {
  int64_t records = 0, bytes = 0;
  TROUPE_ASSIGN(auto cursor, store.cursor(unit));
  cursor.acceptDamaged();
  for (;;) {
    TROUPE_ASSIGN(const bool found, cursor.next());
    if (!found) break;
    ++records;
    bytes += static_cast<int64_t>(cursor.bytes().size());
  }
  store.correctSize(records, bytes);
  return Status::OK();
}

}  // namespace troupe::storage
