#pragma once
#include <cstdint>

#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

struct RewriteReport {
  int64_t tables = 0;
  int64_t rows = 0;
};

/// Copies every table that was created without a checksum on each block into a new file that has them, and gives the
/// copy the table's name: WiredTiger cannot alter that setting. Rows keep their newest version, which is all that
/// exists at a start, so the stable time must have been set to the recovered one. A copy that a kill interrupted is
/// finished or made again: a table has its old file until a checkpoint holds the whole copy. Nothing else may use the
/// engine. *Blocks.* Errors: OutOfDiskSpace (the copies of one group lie beside their originals); the engine's, also
/// DataCorruptionDetected for a table that cannot be read.
StatusWith<RewriteReport> rewriteWithChecksums(WiredTigerConnection& connection);

}  // namespace troupe::storage
