#include "actors/maintenance/ident_reaper.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kReapEvery = std::chrono::seconds(1);
}

void IdentReaper::onStart() {
  setPhase("waiting", "for dropped tables that nobody uses any more");
  every(kReapEvery, [this] { reap(); });
}

/// Where the journal covers all tables (CatalogHooks::replicated is false) dropped tables go at once: there are no
/// reads at earlier times, and no checkpoint brings a dropped collection back.
void IdentReaper::reap() {
  storage::Engine& engine = catalog_->engine();
  constexpr storage::Timestamp kAny{UINT32_MAX, UINT32_MAX};
  const bool timed = catalog_->hooks().replicated;
  dropped_ += static_cast<int64_t>(
      catalog_->onTimes(timed ? engine.lastCheckpointTimestamp() : kAny, timed ? engine.oldestTimestamp() : kAny));
}

}  // namespace troupe::maintenance
