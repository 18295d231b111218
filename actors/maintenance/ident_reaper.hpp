#pragma once
#include <utility>

#include "actors/kernel/actor.hpp"
#include "messaging/log/line_limit.hpp"
#include "messaging/log/log.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/operation/background_gate.hpp"

namespace troupe::maintenance {

/// Tells the catalog the times of the last checkpoint and of the oldest history, four times a second: it drops the
/// tables of dropped collections and indexes that nothing can need any more (CAT-024, CAT-027), and trims the history
/// of names (CAT-022). When most of the tables allowed are open it lets the engine close idle ones, and asks for
/// checkpoints, before which tables with changes stay open, and dropped ones on a member of a replica set or without a
/// journal. It waits while a rollback has taken storage down. Runs on its own thread.
class IdentReaper final : public Actor {
 public:
  /// All outlive it. `gate`: null on a node that stands alone.
  IdentReaper(storage::Catalog* catalog, log::Log* log, Address checkpointer, storage::BackgroundGate* gate = nullptr)
      : catalog_(catalog), log_(log), checkpointer_(std::move(checkpointer)), gate_(gate) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override {
    return bson::doc("pending", static_cast<int64_t>(catalog_->reaper().size()), "dropped", dropped_,
                     "namesWithHistory", static_cast<int64_t>(catalog_->snapshot()->historySize()));
  }

 private:
  void reap();
  void watchOpenTables(storage::Engine& engine);
  void askForCheckpoint(const storage::EngineStatistics& statistics);
  storage::Catalog* catalog_;
  log::Log* log_;
  const Address checkpointer_;
  storage::BackgroundGate* const gate_;
  int64_t dropped_ = 0, refused_ = 0;
  int64_t checkpoints_ = 0;  ///< taken, at the last look
  int64_t askedAt_ = -1;     ///< as many had been taken when one was asked for
  int64_t refusedWhenAsked_ = 0;
  TimePoint lastCheckpoint_{};
  log::LineLimit refusalLines_;
};

}  // namespace troupe::maintenance
