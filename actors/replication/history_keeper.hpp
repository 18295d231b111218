#pragma once
#include "actors/kernel/actor.hpp"
#include "actors/replication/kept_history.hpp"

namespace troupe::replication {

/// Looks once a second whether the history that this member keeps still fits its cache (KeptHistory::lookAgain), also
/// when nothing is written and the stable time stands still. Its row shows how much is kept.
class HistoryKeeper final : public Actor {
 public:
  /// `history` outlives it.
  explicit HistoryKeeper(KeptHistory* history) : history_(history) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override {
    setPhase("waiting", "for history to outgrow the cache");
    every(std::chrono::seconds(1), [this] { history_->lookAgain(); });
  }
  bson::Document describe() const override { return history_->describe(); }

 private:
  KeptHistory* history_;
};

}  // namespace troupe::replication
