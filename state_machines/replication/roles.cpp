#include "state_machines/replication/roles.hpp"

#include "state_machines/replication/candidacy.hpp"
#include "state_machines/replication/step_down.hpp"
#include "state_machines/replication/takeovers.hpp"

namespace troupe::replication {

namespace {

/// A node whose connection to the primary is refused waits the election timeout divided by this; at most thrice
/// as long.
constexpr int kGoneShare = 20;
/// Terms that a member may have missed: at one election a second, those of 136 years.
constexpr int64_t kMostMissedTerms = int64_t{1} << 32;

Topology::Phase phaseByConfig(const Turn& t) {
  if (!t.hasConfig()) return Topology::Phase::kStartup;
  if (!t.self()) return Topology::Phase::kRemoved;
  return t.self()->arbiterOnly ? Topology::Phase::kArbiter : Topology::Phase::kFollower;
}

}  // namespace

bool isPlausible(const Turn& t, int64_t term) { return term <= t.mem.term + kMostMissedTerms; }

bool isPlausibleTerm(const Snapshot<Topology>& now, int64_t term) { return isPlausible(Turn(now), term); }

void raiseTerm(Turn& t, int64_t term) {
  if (term <= t.mem.term || !isPlausible(t, term)) return;
  t.mem.term = term;
  t.mem.handoff.reset();
  if (t.isLeading()) stepDown(t, "a higher term was heard of");
  else if (t.isStanding()) giveUp(t, "a higher term was heard of");
}

void onTermHeard(Turn& t, const TermHeard& report) { raiseTerm(t, report.term); }

void settle(Turn& t) {
  t.mem.phase = phaseByConfig(t);
  if (t.mem.phase != Topology::Phase::kFollower) {
    dropTakeovers(t);
    t.mem.handoff.reset();
    t.mem.hearsay.reset();
    if (t.hasConfig()) t.cancel(ElectionTimeout{});
    return;
  }
  armElectionTimeout(t);
}

void armElectionTimeout(Turn& t) {
  if (!t.self() || !t.self()->isElectable()) return;
  if (t.config().isOnlyVoter(t.doc.self)) t.arm(Millis(0), ElectionTimeout{});
  else t.arm(t.config().settings.electionTimeoutMillis, ElectionTimeout{}, electionSpread(t.config()));
}

void expectElection(Turn& t) {
  const Millis timeout = t.config().settings.electionTimeoutMillis;
  if (t.self() && t.self()->isElectable()) t.arm(timeout / kGoneShare, ElectionTimeout{}, 2 * timeout / kGoneShare);
}

Millis electionSpread(const ReplicaSetConfig& config) {
  return Millis(config.settings.electionTimeoutMillis) * 15 / 100;
}

bool leads(Topology::Phase phase) {
  using Phase = Topology::Phase;
  return phase == Phase::kCatchingUp || phase == Phase::kDraining || phase == Phase::kPrimary ||
         phase == Phase::kSteppingDown;
}

MemberState stateOf(const Snapshot<Topology>& now) {
  using Phase = Topology::Phase;
  switch (now.memory.phase) {
    case Phase::kStartup:
    case Phase::kInitiating: return MemberState::kStartup;
    case Phase::kRemoved: return MemberState::kRemoved;
    case Phase::kArbiter: return MemberState::kArbiter;
    case Phase::kFollower:
    case Phase::kDryRun:
    case Phase::kCandidate:
      if (now.memory.copyingData) return MemberState::kStartup2;
      if (now.memory.rollingBack) return MemberState::kRollback;
      if (now.memory.maintenance || now.memory.tooStale) return MemberState::kRecovering;
      return MemberState::kSecondary;
    default: return MemberState::kPrimary;
  }
}

bool isWritable(const Snapshot<Topology>& now) { return now.memory.phase == Topology::Phase::kPrimary; }

NodeName primaryOf(const Snapshot<Topology>& now) {
  if (leads(now.memory.phase)) return now.document.self;
  for (const MemberView& v : now.memory.members)
    if (v.heard.contains(0) && v.state == MemberState::kPrimary && v.term == now.memory.term) return v.host;
  return {};
}

}  // namespace troupe::replication
