#include <algorithm>

#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/session_life.hpp"

namespace troupe::model {

using machines::Snapshot;
using machines::Step;
using sessions::SessionLife;

namespace {

using LifeReal = Mutation<SessionLife>::Decide;
using LifePhase = SessionLife::Phase;
using LifeMemory = SessionLife::Memory;

Model family() { return sessionFamily(parentAndChild()); }
Model twoTerms() {
  return sessionFamily(
      {.operations = {{.terms = {1, 2}}, {.number = 1, .terms = {1, 2}}}, .kills = 0, .edits = 0, .reaps = 0});
}
Model twoAndAKill() {
  return sessionFamily({.operations = {{.number = 1}, {.number = 2}}, .kills = 1, .edits = 0, .reaps = 0});
}
Model olderNumber() {
  return sessionFamily({.operations = {{.number = 2}, {.number = 1}}, .kills = 0, .edits = 0, .reaps = 0});
}

template <class E>
using ChangeOfLife = Step<SessionLife> (*)(const LifeReal&, const Snapshot<SessionLife>&, const E&);

template <class E>
std::function<std::shared_ptr<void>()> onLife(ChangeOfLife<E> change) {
  return [change] { return planted(Mutation<SessionLife>::template on<E>(change)); };
}

/// The machine's decision with another memory, which `change(before, after, event)` makes of the right one.
template <class E, auto change>
std::function<std::shared_ptr<void>()> remembering() {
  return onLife<E>([](const LifeReal& real, const Snapshot<SessionLife>& now, const E& e) {
    Step<SessionLife> step = real(now, e);
    change(now.memory, *step.memory, e);
    return step;
  });
}

using sessions::CheckedIn;
using sessions::GaveUp;
using sessions::HistoryRead;
using sessions::HistoryWanted;
using sessions::Invalidated;
using sessions::Killed;
using sessions::NumberBegun;
using sessions::ReapWanted;

void wakesNobody(const LifeMemory& before, LifeMemory& after, const CheckedIn&) {
  if (before.waiters.empty()) return;
  after.phase = LifePhase::kFree;
  after.holder = {};
  after.waiters = before.waiters;
}
void keepsItsPlaceInTheQueue(const LifeMemory& before, LifeMemory& after, const CheckedIn&) {
  after.waiters = before.waiters;
}
Step<SessionLife> passesOnToTheLast(const LifeReal& real, const Snapshot<SessionLife>& now, const CheckedIn& e) {
  Snapshot<SessionLife> turned = now;
  std::ranges::reverse(turned.memory.waiters);
  return real(turned, e);
}
void leavesTheOperationAlone(const LifeMemory& before, LifeMemory& after, const Killed&) { after.phase = before.phase; }
void keepsTheWaiters(const LifeMemory& before, LifeMemory& after, const Killed&) { after.waiters = before.waiters; }
void forgetsThatItServed(const LifeMemory& before, LifeMemory& after, const CheckedIn&) { after.kills = before.kills; }
void overlooksTheOperation(const LifeMemory& before, LifeMemory& after, const Invalidated&) {
  after.phase = before.phase;
}

/// What was known once is taken for known for ever.
Step<SessionLife> takesAnyHistory(const LifeReal& real, const Snapshot<SessionLife>& now, const HistoryWanted& e) {
  Step<SessionLife> step = real(now, e);
  for (const auto& member : now.memory.members) {
    if (member.child != now.memory.holder.child || !member.isKnown || !step.memory->holder.term) continue;
    for (auto& changed : step.memory->members)
      if (changed.child == member.child) changed = member;
    step.memory->holder.usesHistory = true;
    step.effects = {SessionLife::perform(sessions::UseHistory{e.operation})};
  }
  return step;
}

/// It notes what it has read as of the time at which it had read it.
Step<SessionLife> notesTheLaterTime(const LifeReal&, const Snapshot<SessionLife>& now, const HistoryRead& e) {
  LifeMemory memory = now.memory;
  for (auto& member : memory.members) {
    if (member.child != memory.holder.child) continue;
    member.isKnown = memory.holder.usesHistory = true;
    member.term = memory.holder.term;
    member.edits = memory.edits;
  }
  return SessionLife::stay().remembering(memory).then(SessionLife::perform(sessions::UseHistory{e.operation}));
}

Step<SessionLife> beginsAnyNumber(const LifeReal& real, const Snapshot<SessionLife>& now, const NumberBegun& e) {
  if (e.number >= now.memory.number) return real(now, e);
  LifeMemory memory = now.memory;
  memory.holder.number = e.number;
  return SessionLife::stay().remembering(memory).then(SessionLife::perform(sessions::BeginNumber{e.operation}));
}

void keepsOldChildren(const LifeMemory& before, LifeMemory& after, const NumberBegun&) {
  after.members = before.members;
}

Step<SessionLife> reapsWhatIsInUse(const LifeReal& real, const Snapshot<SessionLife>& now,
                                   const sessions::CheckOutWanted& e) {
  Step<SessionLife> step = real(now, e);
  if (now.memory.phase != LifePhase::kFree) step.memory->phase = LifePhase::kReaped;
  return step;
}

Step<SessionLife> staysWhereItsOperationWent(const LifeReal& real, const Snapshot<SessionLife>& now, const GaveUp& e) {
  return e.operation == now.memory.holder.operation ? SessionLife::stay() : real(now, e);
}

Step<SessionLife> endsInSilence(const LifeReal& real, const Snapshot<SessionLife>& now, const CheckedIn& e) {
  return now.memory.phase == LifePhase::kEnding ? SessionLife::stay() : real(now, e);
}

}  // namespace

std::vector<Mutant> sessionLifeMutants() {
  return {
      {"sessions", "a check-in wakes nobody", "wait for a session that nobody has", family,
       remembering<CheckedIn, wakesNobody>()},
      {"sessions", "a session is reaped while operations use it", "while an operation has it", family,
       onLife<sessions::CheckOutWanted>(reapsWhatIsInUse)},
      {"sessions", "an operation that was given the session stays in the queue", "waits for the session that it has",
       family, remembering<CheckedIn, keepsItsPlaceInTheQueue>()},
      {"sessions", "the last to come is the first to go", "is passed over", family,
       onLife<CheckedIn>(passesOnToTheLast)},
      {"sessions", "a kill leaves the operation alone", "after its session was killed", family,
       remembering<Killed, leavesTheOperationAlone>()},
      {"sessions", "a kill is not counted as served", "a kill is served by nobody", family,
       remembering<CheckedIn, forgetsThatItServed>()},
      {"sessions", "a kill leaves the queue alone", "a kill leaves operations that wait", family,
       remembering<Killed, keepsTheWaiters>()},
      {"sessions", "an edit leaves the operation alone", "although its history has changed", family,
       remembering<Invalidated, overlooksTheOperation>()},
      {"sessions", "what is known is not compared with the term", "the history of another time", twoTerms,
       onLife<HistoryWanted>(takesAnyHistory)},
      {"sessions", "what was read counts from the end of the reading", "the history of another time", family,
       onLife<HistoryRead>(notesTheLaterTime)},
      {"sessions", "an older number begins", "with a number that is over", olderNumber,
       onLife<NumberBegun>(beginsAnyNumber)},
      {"sessions", "children are kept when their number is over", "outlives the number", family,
       remembering<NumberBegun, keepsOldChildren>()},
      {"sessions", "an operation that goes keeps the session", "no way to", twoAndAKill,
       onLife<GaveUp>(staysWhereItsOperationWent)},
      {"sessions", "a killed operation keeps the session", "no way to", twoAndAKill, onLife<CheckedIn>(endsInSilence)},
  };
}

}  // namespace troupe::model
