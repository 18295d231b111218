#pragma once
#include <map>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Reads the blocks of all tables back from the disk, one table after the other, and compares them with their
/// checksums: damage is found while a backup or another member still has what is lost, and not by the read that needs
/// it, which would end the engine. A cycle begins `scrubberSleepSecs` after the last one has ended, the first at most
/// ten minutes after the start, and reads at most `scrubberMBperSec`. Each table is an operation that operators see and
/// can end. Damage is logged as an error, counted, and shown until a later check of its table finds none; the node goes
/// on. Runs on its own thread.
class Scrubber final : public Actor {
 public:
  explicit Scrubber(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  /// Ends the check that runs.
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  void look();
  Task<void> cycle();
  Task<void> untilStorageIsUp();
  Task<void> table(std::string ident);
  /// Reads a table to its end. Errors: DataCorruptionDetected; the operation's interrupt; those of reading.
  Task<Status> readAll(storage::OperationContext* operation, storage::BlockCheck* check);
  void report(const std::string& ident, const Status& outcome);
  bool mayGoOn() const;

  server::ServerContext* const server_;
  TimePoint lastEnd_{};
  bool first_ = true;                           ///< no cycle has ended since the start
  storage::OperationContext* table_ = nullptr;  ///< the operation of the table that is read
  std::string shownTable_;
  std::vector<std::string> tables_;  ///< of the cycle that runs, and how many of them were read
  size_t tablesRead_ = 0;
  int64_t bytesRead_ = 0;                       ///< in that cycle
  std::map<std::string, std::string> damaged_;  ///< tables, and what was found
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace troupe::maintenance
