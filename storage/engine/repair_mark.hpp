#pragma once
#include <set>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The file `troupe.repair` of a data directory: a repair is under way, and these tables were found damaged. A repair
/// that was killed leaves tables that are sound, though they have lost rows, and indexes that are filled in part: what
/// it had found counts for the next repair, and no start serves the data before. Requires the directory's lock.
class RepairMark {
 public:
  /// What is damaged beside tables, under names that no table has: the engine's log, of which a repair gives up the
  /// end, and the engine's own files, which it makes anew as far as it can.
  static constexpr std::string_view kJournal = "journal", kMetadata = "metadata";

  explicit RepairMark(const std::string& directory);

  /// Before the engine is opened for a repair. Durable. Keeps what an earlier one left.
  Status begin() const;
  /// Before the engine is opened for anything else. Errors: ManualInterventionRequired while a repair is unfinished.
  Status checkNone() const;

  /// Before a damaged table, or another part, is changed. Durable.
  Status add(std::string_view part) const;
  /// The tables and other parts that were added, by an earlier repair or this one.
  std::set<std::string> damaged() const;
  /// Once all that was mended is durable.
  Status end() const;

 private:
  Status write(const std::set<std::string>& idents) const;
  const std::string directory_;
  const std::string path_;
};

}  // namespace troupe::storage
