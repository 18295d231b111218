#pragma once
#include "actors/kernel/actor.hpp"
#include "actors/replication/kept_history.hpp"
#include "storage/operation/background_gate.hpp"

namespace troupe::replication {

/// Looks once a second whether the history that this member keeps still fits its cache (KeptHistory::lookAgain), also
/// when nothing is written and the stable time stands still. Its row shows how much is kept. It waits while a rollback
/// has taken storage down.
class HistoryKeeper final : public Actor {
 public:
  /// Both outlive it; `gate` may be null: nothing is rolled back.
  HistoryKeeper(KeptHistory* history, storage::BackgroundGate* gate) : history_(history), gate_(gate) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override {
    setPhase("waiting", "for history to outgrow the cache");
    every(std::chrono::seconds(1), [this] { look(); });
  }
  bson::Document describe() const override { return history_->describe(); }

 private:
  void look() {
    if (const auto pass = storage::BackgroundGate::enter(gate_)) history_->lookAgain();
  }

  KeptHistory* history_;
  storage::BackgroundGate* gate_;
};

}  // namespace troupe::replication
