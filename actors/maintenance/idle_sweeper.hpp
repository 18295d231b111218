#pragma once
#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Ends cursors nobody fetched from for `cursorTimeoutMillis`, sessions nobody used for their time-out, and open units
/// of work that no command took up before their deadline.
class IdleSweeper final : public Actor {
 public:
  explicit IdleSweeper(commands::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override { return bson::doc("cursorsEnded", cursors_, "sessionsEnded", sessions_); }

 private:
  void sweep();
  commands::ServerContext* server_;
  int64_t cursors_ = 0, sessions_ = 0;
};

}  // namespace troupe::maintenance
