#include "state_machines/replication/fetch_turn.hpp"

namespace troupe::replication {

namespace {
using F = Fetching;
}

Millis Fetching::denialOf(Denial why) {
  switch (why) {
    case Denial::kFailed:
    case Denial::kUnusable:
    case Denial::kSilent: return Millis(10'000);
    case Denial::kBehind: return kRetryPause;
    case Denial::kTooNew: break;
  }
  return Millis(60'000);
}

/// A catch-up comes to an end because it leaves each source once, for good. A link that is down for an instant is no
/// reason: until its patience is over a catch-up asks a source that failed again.
void deny(FetchTurn& t, Denial why) {
  const NodeName& source = t.mem.source;
  if (t.catchesUp() && (why != Denial::kFailed || t.mem.isImpatient)) {
    t.mem.left[source] = why;
    return;
  }
  t.mem.denied[source] = why;
  // Writes wait for the primary's followers: one that leads on is asked again soon (REP-006).
  const bool leadsOn = source == t.mem.primary && (why == Denial::kFailed || why == Denial::kUnusable);
  t.effects.push_back(F::after(leadsOn || t.catchesUp() ? F::kRetryPause : F::denialOf(why), DenialOver{source}));
}

void forgive(FetchTurn& t, const NodeName& host) {
  if (t.mem.denied.erase(host) > 0) t.effects.push_back(F::cancel(DenialOver{host}));
}

void forgetDenials(FetchTurn& t) {
  for (const auto& [host, why] : t.mem.denied) t.effects.push_back(F::cancel(DenialOver{host}));
  t.mem.denied.clear();
  t.mem.left.clear();
  t.mem.lastResort.clear();
}

/// A source that failed and leads now has come back, or was never gone: writes wait for its followers. One that has
/// forgotten what this member needs does not learn it by being elected. To a new primary it makes no difference who
/// seems to lead.
void notePrimary(FetchTurn& t, const NodeName& primary) {
  if (std::exchange(t.mem.primary, primary) == primary || t.catchesUp()) return;
  t.mem.lastResort.clear();
  const auto denied = t.mem.denied.find(primary);
  if (denied != t.mem.denied.end() && denied->second != Denial::kTooNew) forgive(t, primary);
}

std::set<NodeName> deniedHosts(const Fetching::Memory& mem) {
  std::set<NodeName> hosts;
  for (const auto* some : {&mem.denied, &mem.left})
    for (const auto& [host, why] : *some) hosts.insert(host);
  return hosts;
}

/// One that was silent may be slow, and the only one that can be read: a follower denies it while there is another one.
/// For a new primary writes wait, and a majority that has what it does not get would not have elected it.
std::optional<NodeName> choose(FetchTurn& t, const Candidates& known) {
  std::set<NodeName> denied = deniedHosts(t.mem);
  t.mem.lastResort.clear();
  if (const auto source = chooseSource(known, denied, t.doc.mission)) return source;
  if (t.doc.mission != Mission::kFollow) return std::nullopt;
  for (const auto& [host, why] : t.mem.denied)
    if (why == Denial::kSilent) denied.erase(host);
  const auto silent = chooseSource(known, denied, t.doc.mission);
  if (!silent) return std::nullopt;
  forgive(t, *silent);
  t.mem.lastResort = *silent;
  return silent;
}

/// A member that is heard and hears nothing, as the old primary of a set, seems to be ahead for what it never sends.
/// Where another one leads, writes may wait for what this member should fetch from there. The primary itself is waited
/// for, and so is a slow source where there is no better one: left again and again it would never come to answer. (A
/// read that is not answered at all fails after ten seconds.) To a new primary another member may give as much.
bool isToBeLeft(const FetchTurn& t) {
  if (t.catchesUp()) return true;
  const NodeName& primary = t.mem.primary;
  if (primary.empty() || t.mem.source == t.mem.lastResort) return false;
  return primary != t.mem.source && primary != t.doc.self && !t.mem.denied.contains(primary);
}

void beginPatience(FetchTurn& t) {
  if (!t.catchesUp()) return;
  t.mem.isImpatient = false;
  t.effects.push_back(F::after(F::kLongSilence, PatienceOver{}));
}

void leaveCatchUp(FetchTurn& t) {
  if (!t.catchesUp()) return;
  forgetDenials(t);
  t.mem.isImpatient = false;
  t.effects.push_back(F::cancel(PatienceOver{}));
}

}  // namespace troupe::replication
