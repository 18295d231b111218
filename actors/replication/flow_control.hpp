#pragma once
#include <functional>
#include <utility>

#include "actors/kernel/actor.hpp"
#include "actors/replication/flow_control_state.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "messaging/log/log.hpp"
#include "storage/admission/flow_tickets.hpp"

namespace troupe::replication {

/// Keeps a primary from leaving the majority of its set behind (LCK-015): looks once a second how far the commit point
/// lags, and gives the tickets of the next second to clients that write. When it ends, nobody waits for a ticket any
/// more.
class FlowControl final : public Actor {
 public:
  /// All that is referred to outlives the actor.
  struct Parts {
    const ReplicationProgress* progress;
    const Membership* membership;
    FlowControlState* state;
    storage::FlowTickets* tickets;
    /// How long the commit point may stay where it is before a warning (flowControlWarnThresholdSeconds); zero: for
    /// ever.
    std::function<Duration()> patience;
    log::Log* log;
  };
  explicit FlowControl(Parts parts) : parts_(std::move(parts)) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void look();
  void show(const FlowDecision& decision);
  /// Says so when the commit point has not moved for long, although writes are held back.
  void warn(const FlowDecision& decision);

  const Parts parts_;
  bool wasLagged_ = false;
  OpTime commitPoint_;
  TimePoint moved_{};  ///< when the commit point had moved
};

}  // namespace troupe::replication
