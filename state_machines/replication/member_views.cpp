#include "state_machines/replication/member_views.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "state_machines/replication/roles.hpp"
#include "state_machines/replication/step_down.hpp"
#include "state_machines/replication/step_up.hpp"

namespace troupe::replication {

namespace {

constexpr int kFarthest = 3;

MemberView nothingKnownOf(const NodeName& host) {
  MemberView v;
  v.host = host;
  return v;
}

/// Takes the timers of a member back that is none any more, or is too far.
void stopHearing(Turn& t, MemberView& v, int fromDistance) {
  while (!v.heard.empty() && *v.heard.rbegin() >= fromDistance) {
    t.cancel(LivenessTimeout{v.host, *v.heard.rbegin()});
    v.heard.erase(std::prev(v.heard.end()));
  }
}

/// Merges a member's report about a third one. (REP-050: entries about the receiver itself mean nothing to it.)
void noteOther(Turn& t, const Heard& other) {
  MemberView* v = t.view(other.host);
  if (!v || other.distance < 0 || other.distance >= maxDistance(t.config())) return;
  hear(t, other.host, other.distance + 1);
  v->applied = std::max(v->applied, other.applied);
}

template <class Condition>
int votersWith(const Turn& t, Condition condition) {
  int count = 0;
  for (const MemberConfig& m : t.config().members) {
    if (!m.isVoter()) continue;
    const MemberView* v = t.view(m.host);
    if (m.host == t.doc.self || (v && condition(m, *v))) ++count;
  }
  return count;
}

}  // namespace

int maxDistance(const ReplicaSetConfig& config) {
  return std::clamp(static_cast<int>(config.members.size()) - 2, 0, kFarthest);
}

void rebuildViews(Turn& t) {
  std::vector<MemberView> before = std::move(t.mem.members);
  t.mem.members.clear();
  for (MemberView& v : before) stopHearing(t, v, t.self() && t.config().has(v.host) ? maxDistance(t.config()) + 1 : 0);
  if (!t.self()) return;
  for (const MemberConfig& m : t.config().members) {
    if (m.host == t.doc.self) continue;
    const auto old = std::find_if(before.begin(), before.end(), [&](const auto& v) { return v.host == m.host; });
    t.mem.members.push_back(old == before.end() ? nothingKnownOf(m.host) : std::move(*old));
  }
  if (!t.isLeading()) return;
  for (const MemberView& v : t.mem.members)
    if (!v.isAlive()) hear(t, v.host, 0);
}

void hear(Turn& t, const NodeName& host, int distance) {
  MemberView* v = t.view(host);
  if (!v) return;
  v->heard.insert(distance);
  t.arm(t.config().settings.electionTimeoutMillis, LivenessTimeout{host, distance});
}

void note(Turn& t, const Report& report) {
  MemberView* v = t.view(report.from);
  if (!v) return;
  v->state = report.state;
  v->term = report.term;
  v->applied = report.applied;
  v->durable = report.durable;
  v->source = report.source;
  v->config = report.config;
  v->electedAt = report.electedAt;
  hear(t, report.from, 0);
  for (const Heard& other : report.others) noteOther(t, other);
}

void noteRefusal(Turn& t, const NodeName& host, const Status& refusal) {
  MemberView* v = t.view(host);
  if (v) v->refusal = refusal.isOK() ? std::string() : refusal.toString();
}

void onMembersHeard(Turn& t, const MembersHeard& report) {
  if (!t.self()) return;
  for (const Heard& each : report.members) {
    MemberView* v = t.view(each.host);
    if (!v || each.distance < 0 || each.distance > maxDistance(t.config())) continue;
    hear(t, each.host, each.distance);
    v->applied = std::max(v->applied, each.applied);
  }
  if (t.mem.phase == Topology::Phase::kSteppingDown) tryStepDown(t);
}

void onLivenessTimeout(Turn& t, const LivenessTimeout& event) {
  MemberView* v = t.view(event.host);
  if (!v || v->heard.erase(event.distance) == 0) return;
  if (!v->isAlive()) {
    MemberView gone = nothingKnownOf(event.host);
    gone.refusal = std::move(v->refusal);  // what refuses is there, and is no member
    if (t.isLeading()) std::tie(gone.applied, gone.durable) = std::tie(v->applied, v->durable);  // it stays on its disk
    *v = std::move(gone);
  }
  if (event.distance == 0) onMemberGone(t, event.host);
  if (t.isLeading() && !seesMajority(t.now())) stepDown(t, "nothing was heard of a majority for the election timeout");
}

void onUnreachable(Turn& t, const Unreachable& event) {
  MemberView* v = t.view(event.host);
  if (!v) return;
  const bool wasPrimary = primaryOf(t.now()) == event.host;
  v->state = MemberState::kDown;
  v->refusal.clear();  // nothing is there that refuses
  if (t.mem.hearsay && t.mem.hearsay->primary == event.host) t.mem.hearsay.reset();
  onMemberGone(t, event.host);
  passHandoffOn(t, event.host);
  if (wasPrimary && t.mem.phase == Topology::Phase::kFollower) expectElection(t);
}

bool majorityHasCaughtUp(const Turn& t) {
  return votersWith(t, [&](const MemberConfig& m, const MemberView& v) {
           return !m.arbiterOnly && v.isAlive() && v.state == MemberState::kSecondary && v.applied >= t.mem.applied;
         }) >= t.config().writeMajority();
}

bool majorityHoldsConfig(const Turn& t) {
  return votersWith(t, [&](const MemberConfig&, const MemberView& v) {
           return v.isAlive() && v.config == t.config().configVersion();
         }) >= t.config().majority();
}

bool seesMajority(const Snapshot<Topology>& now) {
  if (!now.document.config) return false;
  const Turn t(now);
  return votersWith(t, [](const MemberConfig&, const MemberView& v) { return v.isAlive(); }) >= t.config().majority();
}

}  // namespace troupe::replication
