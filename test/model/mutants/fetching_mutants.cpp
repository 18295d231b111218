#include <utility>

#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/fetching.hpp"

namespace troupe::model {

using namespace replication;

namespace {

using FetchBug = Mutation<Fetching>;
using FetchReal = FetchBug::Decide;
using FetchNow = Snapshot<Fetching>;
using FetchStep = Step<Fetching>;
using FetchPhase = Fetching::Phase;

template <class E>
std::function<std::shared_ptr<void>()> wrongly(FetchStep (*change)(const FetchReal&, const FetchNow&, const E&)) {
  return [change] { return planted(FetchBug::on<E>(change)); };
}

Model follower() { return fetchingOf({}); }
Model followerThatIsToldNothing() { return fetchingOf({.commands = false}); }
Model newPrimary() { return fetchingOf({.mission = Mission::kCatchUp}); }

/// Decides as if that field of its memory had that value.
template <class E, class Field>
FetchStep pretending(Field Fetching::Memory::*field, Field value, const FetchReal& real, const FetchNow& now,
                     const E& e) {
  FetchNow changed = now;
  changed.memory.*field = std::move(value);
  FetchStep step = real(changed, e);
  if (step.memory) (*step.memory).*field = now.memory.*field;
  return step;
}

FetchStep forgetsDenial(const FetchReal& real, const FetchNow& now, const Candidates& e) {
  return pretending(&Fetching::Memory::denied, {}, real, now, e);
}

FetchStep forgivesInACatchUp(const FetchReal& real, const FetchNow& now, const Candidates& e) {
  return pretending(&Fetching::Memory::left, {}, real, now, e);
}

FetchStep leavesTheLastResort(const FetchReal& real, const FetchNow& now, const ProbeOverdue& e) {
  return pretending(&Fetching::Memory::lastResort, {}, real, now, e);
}

FetchStep hasNoPatience(const FetchReal& real, const FetchNow& now, const Candidates& e) {
  return pretending(&Fetching::Memory::isImpatient, true, real, now, e);
}

/// As a follower does.
FetchStep deniesForAWhileInACatchUp(const FetchReal& real, const FetchNow& now, const SourceSilent& e) {
  FetchStep step = real(now, e);
  if (!step.memory) return step;
  step.memory->denied.merge(step.memory->left);
  for (const auto& [host, why] : step.memory->denied)
    step.effects.push_back(Fetching::after(Fetching::denialOf(why), DenialOver{host}));
  return step;
}

FetchStep goesOnThoughStopped(const FetchReal& real, const FetchNow& now, const StopFetching& e) {
  FetchStep step = real(now, e);
  step.memory.reset();
  return step;
}

FetchStep overlooksTheOldestEntry(const FetchReal& real, const FetchNow& now, const Probed& e) {
  Probed older = e;
  older.oldest = {};
  FetchStep step = real(now, older);
  if (step.memory && step.memory->phase == FetchPhase::kFetching) step.memory->oldest = e.oldest;
  return step;
}

/// The next fetch begins while this one is still to end.
template <class E>
FetchStep changesAtOnce(const FetchReal& real, const FetchNow& now, const E& e) {
  FetchStep step = real(now, e);
  if (step.memory && step.memory->phase == FetchPhase::kEnding) {
    step.memory->phase = FetchPhase::kChoosing;
    step.effects.push_back(Fetching::perform(LookAround{}));
  }
  return step;
}

FetchStep seesItself(const FetchReal& real, const FetchNow& now, const Candidates& e) {
  Candidates known = e;
  if (!e.members.empty()) {
    known.members.push_back(e.members.front());
    known.members.back().host = now.document.self;
    known.members.back().ping = Millis(0);
  }
  return real(now, known);
}

/// Rolls back whoever it is.
FetchStep rollsBackAsPrimary(const FetchReal& real, const FetchNow& now, const FetchEnded& e) {
  FetchNow secondary = now;
  secondary.document.mission = Mission::kFollow;
  return real(secondary, e);
}

FetchStep staysInMaintenance(const FetchReal& real, const FetchNow& now, const Probed& e) {
  FetchNow unaware = now;
  unaware.document.maintenance = false;
  return real(unaware, e);
}

FetchStep tooStaleInSilence(const FetchReal& real, const FetchNow& now, const Candidates& e) {
  FetchStep step = real(now, e);
  step.document.reset();
  return step;
}

FetchStep triesOnceMore(const FetchReal& real, const FetchNow& now, const FetchEnded& e) {
  if (now.memory.restarts < Fetching::kMostRestarts) return real(now, e);
  FetchNow counting = now;
  counting.memory.restarts = 0;
  FetchStep step = real(counting, e);
  if (step.memory && step.memory->restarts > 0) step.memory->restarts = now.memory.restarts + 1;
  return step;
}

FetchStep remembersTheRequest(const FetchReal& real, const FetchNow& now, const Candidates& e) {
  FetchStep step = real(now, e);
  if (step.memory) step.memory->requested = now.memory.requested;
  return step;
}

FetchStep neverLooksAgain(const FetchReal&, const FetchNow&, const RetryDue&) { return Fetching::stay(); }
FetchStep deniesForEver(const FetchReal&, const FetchNow&, const DenialOver&) { return Fetching::stay(); }
FetchStep staysRolledBack(const FetchReal&, const FetchNow&, const RollbackEnded&) { return Fetching::stay(); }

FetchStep isPatientForEver(const FetchReal&, const FetchNow&, const PatienceOver&) { return Fetching::stay(); }
FetchStep awaitsTheSilent(const FetchReal&, const FetchNow&, const SourceSilent&) { return Fetching::stay(); }

FetchStep forgetsWhatItWasFor(const FetchReal& real, const FetchNow& now, const Follow& e) {
  FetchStep step = real(now, e);
  step.document.reset();
  return step;
}

}  // namespace

std::vector<Mutant> fetchingMutants() {
  constexpr const char* kStuck = "no way to: it follows the primary";
  return {
      {"fetching", "a denial is forgotten when a source is chosen", "a source is asked that was denied", follower,
       wrongly(forgetsDenial)},
      {"fetching", "a catch-up forgets whom it has left", "asked again that was left", newPrimary,
       wrongly(forgivesInACatchUp)},
      {"fetching", "a catch-up denies a silent source for a while", "come back to a source that did more than fail",
       catchUpFromSilentSources, wrongly(deniesForAWhileInACatchUp)},
      {"fetching", "a catch-up ends when its source fails", "to be asked again that failed a moment ago",
       catchUpFromFailingSources, wrongly(hasNoPatience)},
      {"fetching", "a catch-up has patience for ever", "no way to: the catch-up ends", catchUpFromFailingSources,
       wrongly(isPatientForEver)},
      {"fetching", "the only source is left for being slow", "a slow source is left", followerThatIsToldNothing,
       wrongly(leavesTheLastResort)},
      {"fetching", "a fetch goes on after a stop", "though it was told to stop", follower,
       wrongly(goesOnThoughStopped)},
      {"fetching", "the begin of the source's log is not looked at", "a log that begins behind", follower,
       wrongly(overlooksTheOldestEntry)},
      {"fetching", "the source is changed before the fetch has ended", "a fetch is under way that nobody waits for",
       follower, wrongly<SyncFrom>(changesAtOnce)},
      {"fetching", "a silent source is left before the fetch has ended", "a fetch is under way that nobody waits for",
       follower, wrongly<SourceSilent>(changesAtOnce)},
      {"fetching", "a member is a source of itself", "it fetches from itself", follower, wrongly(seesItself)},
      {"fetching", "a new primary rolls back", "a new primary rolls back", newPrimary, wrongly(rollsBackAsPrimary)},
      {"fetching", "maintenance outlives its reason", "while it is in maintenance", follower,
       wrongly(staysInMaintenance)},
      {"fetching", "a member is too stale and serves reads", "clients may still read it", follower,
       wrongly(tooStaleInSilence)},
      {"fetching", "a cursor is opened once too often", "more than three times", follower, wrongly(triesOnceMore)},
      {"fetching", "an operator's choice is not used up", "kept for another time", follower,
       wrongly(remembersTheRequest)},
      {"fetching", "without a source it never looks again", kStuck, followerThatIsToldNothing,
       wrongly(neverLooksAgain)},
      {"fetching", "a denial never ends", kStuck, followerThatIsToldNothing, wrongly(deniesForEver)},
      {"fetching", "nothing follows a rollback", kStuck, followerThatIsToldNothing, wrongly(staysRolledBack)},
      {"fetching", "a new primary waits for a silent source", "no way to: the catch-up ends", catchUpFromSilentSources,
       wrongly(awaitsTheSilent)},
      {"fetching", "a member that follows again does not remember it", "though it was told to stop", follower,
       wrongly(forgetsWhatItWasFor)},
  };
}

}  // namespace troupe::model
