#include "state_machines/replication/fetching.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "state_machines/replication/fetch_turn.hpp"

namespace troupe::replication {

namespace {

using FetchPhase = Fetching::Phase;
using enum Fetching::Phase;
using F = Fetching;

Fetch fetchOf(const F::Document& doc, const F::Memory& mem) {
  return {mem.source, mem.rollbackId, mem.isRequested, doc.mission};
}

void enter(FetchTurn& t, FetchPhase phase) {
  if (t.mem.phase == kProbing) t.effects.push_back(F::cancel(ProbeOverdue{}));
  t.mem.isOverdue = false;
  t.mem.phase = phase;
  if (phase != kChoosing) t.mem.fruitless = 0;
  if (phase == kFetching) t.mem.lastResort.clear();
  const bool keepsSource = phase == kFetching || phase == kEnding || phase == kDiverged || phase == kNeedsInitialSync;
  if (keepsSource) return;
  t.mem.source.clear();
  t.mem.oldest = {};
  t.mem.rollbackId = 0;
  t.mem.restarts = 0;
  t.mem.isRequested = false;
}

/// Goes on as its mission says when nothing is under way.
void goOn(FetchTurn& t) {
  if (t.doc.mission == Mission::kNothing) return enter(t, kIdle);
  enter(t, kChoosing);
  t.perform(LookAround{true});
}

void pull(FetchTurn& t) {
  t.mem.isPulling = true;
  t.perform(fetchOf(t.doc, t.mem));
}

void endFetch(FetchTurn& t) {
  t.effects.push_back(F::giveUp(fetchOf(t.before.document, t.before.memory)));
  t.perform(EndFetch{});
  enter(t, kEnding);
}

/// Gives up what is under way, if that can be given up, and goes on anew; a fetch has to end first.
void beginAnew(FetchTurn& t) {
  switch (t.mem.phase) {
    case kFetching: return endFetch(t);
    case kEnding:
    case kDiverged:
    case kNeedsInitialSync: return;  // goes on at its end
    case kProbing: t.effects.push_back(F::giveUp(Probe{t.mem.source})); break;
    case kChoosing: t.effects.push_back(F::cancel(RetryDue{})); break;
    case kIdle:
    case kTooStale: break;
  }
  goOn(t);
}

void denyAndGoOn(FetchTurn& t, Denial why) {
  deny(t, why);
  goOn(t);
}

void awaitProbe(FetchTurn& t) {
  t.effects.push_back(F::after(t.doc.mission == Mission::kFollow ? F::kSilence : F::kLongSilence, ProbeOverdue{}));
}

void probe(FetchTurn& t, const NodeName& source, bool isRequested) {
  enter(t, kProbing);
  t.mem.source = source;
  t.mem.isRequested = isRequested;
  t.effects.push_back(F::cancel(RetryDue{}));
  awaitProbe(t);
  t.perform(Probe{source});
}

void endMaintenance(FetchTurn& t) {
  if (std::exchange(t.doc.maintenance, false)) t.perform(SetMaintenance{false});
}

void fetch(FetchTurn& t, const Probed& probed) {
  enter(t, kFetching);
  t.mem.oldest = probed.oldest;
  t.mem.rollbackId = probed.rollbackId;
  endMaintenance(t);
  pull(t);
}

/// A new primary never rolls back: another branch of history is the other member's to give up.
void diverged(FetchTurn& t) {
  if (t.doc.mission != Mission::kFollow) return denyAndGoOn(t, Denial::kUnusable);
  enter(t, kDiverged);
  t.perform(CloseBuffer{});
  t.perform(RollBack{t.mem.source});
}

/// Of a member that is silent nothing is known after a while: it comes back with what this one lacks. Those that were
/// lost for good an operator takes out of the config by force.
bool mayBeAhead(const SourceCandidate& other, const OpTime& own) {
  return other.applied > own || (other.applied == OpTime() && other.state != MemberState::kArbiter);
}

bool anyMayBeAhead(const Candidates& known) {
  return std::ranges::any_of(known.members, [&](const auto& other) { return mayBeAhead(other, known.own); });
}

/// Whether there are sources, and all of them have forgotten what this member would need next (REP-011).
bool isTooStale(const FetchTurn& t, const Candidates& known) {
  if (t.doc.mission != Mission::kFollow || !anyMayBeAhead(known)) return false;
  const auto hosts = acceptableSources(known, t.doc.mission);
  return !hosts.empty() && std::all_of(hosts.begin(), hosts.end(), [&](const NodeName& host) {
    const auto denied = t.mem.denied.find(host);
    return denied != t.mem.denied.end() && denied->second == Denial::kTooNew;
  });
}

/// A source that failed a moment ago is asked once more before it counts as gone.
void noteFruitlessLook(FetchTurn& t) {
  if (!t.mem.isImpatient && !t.mem.denied.empty()) return;
  t.mem.fruitless = std::min(t.mem.fruitless + 1, F::kFruitlessLooks);
  if (t.mem.fruitless == F::kFruitlessLooks) t.perform(EndCatchUp{t.doc.term});
}

void onCandidates(FetchTurn& t, const Candidates& known) {
  t.mem.own = known.own;
  notePrimary(t, known.primary);
  if (!anyMayBeAhead(known)) endMaintenance(t);
  const NodeName requested = std::exchange(t.mem.requested, {});
  if (!requested.empty() && checkRequestedSource(known, requested).isOK()) return probe(t, requested, true);
  if (const auto source = choose(t, known)) return probe(t, *source, false);
  if (isTooStale(t, known)) {
    if (t.mem.phase == kTooStale) return;
    enter(t, kTooStale);
    t.doc.maintenance = true;
    return t.perform(SetMaintenance{true});
  }
  enter(t, kChoosing);
  if (t.catchesUp()) noteFruitlessLook(t);
  t.effects.push_back(F::after(F::kRetryPause, RetryDue{}));
}

/// While it fetches: the fetch itself looks before each batch, but there may be none for long.
void onCandidatesWhileFetching(FetchTurn& t, const Candidates& known) {
  notePrimary(t, known.primary);
  if (!whyToChange(t.now(), known).empty()) endFetch(t);
}

/// A source may stop to answer: one that has lost its place meanwhile, or is not heard of any more, is not waited for.
void onCandidatesWhileProbing(FetchTurn& t, const Candidates& known) {
  notePrimary(t, known.primary);
  if (whyToChange(t.now(), known).empty()) return;
  t.effects.push_back(F::giveUp(Probe{t.mem.source}));
  goOn(t);
}

void onProbed(FetchTurn& t, const Probed& found) {
  if (!t.isOf(found.source)) return;
  if (!found.hasRequiredEntry) return denyAndGoOn(t, Denial::kUnusable);  // REP-009
  const OpTime& own = t.mem.own;
  if (own == OpTime()) {
    if (t.doc.mission != Mission::kFollow) return denyAndGoOn(t, Denial::kUnusable);
    enter(t, kNeedsInitialSync);
    return t.perform(NeedInitialSync{});
  }
  if (found.newest < own) return denyAndGoOn(t, Denial::kBehind);  // REP-017
  if (found.oldest > own) return denyAndGoOn(t, Denial::kTooNew);  // REP-008
  // A log grows in time as well as in terms: with an earlier time in a later term this member's entry is not in it.
  if (found.newest.timestamp < own.timestamp) return diverged(t);
  fetch(t, found);
}

void onProbeFailed(FetchTurn& t, const ProbeFailed& failed) {  // REP-007
  if (t.isOf(failed.source)) denyAndGoOn(t, Denial::kFailed);
}

void onBroken(FetchTurn& t, const FetchEnded& ended) {  // REP-016
  if (ended.progressed) t.mem.restarts = 0;
  if (t.mem.restarts == F::kMostRestarts) return denyAndGoOn(t, Denial::kFailed);
  ++t.mem.restarts;
  pull(t);
}

void onFetchEnded(FetchTurn& t, const FetchEnded& ended) {
  if (!t.isOf(ended.source)) return;
  t.mem.isPulling = false;
  if (ended.progressed) beginPatience(t);
  switch (ended.how) {
    case FetchEnd::kUnfit:
    case FetchEnd::kRolledBack:  // it is probed again, with its new rollback id
    case FetchEnd::kClosed: return goOn(t);
    case FetchEnd::kBroken: return onBroken(t, ended);
    case FetchEnd::kBehind: return denyAndGoOn(t, Denial::kBehind);
    case FetchEnd::kTooNew: return denyAndGoOn(t, Denial::kTooNew);
    case FetchEnd::kDamaged: return denyAndGoOn(t, Denial::kUnusable);
    case FetchEnd::kDiverged: return diverged(t);
  }
}

void onSourceSilent(FetchTurn& t, const SourceSilent& report) {
  if (!t.isOf(report.source)) return;
  notePrimary(t, report.primary);
  if (!isToBeLeft(t)) return;
  deny(t, Denial::kSilent);
  endFetch(t);
}

void onProbeOverdue(FetchTurn& t, const ProbeOverdue&) {
  if (!isToBeLeft(t)) {
    t.mem.isOverdue = false;
    return awaitProbe(t);
  }
  if (!std::exchange(t.mem.isOverdue, true)) return t.effects.push_back(F::after(F::kSecondLook, ProbeOverdue{}));
  t.effects.push_back(F::giveUp(Probe{t.mem.source}));
  denyAndGoOn(t, Denial::kSilent);
}

void onFetchIsOver(FetchTurn& t, const FetchIsOver& ended) {
  t.mem.isPulling = false;
  if (ended.progressed) beginPatience(t);
  goOn(t);
}
void onRollbackEnded(FetchTurn& t, const RollbackEnded&) { goOn(t); }

/// What was known of sources was about data that have gone.
void onInitialSyncEnded(FetchTurn& t, const InitialSyncEnded&) {
  endMaintenance(t);
  forgetDenials(t);
  goOn(t);
}

/// One that was too stale still is, and stays in maintenance.
void onInitialSyncGivenUp(FetchTurn& t, const InitialSyncGivenUp&) { goOn(t); }

void onSetChanged(FetchTurn& t, const SetChanged&) { t.perform(LookAround{looksForSource(t.mem.phase)}); }
void onRetryDue(FetchTurn& t, const RetryDue&) { t.perform(LookAround{true}); }

void onFollow(FetchTurn& t, const Follow&) {
  t.done();
  if (t.doc.mission == Mission::kFollow) return;
  leaveCatchUp(t);
  t.doc.mission = Mission::kFollow;
  t.doc.target = {};
  t.doc.term = 0;
  beginAnew(t);
}

/// A winner clears its source (ELE-018), and asks each member afresh: what it knew of them as sources is no reason to
/// leave out what they have. One that was found too stale while it stood has what a majority has, or it would not have
/// been elected. A member that has to give up data, or has none, comes first to an end with that. Looks that found
/// nothing for another term, or for less, do not count.
void onCatchUpTo(FetchTurn& t, const CatchUpTo& command) {
  if (t.mem.phase == kDiverged || t.mem.phase == kNeedsInitialSync) {
    t.effects.push_back(F::refuse({ErrorCode::kConflictingOperationInProgress,
                                   "this member cannot catch up: its data are not those of its set"}));
    return;
  }
  t.done();
  endMaintenance(t);
  const bool isNew = !t.catchesUp() || t.doc.term != command.term;
  if (isNew || t.doc.target != command.target) t.mem.fruitless = 0;
  if (isNew) forgetDenials(t);
  t.doc.target = command.target;
  t.doc.term = command.term;
  const bool wasCatchingUp = std::exchange(t.doc.mission, Mission::kCatchUp) == Mission::kCatchUp;
  if (isNew) beginPatience(t);
  if (wasCatchingUp) return;
  t.mem.requested.clear();
  beginAnew(t);
}

/// The buffer is closed first: a fetch that waits for room in it ends at once.
void onStopFetching(FetchTurn& t, const StopFetching&) {
  if (t.doc.mission == Mission::kNothing) return;
  leaveCatchUp(t);
  t.doc.mission = Mission::kNothing;
  t.doc.target = {};
  t.doc.term = 0;
  t.mem.requested.clear();
  t.perform(CloseBuffer{});
  beginAnew(t);
}

void onSyncFrom(FetchTurn& t, const SyncFrom& command) {
  if (t.doc.mission != Mission::kFollow) {
    t.effects.push_back(F::refuse({ErrorCode::kNotSecondary, "only a secondary can be told whom to sync from"}));
    return;
  }
  t.effects.push_back(F::reply(PreviousSource{syncSourceOf(t.before)}));
  t.mem.requested = command.host;
  forgive(t, command.host);
  beginAnew(t);
}

/// Its sources were all too new. It goes on looking for others, so it may be probing one just now.
bool isLost(const FetchTurn& t) {
  const bool looks = t.mem.phase == kTooStale || t.mem.phase == kChoosing || t.mem.phase == kProbing;
  return looks && t.doc.maintenance && t.doc.mission == Mission::kFollow;
}

/// What it had fetched leaves the buffer before the sync begins: nothing writes beside it.
void onResync(FetchTurn& t, const Resync&) {
  if (!isLost(t)) {
    t.effects.push_back(
        F::refuse({ErrorCode::kNotSecondary, "only a member that is too stale to catch up is resynced"}));
    return;
  }
  t.done();
  if (t.mem.phase == kProbing) t.effects.push_back(F::giveUp(Probe{t.mem.source}));
  t.effects.push_back(F::cancel(RetryDue{}));
  enter(t, kNeedsInitialSync);
  t.perform(CloseBuffer{});
  t.perform(NeedInitialSync{});
}

void onDenialOver(FetchTurn& t, const DenialOver& over) {
  t.mem.denied.erase(over.host);
  if (t.mem.phase == kTooStale) t.perform(LookAround{true});
}

void onPatienceOver(FetchTurn& t, const PatienceOver&) { t.mem.isImpatient = t.catchesUp(); }

template <class E>
auto fetchRule(void (*rule)(FetchTurn&, const E&)) {
  return [rule](const Snapshot<F>& now, const E& event) {
    FetchTurn t(now);
    rule(t, event);
    return std::move(t).step();
  };
}

std::vector<machines::Transition<F>> commandRows() {
  const auto wherever = {machines::Target<FetchPhase>(kChoosing), machines::Target<FetchPhase>(kEnding),
                         machines::Target<FetchPhase>(kIdle)};
  std::vector<machines::Transition<F>> rows;
  for (const FetchPhase phase : {kChoosing, kTooStale, kProbing, kFetching})
    rows.push_back(F::row<SetChanged>(phase, {}, fetchRule(onSetChanged)));
  rows.push_back(F::anywhere<Follow>(wherever, fetchRule(onFollow)));
  rows.push_back(F::anywhere<CatchUpTo>(wherever, fetchRule(onCatchUpTo)));
  rows.push_back(F::anywhere<StopFetching>(wherever, fetchRule(onStopFetching)));
  rows.push_back(F::anywhere<SyncFrom>(wherever, fetchRule(onSyncFrom)));
  rows.push_back(F::anywhere<Resync>({kNeedsInitialSync}, fetchRule(onResync)));
  rows.push_back(F::anywhere<DenialOver>({}, fetchRule(onDenialOver)));
  rows.push_back(F::anywhere<PatienceOver>({}, fetchRule(onPatienceOver)));
  return rows;
}

}  // namespace

const machines::Transitions<Fetching>& Fetching::transitions() {
  static const machines::Transitions<Fetching> table = [] {
    std::vector<machines::Transition<F>> rows = commandRows();
    rows.push_back(row<Candidates>(kChoosing, {kProbing, kTooStale}, fetchRule(onCandidates)));
    rows.push_back(row<Candidates>(kTooStale, {kProbing, kChoosing}, fetchRule(onCandidates)));
    rows.push_back(row<Candidates>(kProbing, {kChoosing}, fetchRule(onCandidatesWhileProbing)));
    rows.push_back(row<Candidates>(kFetching, {kEnding}, fetchRule(onCandidatesWhileFetching)));
    rows.push_back(row<RetryDue>(kChoosing, {}, fetchRule(onRetryDue)));
    rows.push_back(row<Probed>(kProbing, {kFetching, kChoosing, kDiverged, kNeedsInitialSync}, fetchRule(onProbed)));
    rows.push_back(row<ProbeFailed>(kProbing, {kChoosing}, fetchRule(onProbeFailed)));
    rows.push_back(row<FetchEnded>(kFetching, {kChoosing, kDiverged}, fetchRule(onFetchEnded)));
    rows.push_back(row<ProbeOverdue>(kProbing, {kChoosing}, fetchRule(onProbeOverdue)));
    rows.push_back(row<SourceSilent>(kFetching, {kEnding}, fetchRule(onSourceSilent)));
    rows.push_back(row<FetchIsOver>(kEnding, {kChoosing, kIdle}, fetchRule(onFetchIsOver)));
    rows.push_back(row<RollbackEnded>(kDiverged, {kChoosing, kIdle}, fetchRule(onRollbackEnded)));
    rows.push_back(row<InitialSyncEnded>(kNeedsInitialSync, {kChoosing, kIdle}, fetchRule(onInitialSyncEnded)));
    rows.push_back(row<InitialSyncGivenUp>(kNeedsInitialSync, {kChoosing, kIdle}, fetchRule(onInitialSyncGivenUp)));
    return machines::Transitions<Fetching>(std::move(rows));
  }();
  return table;
}

/// The buffer outlives a crash that came between the order to stop and its closing.
Step<Fetching> Fetching::resume(const Document& document) {
  const Snapshot<Fetching> found{document, {}};
  FetchTurn t(found);
  if (document.mission == Mission::kNothing) t.perform(CloseBuffer{});
  beginPatience(t);
  goOn(t);
  return std::move(t).step();
}

/// A source whose probe succeeded had all that this member has, which has got the rest from it.
std::string whyToChange(const Snapshot<Fetching>& now, const Candidates& known) {
  const auto& memory = now.memory;
  const PresentSource source{memory.source, memory.isRequested,
                             memory.phase == kFetching ? std::optional(known.own) : std::nullopt};
  return whyToChangeSource(known, source, deniedHosts(memory), now.document.mission);
}

NodeName syncSourceOf(const Snapshot<Fetching>& now) {
  const Fetching::Phase phase = now.memory.phase;
  return phase == kProbing || phase == kFetching ? now.memory.source : NodeName();
}

bool looksForSource(Fetching::Phase phase) { return phase == kChoosing || phase == kTooStale; }

bool mayPush(Fetching::Phase phase) { return phase == kFetching || phase == kEnding; }

}  // namespace troupe::replication
