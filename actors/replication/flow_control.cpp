#include "actors/replication/flow_control.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/flow_control_state.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"

namespace troupe::replication {

using log::Component;
using storage::FlowTickets;

namespace {

constexpr std::chrono::seconds kPeriod(1);
static_assert(FlowRule::kUnlimited == FlowTickets::kUnlimited);

int64_t millisOf(Duration time) { return std::chrono::duration_cast<std::chrono::milliseconds>(time).count(); }

}  // namespace

void FlowControl::onStart() {
  setPhase("open", "nothing is held back: this node is no primary, or flow control is disabled");
  moved_ = environment().now();
  every(kPeriod, [this] { look(); });
}

void FlowControl::onStop(const Status&) { server_->admission.flow().refresh(FlowTickets::kUnlimited); }

void FlowControl::look() {
  const auto role = server_->progress->role();
  const auto times = server_->progress->times();
  const Positions positions = server_->progress->positions();
  FlowTickets& tickets = server_->admission.flow();
  const FlowDecision decision =
      server_->flow->decide(times.applied, {.now = environment().now(),
                                            .mayWrite = server_->membership->view()->isWritable(),
                                            .config = role.config,
                                            .positions = positions,
                                            .commitPoint = times.commitPoint,
                                            .locks = tickets.acquired()});
  tickets.refresh(decision.tickets);
  if (std::exchange(commitPoint_, times.commitPoint) != times.commitPoint) moved_ = environment().now();
  show(decision);
  warn(decision);
}

void FlowControl::show(const FlowDecision& decision) {
  if (decision.isLagged) setPhase("throttling", "a majority of the set lags: writes are held back");
  else if (decision.tickets < FlowTickets::kUnlimited) setPhase("watching", "the lag is small: the rate grows");
  else setPhase("open", "nothing is held back");
  if (std::exchange(wasLagged_, decision.isLagged) == decision.isLagged) return;
  server_->log.info(Component::kReplication, 22218, "flow-control",
                    decision.isLagged ? "Flow control holds writes back" : "Flow control lets the rate of writes grow",
                    bson::doc("lagMillis", millisOf(decision.lag), "sustainer", decision.sustainer, "sustainerRate",
                              decision.sustainerRate, "targetRateLimit", decision.tickets));
}

/// Once in each such time.
void FlowControl::warn(const FlowDecision& decision) {
  const std::chrono::seconds patience(server_->parameters.flowControlWarnThresholdSeconds.load());
  if (!decision.isLagged || patience.count() == 0 || environment().now() - moved_ < patience) return;
  moved_ = environment().now();
  server_->log.warning(Component::kReplication, 22225, "flow-control",
                       "Flow control holds writes back, and the commit point is not moving",
                       bson::doc("lagMillis", millisOf(decision.lag), "commitPoint", commitPoint_.timestamp,
                                 "sustainer", decision.sustainer, "targetRateLimit", decision.tickets));
}

bson::Document FlowControl::describe() const {
  const FlowDecision last = server_->flow->last();
  const FlowTickets& tickets = server_->admission.flow();
  return bson::doc("enabled", server_->flow->isEnabled(), "targetRateLimit", tickets.rate(), "lagMillis",
                   millisOf(last.lag), "isLagged", last.isLagged, "sustainer", last.sustainer, "sustainerRate",
                   last.sustainerRate, "locksPerOperation", last.locksPerOperation, "acquired", tickets.acquired(),
                   "waiting", tickets.waiting());
}

}  // namespace troupe::replication
