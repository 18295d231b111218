#pragma once
#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/log/line_limit.hpp"

namespace troupe::maintenance {

/// Ends idle cursors after `cursorTimeoutMillis` and stashed units of work at their deadline. Sessions end with
/// config.system.sessions (SessionRefresher); where that is turned off, the idle ones end here after their time-out.
class IdleSweeper final : public Actor {
 public:
  explicit IdleSweeper(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override { return bson::doc("cursorsEnded", cursors_, "sessionsEnded", sessions_); }

 private:
  void sweep();
  void endIdleSessions(TimePoint now);
  void tellDisplaced(TimePoint now);
  server::ServerContext* server_;
  int64_t cursors_ = 0, sessions_ = 0, displaced_ = 0;
  log::LineLimit displacedLines_;
};

}  // namespace troupe::maintenance
