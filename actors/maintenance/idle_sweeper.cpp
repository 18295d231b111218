#include "actors/maintenance/idle_sweeper.hpp"

#include <unordered_set>

#include "actors/server/session_registry.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kSweepEvery = std::chrono::seconds(2);
}

void IdleSweeper::onStart() {
  setPhase("waiting", "for cursors and sessions that time out");
  every(kSweepEvery, [this] { sweep(); });
}

void IdleSweeper::sweep() {
  const TimePoint now = environment().now();
  cursors_ += server_->cursors.killIdle(now - std::chrono::milliseconds(server_->parameters.cursorTimeoutMillis));
  server_->operations.idleUnits->endExpired(now);
  const auto ended = server_->sessions.endIdle(now - std::chrono::minutes(server_->parameters.sessionTimeoutMinutes));
  sessions_ += static_cast<int64_t>(ended.size());
  if (const int64_t displaced = server_->sessions.displaced(); displaced > displaced_) {
    if (displacedLines_.admit(now))
      server_->log.warning(log::Component::kCommand, 7003001, "sessions",
                           "More sessions are in use than are remembered; those unused for longest are forgotten",
                           bson::doc("maxSessions", server_->parameters.maxSessions.load(), "forgotten", displaced));
    displaced_ = displaced;
  }
  if (ended.empty()) return;
  const std::unordered_set<server::SessionRegistry::Key> keys(ended.begin(), ended.end());
  server_->cursors.killIf(
      [&](const server::ClientCursor& cursor) {
        if (cursor.session.empty()) return false;
        const auto owner = server::SessionRegistry::ownerOf(server::joinedNames(cursor.owners));
        const auto key = server::SessionRegistry::keyOf(cursor.session, owner);
        return key.isOK() && keys.contains(*key);
      },
      server::CursorRegistry::Afterwards::kNotFound);
}

}  // namespace troupe::maintenance
