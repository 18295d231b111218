#pragma once
#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"
#include "state_machines/replication/flow_control.hpp"

namespace troupe::replication {

/// Keeps a primary from leaving the majority of its set behind (LCK-015): looks once a second how far the commit point
/// lags, and gives the tickets of the next second to clients that write. When it ends, nobody waits for a ticket any
/// more.
class FlowControl final : public Actor {
 public:
  /// `server`, a member's, outlives it.
  explicit FlowControl(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void look();
  void show(const FlowDecision& decision);
  /// Says so when the commit point has not moved for long, although writes are held back.
  void warn(const FlowDecision& decision);

  server::ServerContext* server_;
  bool wasLagged_ = false;
  OpTime commitPoint_;
  TimePoint moved_{};  ///< when the commit point had moved
};

}  // namespace troupe::replication
