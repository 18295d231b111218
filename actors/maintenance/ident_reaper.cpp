#include "actors/maintenance/ident_reaper.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kReapEvery = std::chrono::seconds(1);
}

void IdentReaper::onStart() {
  setPhase("waiting", "for dropped tables that nobody uses any more");
  every(kReapEvery, [this] { reap(); });
}

void IdentReaper::reap() {
  if (catalog_->reaper().size() == 0) return;
  storage::Engine& engine = catalog_->engine();
  // Without timestamps every drop is older than any checkpoint that matters.
  dropped_ += static_cast<int64_t>(
      catalog_->reaper().reapOnce(engine, catalog_->pool(), engine.stableTimestamp(), engine.oldestTimestamp()));
}

}  // namespace troupe::maintenance
