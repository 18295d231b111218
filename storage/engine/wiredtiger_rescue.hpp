#pragma once
#include "storage/engine/repair_mark.hpp"
#include "storage/engine/wiredtiger_engine.hpp"

namespace troupe::storage {

/// Takes damaged tables out of the way of a recovery that they stopped. Each table is checked as the last checkpoint
/// left it, with nothing of the log applied. Of a damaged one what can be read is salvaged, beside it, and takes its
/// place; a record at the end of the log tells the engine of the file's new checkpoint. The recovery then applies the
/// log to all tables, those included. Without it the engine ends its log at the first record that it cannot apply, and
/// all tables lose what came after.
///
/// Before the engine is opened, and again after a kill within it. Damaged tables are added to `mark`. Returns how many
/// there are. Needs room on the disk for a copy of these. *Blocks.* Errors: DataCorruptionDetected when the engine's
/// own files or the end of the log are damaged, or nothing of a table can be salvaged; OutOfDiskSpace.
StatusWith<int> rescueTablesBeforeRecovery(const WiredTigerOptions& options, const RepairMark& mark);

}  // namespace troupe::storage
