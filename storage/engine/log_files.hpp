#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/engine/wiredtiger_engine.hpp"

namespace troupe::storage {

/// A file of the engine's log as it is on the disk, in memory: records one behind the other, each at a multiple of 128
/// bytes, filled up with zeros, with its length and checksum in front; behind the last one zeros.
class LogFile {
 public:
  static constexpr size_t kHeaderBytes = 16;  ///< length, checksum, flags, length before compression
  static constexpr size_t kUnit = 128;        ///< records begin at multiples of it
  static constexpr size_t kNone = std::string::npos;

  static StatusWith<LogFile> read(const std::string& path);
  explicit LogFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view bytes() const { return bytes_; }

  /// Bytes to the place of the next record from the whole record at `at`; 0: there is no whole record.
  size_t recordAt(size_t at) const;
  /// Where the records that follow each other from `at` on end.
  size_t endOfRecords(size_t at) const;
  /// Where the first whole record begins that is not before `at`; kNone.
  size_t nextRecord(size_t at) const;
  /// Whether some of these bytes may never have been written, as a kill or a power cut leaves them: files are filled
  /// with zeros when they are made, and records reach the disk by pages and sectors, in any order. Zeros to the end of
  /// a sector tell it: the engine fills up records with other bytes. Those of a document may be taken for them.
  bool isUnwritten(size_t from, size_t to) const;

  /// Puts length and checksum in front of `body`.
  static std::string makeRecord(const std::string& body);

 private:
  std::string bytes_;
};

/// The log's files in a folder, oldest first.
std::vector<std::string> logFiles(const std::string& folder);

/// Whether the log holds whole records from the last checkpoint on. The engine takes whatever is no record for the end
/// of the log, since a kill may leave that, and would drop without a word what follows. Here it is an end only if
/// nothing follows, or if it may never have been written; then nothing that was acknowledged follows. What cannot be
/// told from a kill: damage of the last record, zeros in the place of records, a file that ends too early. Before the
/// engine is opened. *Blocks*: reads the log. Errors: DataCorruptionDetected.
Status checkLog(const WiredTigerOptions& options);

}  // namespace troupe::storage
