#pragma once
#include <atomic>

#include "actors/kernel/actor.hpp"
#include "storage/engine/engine.hpp"
#include "storage/journal/durability_tracker.hpp"

namespace troupe::maintenance {

/// Somebody waits for a flush.
struct FlushNow {};

/// Makes commits durable in groups (JRN-002, JRN-003): one log flush for all who wait, and one every commit interval
/// for those who do not. Blocks in the disk, so it runs on its own thread. Crashing loses nothing: the next life
/// flushes what is still due.
class JournalFlusher final : public Actor {
 public:
  /// `kind`: without a journal a flush is a checkpoint (JRN-004). All references outlive the actor.
  JournalFlusher(storage::Engine* engine, storage::DurabilityTracker* tracker, storage::FlushKind kind,
                 const std::atomic<int64_t>* intervalMillis)
      : engine_(engine), tracker_(tracker), kind_(kind), intervalMillis_(intervalMillis) {}

  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void flush();
  void armTimer();

  storage::Engine* engine_;
  storage::DurabilityTracker* tracker_;
  storage::FlushKind kind_;
  const std::atomic<int64_t>* intervalMillis_;
};

}  // namespace troupe::maintenance
