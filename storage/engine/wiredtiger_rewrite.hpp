#pragma once
#include <cstdint>

#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

struct RewriteReport {
  int64_t tables = 0;
  int64_t rows = 0;
};

/// Finishes what a kill within `rewriteWithChecksums` left: a complete copy takes the place of its original, another
/// one goes. Before anything else uses the engine, a repair included: to it the table would be missing. *Blocks.*
/// Errors: ManualInterventionRequired where both are there and the original is none; the engine's.
Status finishInterruptedRewrite(WiredTigerConnection& connection);

/// Copies every table that was created without a checksum on each block into a new file that has them, and gives the
/// copy the table's name: WiredTiger cannot alter that setting. Rows keep their newest version, which is all that
/// exists at a start, so the stable time must have been set to the recovered one. A table has its old file until a
/// checkpoint holds the whole copy. Nothing else may use the engine. *Blocks.* Errors: OutOfDiskSpace (the copies of
/// one group lie beside their originals); the engine's, also DataCorruptionDetected for a table that cannot be read.
StatusWith<RewriteReport> rewriteWithChecksums(WiredTigerConnection& connection);

}  // namespace troupe::storage
