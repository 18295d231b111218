#pragma once
#include <atomic>

#include "actors/kernel/actor.hpp"
#include "messaging/log/log.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/engine/engine.hpp"
#include "storage/journal/checkpoint_policy.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/operation/background_gate.hpp"

namespace troupe::maintenance {

/// Take a checkpoint as soon as possible.
struct CheckpointNow {};

/// Takes a checkpoint every `syncPeriodSecs` when something was written, and when asked (CKP-001, CKP-004); a member of
/// a replica set takes stable ones once its data are consistent (CKP-002). Writes the collections' sizes with it. One
/// that fails is logged, and tried again some seconds later. While a rollback has taken storage down it takes none.
/// Blocks in the disk, so it runs on its own thread.
class Checkpointer final : public Actor {
 public:
  /// All outlive it. `failures` counts those of every life; `gate`: null on a node that stands alone.
  Checkpointer(storage::Engine* engine, storage::Catalog* catalog, const storage::DurabilityTracker* tracker,
               const std::atomic<int64_t>* periodSeconds, log::Log* log, std::atomic<int64_t>* failures,
               storage::BackgroundGate* gate = nullptr)
      : engine_(engine),
        catalog_(catalog),
        tracker_(tracker),
        periodSeconds_(periodSeconds),
        log_(log),
        failures_(failures),
        gate_(gate),
        policy_(std::chrono::seconds(*periodSeconds), {}) {}

  Behaviour behaviour() override;
  void onStart() override;
  bson::Document describe() const override;

 private:
  void look();

  storage::Engine* engine_;
  storage::Catalog* catalog_;
  const storage::DurabilityTracker* tracker_;
  const std::atomic<int64_t>* periodSeconds_;
  log::Log* log_;
  std::atomic<int64_t>* const failures_;
  storage::BackgroundGate* const gate_;
  storage::CheckpointPolicy policy_;
  storage::DurabilityTicket covered_ = 0;  ///< commits the last checkpoint holds
  int64_t taken_ = 0, skipped_ = 0, unstable_ = 0, lastMillis_ = 0;
};

}  // namespace troupe::maintenance
