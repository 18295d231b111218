#include "actors/maintenance/idle_sweeper.hpp"

#include <chrono>

#include "actors/server/session_cache.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kSweepEvery = std::chrono::seconds(2);
constexpr size_t kSessionsAtOnce = 1000;
}  // namespace

void IdleSweeper::onStart() {
  setPhase("waiting", "for cursors and sessions that time out");
  every(kSweepEvery, [this] { sweep(); });
}

void IdleSweeper::sweep() {
  const TimePoint now = environment().now();
  cursors_ += server_->cursors.killIdle(now - std::chrono::milliseconds(server_->parameters.cursorTimeoutMillis));
  server_->operations.idleUnits->endExpired(now);
  if (server_->parameters.disableLogicalSessionCacheRefresh) endIdleSessions(now);
  tellDisplaced(now);
}

void IdleSweeper::endIdleSessions(TimePoint now) {
  const TimePoint since = now - std::chrono::minutes(server_->parameters.sessionTimeoutMinutes);
  for (bool areMore = true; areMore;) {
    const auto ended = server_->sessions.endIdle(since, now, kSessionsAtOnce);
    areMore = !ended.empty();
    sessions_ += static_cast<int64_t>(ended.size());
    server_->cursors.killOf(ended);
  }
}

void IdleSweeper::tellDisplaced(TimePoint now) {
  const int64_t displaced = server_->sessions.displaced();
  if (displaced <= displaced_) return;
  displaced_ = displaced;
  if (displacedLines_.admit(now))
    server_->log.warning(log::Component::kCommand, 7003001, "sessions",
                         "More sessions are in use than are remembered; those unused for longest are forgotten",
                         bson::doc("maxSessions", server_->parameters.maxSessions.load(), "forgotten", displaced));
}

}  // namespace troupe::maintenance
