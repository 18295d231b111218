#pragma once
#include "actors/kernel/actor.hpp"
#include "storage/catalog/catalog.hpp"

namespace troupe::maintenance {

/// Tells the catalog the times of the last checkpoint and of the oldest history, once a second: it drops the tables of
/// dropped collections and indexes that nothing can need any more (CAT-024, CAT-027), and trims the history of names
/// (CAT-022). Runs on its own thread.
class IdentReaper final : public Actor {
 public:
  explicit IdentReaper(storage::Catalog* catalog) : catalog_(catalog) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override {
    return bson::doc("pending", static_cast<int64_t>(catalog_->reaper().size()), "dropped", dropped_,
                     "namesWithHistory", static_cast<int64_t>(catalog_->snapshot()->historySize()));
  }

 private:
  void reap();
  storage::Catalog* catalog_;
  int64_t dropped_ = 0;
};

}  // namespace troupe::maintenance
