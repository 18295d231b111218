#pragma once
#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Sizes the pools of tickets (LCK-012): measures the throughput every
/// `storageEngineConcurrencyAdjustmentIntervalMillis` and lets the pools adapt to it, or keeps them at the sizes that
/// parameters fix.
class ConcurrencyTuner final : public Actor {
 public:
  explicit ConcurrencyTuner(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override;

 private:
  Task<void> run();
  void tune();
  server::ServerContext* server_;
};

}  // namespace troupe::maintenance
