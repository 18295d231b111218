#pragma once
#include "actors/kernel/actor.hpp"
#include "storage/catalog/catalog.hpp"

namespace troupe::maintenance {

/// Drops the tables of dropped collections and indexes once nothing can need them (CAT-024, CAT-027). Runs on its own
/// thread.
class IdentReaper final : public Actor {
 public:
  explicit IdentReaper(storage::Catalog* catalog) : catalog_(catalog) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override {
    return bson::doc("pending", static_cast<int64_t>(catalog_->reaper().size()), "dropped", dropped_);
  }

 private:
  void reap();
  storage::Catalog* catalog_;
  int64_t dropped_ = 0;
};

}  // namespace troupe::maintenance
