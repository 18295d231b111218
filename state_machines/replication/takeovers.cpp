#include "state_machines/replication/takeovers.hpp"

#include "state_machines/replication/candidacy.hpp"
#include "state_machines/replication/roles.hpp"

namespace troupe::replication {

namespace {

/// A node of higher priority may be this far behind the primary when it stands.
constexpr uint32_t kFreshnessSecs = 2;

const MemberView* primaryView(const Turn& t) {
  const NodeName primary = primaryOf(t.now());
  return primary.empty() ? nullptr : t.view(primary);
}

bool hasHigherPriority(const Turn& t, const MemberView& primary) {
  return t.self()->priority > t.config().member(primary.host)->priority;
}

bool isFresh(const Turn& t, const MemberView& primary) {
  return t.mem.applied >= primary.applied ||
         t.mem.applied.timestamp.seconds + kFreshnessSecs >= primary.applied.timestamp.seconds;
}

/// The primary has written nothing in its term, and this node has what it lacks.
bool isAheadOfCatchUp(const Turn& t, const MemberView& primary) {
  return primary.applied.term < primary.term && t.mem.applied > primary.applied;
}

template <class Event>
void setTimer(Turn& t, bool& armed, bool wanted, Millis delay, Event event) {
  if (wanted && !armed) t.arm(delay, event, electionSpread(t.config()));
  if (!wanted && armed) t.cancel(event);
  armed = wanted;
}

}  // namespace

Millis priorityTakeoverDelay(const ReplicaSetConfig& config, const NodeName& self) {
  return Millis(config.settings.electionTimeoutMillis) * (config.priorityRank(self) + 1);
}

void considerTakeovers(Turn& t) {
  const MemberView* primary = whyNotStand(t).empty() ? primaryView(t) : nullptr;
  if (!primary) return dropTakeovers(t);
  const Millis catchUpDelay = t.config().settings.catchUpTakeoverDelayMillis;
  setTimer(t, t.mem.priorityTakeover, hasHigherPriority(t, *primary), priorityTakeoverDelay(t.config(), t.doc.self),
           PriorityTakeoverDue{});
  setTimer(t, t.mem.catchUpTakeover, catchUpDelay.count() >= 0 && isAheadOfCatchUp(t, *primary), catchUpDelay,
           CatchUpTakeoverDue{});
}

void dropTakeovers(Turn& t) {
  if (t.mem.priorityTakeover) t.cancel(PriorityTakeoverDue{});
  if (t.mem.catchUpTakeover) t.cancel(CatchUpTakeoverDue{});
  t.mem.priorityTakeover = t.mem.catchUpTakeover = false;
}

void onPriorityTakeoverDue(Turn& t, const PriorityTakeoverDue&) {
  t.mem.priorityTakeover = false;
  const MemberView* primary = primaryView(t);
  if (primary && whyNotStand(t).empty() && hasHigherPriority(t, *primary) && isFresh(t, *primary))
    stand(t, ElectionReason::kPriorityTakeover);
}

void onCatchUpTakeoverDue(Turn& t, const CatchUpTakeoverDue&) {
  t.mem.catchUpTakeover = false;
  const MemberView* primary = primaryView(t);
  if (primary && whyNotStand(t).empty() && isAheadOfCatchUp(t, *primary)) stand(t, ElectionReason::kCatchUpTakeover);
}

}  // namespace troupe::replication
