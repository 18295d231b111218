#include "actors/replication/flow_control.hpp"

#include <utility>

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

void FlowControl::onStop(const Status&) { parts_.tickets->refresh(FlowTickets::kUnlimited); }

void FlowControl::look() {
  const auto role = parts_.progress->role();
  const auto times = parts_.progress->times();
  const Positions positions = parts_.progress->positions();
  const FlowDecision decision =
      parts_.state->decide(times.applied, {.now = environment().now(),
                                           .mayWrite = parts_.membership->view()->isWritable(),
                                           .config = role->config,
                                           .positions = positions,
                                           .commitPoint = times.commitPoint,
                                           .locks = parts_.tickets->acquired()});
  parts_.tickets->refresh(decision.tickets);
  if (std::exchange(commitPoint_, times.commitPoint) != times.commitPoint) moved_ = environment().now();
  show(decision);
  warn(decision);
}

void FlowControl::show(const FlowDecision& decision) {
  if (decision.isLagged) setPhase("throttling", "a majority of the set lags: writes are held back");
  else if (decision.tickets < FlowTickets::kUnlimited) setPhase("watching", "the lag is small: the rate grows");
  else setPhase("open", "nothing is held back");
  if (std::exchange(wasLagged_, decision.isLagged) == decision.isLagged) return;
  parts_.log->info(Component::kReplication, 22218, "flow-control",
                   decision.isLagged ? "Flow control holds writes back" : "Flow control lets the rate of writes grow",
                   bson::doc("lagMillis", millisOf(decision.lag), "sustainer", decision.sustainer, "sustainerRate",
                             decision.sustainerRate, "targetRateLimit", decision.tickets));
}

/// Once in each such time.
void FlowControl::warn(const FlowDecision& decision) {
  const Duration patience = parts_.patience();
  if (!decision.isLagged || patience == Duration::zero() || environment().now() - moved_ < patience) return;
  moved_ = environment().now();
  parts_.log->warning(Component::kReplication, 22225, "flow-control",
                      "Flow control holds writes back, and the commit point is not moving",
                      bson::doc("lagMillis", millisOf(decision.lag), "commitPoint", commitPoint_.timestamp, "sustainer",
                                decision.sustainer, "targetRateLimit", decision.tickets));
}

bson::Document FlowControl::describe() const {
  const FlowDecision last = parts_.state->last();
  const FlowTickets& tickets = *parts_.tickets;
  return bson::doc("enabled", parts_.state->isEnabled(), "targetRateLimit", tickets.rate(), "lagMillis",
                   millisOf(last.lag), "isLagged", last.isLagged, "sustainer", last.sustainer, "sustainerRate",
                   last.sustainerRate, "locksPerOperation", last.locksPerOperation, "acquired", tickets.acquired(),
                   "waiting", tickets.waiting());
}

}  // namespace troupe::replication
