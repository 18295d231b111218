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
  storage::Engine& engine = catalog_->engine();
  dropped_ += static_cast<int64_t>(catalog_->onTimes(engine.lastCheckpointTimestamp(), engine.oldestTimestamp()));
}

}  // namespace troupe::maintenance
