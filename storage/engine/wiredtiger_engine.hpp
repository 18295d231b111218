#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "storage/engine/engine.hpp"
#include "storage/engine/journal_compressor.hpp"

namespace troupe::storage {

/// How a WiredTiger database is opened. Sizes in bytes.
struct WiredTigerOptions {
  std::string path;                ///< the data directory; must exist
  int64_t cacheBytes = 256 << 20;  ///< at least 1 MiB
  bool journalEnabled = true;      ///< without it all tables recover to the last checkpoint
  /// Tests take 1 MiB: opening prepares a log file. Files are filled with zeros beforehand, so that a flush has only
  /// records to write, and not the file's inode, too.
  int64_t logFileMaxBytes = 32 << 20;
  std::string logCompressor{kJournalCompressor};  ///< or an engine module: "none", "snappy", "zlib"
  bool statistics = true;                         ///< the engine's "fast" counters
  /// How long a thread waits for room in the cache, until its operation fails with TemporarilyUnavailable (STX-007).
  std::chrono::milliseconds cacheMaxWait{1000};
  int64_t maxOpenTables = 0;  ///< files of tables open at a time; 0: no limit
  int sessionMax = 2000;      ///< cursors, transactions and pool together
  /// Also records writes to unlogged tables in the log, which recovery ignores (JRN-007).
  bool logUnloggedTables = false;
  /// Share of the dirty cache that one transaction may hold before a rollback under cache pressure is called
  /// TransactionTooLargeForCache; 1.0 disables (STX-009).
  double transactionTooLargeForCacheThreshold = 0.75;

  /// Whether tables of older formats are written anew at the open, so that each block has a checksum. A repair looks
  /// for damage first and leaves it to the next start.
  bool rewriteOldTables = true;

  /// For a repair, which RepairMark notes: lets WiredTiger rebuild its own metadata and cut its log where they are
  /// damaged, when the open fails otherwise.
  bool salvageMetadata = false;

  /// A notice is for operators; the rest is what WiredTiger says.
  enum class Level { kInfo, kNotice, kError };
  /// Messages of the engine; called from any thread, also its own.
  std::function<void(Level, std::string_view text)> onMessage;
  /// The engine can no longer be used: end the storage tree. Called once, from any thread, must not block.
  /// OutOfDiskSpace when a full disk is the cause, DataCorruptionDetected when a block that was read is damaged.
  std::function<void(Status cause)> onPanic;
};

/// The version of everything below the data directory that `openWiredTiger` writes to its file `troupe.format`. 2:
/// record ids may be bytes (clustered collections). 3: every block of every table has a checksum. 4: the catalog's rows
/// of unreplicated collections have a table of their own.
inline constexpr int kDataFormatVersion = 4;

/// Opens, creates or recovers the database (*blocks*). Errors, each with a reason of one line that says what to do:
/// DBPathInUse (another process or engine has it open), UnsupportedFormat (written by a newer version or by another
/// program), NonExistentPath, OutOfDiskSpace, Unauthorized (permissions), ManualInterventionRequired (damaged files),
/// DataCorruptionDetected (a damaged block in a table).
StatusWith<std::unique_ptr<Engine>> openWiredTiger(const WiredTigerOptions& options);

}  // namespace troupe::storage
