#pragma once
#include <atomic>
#include <functional>
#include <utility>

#include "actors/kernel/actor.hpp"
#include "storage/engine/engine.hpp"
#include "storage/journal/durability_tracker.hpp"

namespace troupe::maintenance {

/// Asks for a flush now: a request waits for one.
struct FlushNow {};

/// Makes commits durable in groups (JRN-002, JRN-003): one log flush for all who wait, and one every commit interval
/// for those who do not. Blocks in the disk, so it runs on its own thread. Crashing loses nothing: the next life
/// flushes what is still due.
class JournalFlusher final : public Actor {
 public:
  /// How long the next flush takes on a simulated disk, which cannot block: what it covers is known when it begins, and
  /// durable when that time has passed. Null on a real disk.
  using Pace = std::function<Duration()>;

  /// `kind`: without a journal a flush is a checkpoint (JRN-004). All references outlive the actor.
  JournalFlusher(storage::Engine* engine, storage::DurabilityTracker* tracker, storage::FlushKind kind,
                 const std::atomic<int64_t>* intervalMillis, Pace pace = nullptr)
      : engine_(engine), tracker_(tracker), kind_(kind), intervalMillis_(intervalMillis), pace_(std::move(pace)) {}

  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void flush();
  void finish(TimePoint begun);
  void armTimer();

  storage::Engine* engine_;
  storage::DurabilityTracker* tracker_;
  storage::FlushKind kind_;
  const std::atomic<int64_t>* intervalMillis_;
  const Pace pace_;
  bool flushing_ = false;
};

}  // namespace troupe::maintenance
