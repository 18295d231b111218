#include "actors/maintenance/ident_reaper.hpp"

#include "actors/maintenance/checkpointer.hpp"
#include "storage/engine/open_tables.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kReapEvery = std::chrono::milliseconds(250);
/// From the end of a checkpoint to the next one that is asked for because most tables are open.
constexpr auto kCheckpointsApart = std::chrono::seconds(5);
}  // namespace

void IdentReaper::onStart() {
  setPhase("waiting", "for dropped tables that nobody uses any more");
  every(kReapEvery, [this] { reap(); });
}

/// Idle sessions keep cursors, and with them tables open, which the engine then does not close: they go when three
/// quarters of the tables allowed are open.
void IdentReaper::watchOpenTables(storage::Engine& engine) {
  const auto statistics = engine.statistics();
  if (!storage::areMostTablesOpen(statistics)) return;
  catalog_->pool().closeIdle();
  askForCheckpoint(statistics);
  if (statistics.openTablesRefused == refused_ || !refusalLines_.admit(environment().now())) return;
  log_->warning(log::Component::kStorage, 7003002, "ident-reaper",
                "Tables were not created or opened because as many are open as the limit of open files allows",
                bson::doc("limit", statistics.openTablesLimit, "refused", statistics.openTablesRefused - refused_));
  refused_ = statistics.openTablesRefused;
}

/// Only while a checkpoint lets some go, and some time after the last one has ended, whoever asked for it.
void IdentReaper::askForCheckpoint(const storage::EngineStatistics& statistics) {
  const bool helps = catalog_->reaper().size() > 0 || statistics.openTablesRefused != refusedWhenAsked_;
  const TimePoint now = environment().now();
  if (std::exchange(checkpoints_, statistics.checkpoints) != statistics.checkpoints) lastCheckpoint_ = now;
  if (!helps || askedAt_ == statistics.checkpoints || now - lastCheckpoint_ < kCheckpointsApart) return;
  askedAt_ = statistics.checkpoints;
  refusedWhenAsked_ = statistics.openTablesRefused;
  tell(checkpointer_, local(CheckpointNow{}));
}

/// Where the journal covers all tables (CatalogHooks::replicated is false) dropped tables go at once: there are no
/// reads at earlier times, and no checkpoint brings a dropped collection back. Without a journal (`journaled`) they
/// wait for a checkpoint, whatever the times (Catalog::checkpoint). Those that flushes of the journal take instead free
/// none: they begin without a look at what has been dropped.
void IdentReaper::reap() {
  const auto pass = storage::BackgroundGate::enter(gate_);
  if (!pass) return;
  storage::Engine& engine = catalog_->engine();
  constexpr storage::Timestamp kAny{UINT32_MAX, UINT32_MAX};
  const bool timed = catalog_->hooks().replicated;
  watchOpenTables(engine);
  dropped_ += static_cast<int64_t>(
      catalog_->onTimes(timed ? engine.lastCheckpointTimestamp() : kAny, timed ? engine.oldestTimestamp() : kAny));
}

}  // namespace troupe::maintenance
