#pragma once
#include <wiredtiger.h>

#include <cstddef>

namespace troupe::storage {

/// The name under which the engine knows the compressor of the journal.
inline constexpr const char* kJournalCompressor = "snappy-journal";

/// Records of the journal below this size are stored as they are (JRN-005): of a flush, which ends in whole blocks of
/// the file system, compression saves them little, and it costs a third of the instructions of an insert.
inline constexpr size_t kShortestCompressed = 4096;

}  // namespace troupe::storage

/// Registers the compressor with a connection that is being opened; the engine finds it by its name, as
/// `extensions=[local={entry=...}]`. Its format is that of the engine's own snappy module: journals that were written
/// with that one are read, and the other way round. Called once by each `wiredtiger_open`; 0 or an errno.
extern "C" __attribute__((visibility("default"))) int troupe_journal_compressor(WT_CONNECTION* connection,
                                                                                WT_CONFIG_ARG* config);
