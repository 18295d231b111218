#pragma once
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/kernel/transition_log.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/log/line_limit.hpp"

namespace troupe::maintenance {

/// Keeps the moves of this node's machines on disk, in the capped collection `local.troupe.transitions`, and brings
/// those of earlier lives of the node back at its start, so that it can be told afterwards what became of a
/// coordinator. Some milliseconds of records are lost with a crash, and those of machines that are faster than the
/// keeper writes: both are shown as counts, and neither holds a machine up. Runs on its own thread.
class TransitionKeeper final : public Actor {
 public:
  static constexpr int64_t kCollectionBytes = 16 * 1024 * 1024;
  static constexpr size_t kRestored = 2'000;                         ///< records that a start reads
  static constexpr size_t kBatch = 256;                              ///< records of one unit of work
  static constexpr Duration kPause = std::chrono::milliseconds(50);  ///< between two batches

  explicit TransitionKeeper(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  StatusWith<std::vector<TransitionRecord>> load() const;
  Task<void> writeAll();
  Task<Status> write(std::vector<TransitionRecord> records);

  server::ServerContext* const server_;
  bool writing_ = false;
  int64_t written_ = 0, restored_ = 0, failed_ = 0;
  log::LineLimit failureLines_;
};

}  // namespace troupe::maintenance
