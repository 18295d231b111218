#include "state_machines/sessions/session_life.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace troupe::sessions {

namespace {

using LifePhase = SessionLife::Phase;
using Life = SessionLife::Memory;
using Actions = SessionLife::Actions;
using Member = SessionLife::Member;
using Waiter = SessionLife::Waiter;

bool isRetryable(const Member& member) { return member.retryOf != kNoNumber; }

auto memberOf(Life& life, const std::string& child) { return std::ranges::find(life.members, child, &Member::child); }

/// The session is used: it is the last in the list, and where there are too many children the one unused for longest
/// leaves it.
void touch(Life& life, const std::string& child, int64_t retryOf, Actions& actions) {
  const auto found = memberOf(life, child);
  if (found != life.members.end()) {
    std::rotate(found, found + 1, life.members.end());
    return;
  }
  life.members.push_back({.child = child, .retryOf = retryOf});
  const bool hasParent = std::ranges::any_of(life.members, &std::string::empty, &Member::child);
  if (life.members.size() - (hasParent ? 1 : 0) <= SessionLife::kMostChildren) return;
  const auto oldest = std::ranges::find_if(life.members, [](const Member& m) { return !m.child.empty(); });
  actions.push_back(Forget{oldest->child});
  life.members.erase(oldest);
}

void grant(Life& life, Waiter next, int64_t now, Actions& actions) {
  life.phase = LifePhase::kTaken;
  life.lastUse = std::max(life.lastUse, now);
  touch(life, next.child, next.retryOf, actions);
  actions.push_back(Grant{next.operation});
  life.holder = {
      .operation = next.operation, .child = std::move(next.child), .retryOf = next.retryOf, .place = next.place};
}

void passOn(Life& life, int64_t now, Actions& actions) {
  life.holder = {};
  life.phase = LifePhase::kFree;
  if (life.waiters.empty()) return;
  Waiter next = std::move(life.waiters.front());
  life.waiters.erase(life.waiters.begin());
  grant(life, std::move(next), now, actions);
}

void forget(Life& life, const std::string& child, Actions& actions) {
  const auto member = memberOf(life, child);
  if (member == life.members.end()) return;
  member->isKnown = false;
  actions.push_back(Forget{child});
}

void forgetAll(Life& life, Actions& actions) {
  for (Member& member : life.members) {
    if (!std::exchange(member.isKnown, false)) continue;
    actions.push_back(Forget{member.child});
  }
}

/// What the operation that was told to end has read meanwhile is no knowledge either.
void serveKills(Life& life, Actions& actions) {
  life.kills = 0;
  forget(life, life.holder.child, actions);
  forgetAll(life, actions);
}

void leave(Life& life, int64_t now, Actions& actions) {
  if (life.phase == LifePhase::kEnding) serveKills(life, actions);
  passOn(life, now, actions);
}

void endHolder(Life& life, Actions& actions) {
  life.phase = LifePhase::kEnding;
  actions.push_back(EndOperation{life.holder.operation});
}

/// From now on nothing that was read before holds, neither what was done nor which number is the highest.
void noteEdit(Life& life) {
  ++life.edits;
  life.number = kNoNumber;
}

/// The children of older retryable writes are over: nobody may come with their numbers any more. Of very many the
/// periodic reaping removes the records.
void dropOlderChildren(Life& life, Actions& actions) {
  const auto isOver = [&](const Member& member) { return isRetryable(member) && member.retryOf < life.number; };
  for (const Member& member : life.members) {
    if (!isOver(member)) continue;
    actions.push_back(Forget{member.child});
    // One that came late, and was refused, is there already.
    if (std::ranges::find(life.over, member.child, &Member::child) == life.over.end())
      life.over.push_back({.child = member.child, .retryOf = member.retryOf});
  }
  std::erase_if(life.members, isOver);
  if (life.over.size() <= SessionLife::kMostChildren) return;
  life.over.erase(life.over.begin(), life.over.end() - SessionLife::kMostChildren);
}

/// That number has a record. Before there is one, only those of the children say that their numbers are over, to who
/// reads them in a later term or when the family was forgotten.
void reapBelow(Life& life, int64_t recorded, Actions& actions) {
  const auto mayGo = [&](const Member& member) { return member.retryOf < recorded; };
  for (const Member& member : life.over)
    if (mayGo(member)) actions.push_back(ReapRecords{member.child});
  std::erase_if(life.over, mayGo);
}

}  // namespace

Actions SessionLife::on(Memory& life, const CheckOutWanted& wish) {
  Actions actions;
  if (life.phase == Phase::kReaped) return actions;
  Waiter waiter{wish.operation, wish.child, wish.retryOf, life.arrivals++};
  if (life.phase == Phase::kFree) grant(life, std::move(waiter), wish.now, actions);
  else life.waiters.push_back(std::move(waiter));
  return actions;
}

Actions SessionLife::on(Memory& life, const HistoryWanted& wish) {
  Actions actions;
  if (wish.operation != life.holder.operation) return actions;
  if (life.phase == Phase::kEnding || wish.term < life.term) {
    endHolder(life, actions);
    return actions;
  }
  if (wish.term > life.term) {  // meanwhile another member may have been the primary
    life.term = wish.term;
    life.number = kNoNumber;
    life.over.clear();
  }
  life.holder.term = wish.term;
  life.holder.edits = life.edits;
  Member& member = *memberOf(life, life.holder.child);
  member.isKnown = member.isKnown && member.term == wish.term && member.edits == life.edits;
  life.holder.usesHistory = member.isKnown;
  if (member.isKnown) actions.push_back(UseHistory{wish.operation});
  else actions.push_back(ReadHistory{wish.operation});
  return actions;
}

/// What was read holds as of the time at which reading began.
Actions SessionLife::on(Memory& life, const HistoryRead& done) {
  Actions actions;
  if (done.operation != life.holder.operation || life.holder.term == 0) return actions;
  if (life.phase == Phase::kEnding) {
    endHolder(life, actions);
    return actions;
  }
  Member& member = *memberOf(life, life.holder.child);
  member.isKnown = life.holder.usesHistory = true;
  member.term = life.holder.term;
  member.edits = life.holder.edits;
  actions.push_back(UseHistory{done.operation});
  return actions;
}

Actions SessionLife::on(Memory& life, const NumberBegun& begun) {
  Actions actions;
  if (begun.operation != life.holder.operation) return actions;
  if (life.phase == Phase::kEnding) {
    endHolder(life, actions);
    return actions;
  }
  life.number = std::max(life.number, begun.recorded);
  if (begun.number < life.number) {
    actions.push_back(RefuseNumber{begun.operation});
    return actions;
  }
  life.number = life.holder.number = begun.number;
  if (std::exchange(life.lastNumber, begun.number) != begun.number) life.lastStatement = kNoStatement;
  dropOlderChildren(life, actions);
  reapBelow(life, begun.recorded, actions);
  actions.push_back(BeginNumber{begun.operation});
  return actions;
}

/// An operation without a number leaves the last number, and its statement, as they are.
Actions SessionLife::on(Memory& life, const CheckedIn& end) {
  Actions actions;
  if (end.operation != life.holder.operation) return actions;
  const bool isParents = life.holder.child.empty() && life.holder.number != kNoNumber;
  const bool hasRecord = end.lastStatement != kNoStatement;
  if (isParents && hasRecord) life.lastStatement = end.lastStatement;
  if (hasRecord && life.phase == Phase::kTaken) reapBelow(life, life.holder.number, actions);
  if (end.isLarge) forget(life, life.holder.child, actions);
  leave(life, end.now, actions);
  return actions;
}

/// One that was given the family in the same moment has it.
Actions SessionLife::on(Memory& life, const GaveUp& end) {
  Actions actions;
  if (end.operation == life.holder.operation) leave(life, end.now, actions);
  else std::erase_if(life.waiters, [&](const Waiter& waiter) { return waiter.operation == end.operation; });
  return actions;
}

/// SES-011: every kill ends the operations that wait; only the first tells the one that has the family.
Actions SessionLife::on(Memory& life, const Killed&) {
  Actions actions;
  if (life.phase == Phase::kReaped) return actions;
  noteEdit(life);
  if (life.phase == Phase::kFree) {
    forgetAll(life, actions);
    return actions;
  }
  ++life.kills;
  if (life.phase == Phase::kTaken) endHolder(life, actions);
  for (const Waiter& waiter : life.waiters) actions.push_back(EndWaiter{waiter.operation});
  life.waiters.clear();
  life.endedBefore = life.arrivals;
  return actions;
}

/// Those that wait go on afterwards, with what is read then.
Actions SessionLife::on(Memory& life, const Invalidated&) {
  Actions actions;
  if (life.phase == Phase::kReaped) return actions;
  noteEdit(life);
  if (life.phase == Phase::kFree) forgetAll(life, actions);
  else if (life.phase == Phase::kTaken) endHolder(life, actions);
  return actions;
}

Actions SessionLife::on(Memory& life, const ReapWanted& wish) {
  if (mayBeReaped(life, wish.unusedSince)) life.phase = Phase::kReaped;
  return {};
}

bool mayBeReaped(const SessionLife::Memory& life, int64_t unusedSince) {
  return life.phase == LifePhase::kFree && life.lastUse < unusedSince;
}

namespace {

/// A row whose decision is that of `on`.
template <class E>
machines::Transition<SessionLife> decided(LifePhase from, std::initializer_list<machines::Target<LifePhase>> targets) {
  return SessionLife::row<E>(from, targets, [](const SessionLife::Document&, const Life& now, const E& event) {
    Life next = now;
    const Actions actions = SessionLife::on(next, event);
    std::vector<machines::Effect<SessionLife>> effects;
    for (const auto& action : actions) effects.emplace_back(machines::Do<SessionLife>{action});
    return SessionLife::stay().remembering(std::move(next)).then(std::move(effects));
  });
}

}  // namespace

const machines::Transitions<SessionLife>& SessionLife::transitions() {
  using enum Phase;
  static const machines::Transitions<SessionLife> table{
      decided<CheckOutWanted>(kFree, {kTaken}),
      decided<CheckOutWanted>(kTaken, {}),
      decided<CheckOutWanted>(kEnding, {}),
      decided<HistoryWanted>(kTaken, {kEnding}),
      decided<HistoryWanted>(kEnding, {}),
      decided<HistoryRead>(kTaken, {}),
      decided<HistoryRead>(kEnding, {}),
      decided<NumberBegun>(kTaken, {}),
      decided<NumberBegun>(kEnding, {}),
      decided<CheckedIn>(kTaken, {kFree}),
      decided<CheckedIn>(kEnding, {kFree, kTaken}),
      decided<GaveUp>(kTaken, {kFree}),
      decided<GaveUp>(kEnding, {kFree, kTaken}),
      decided<Killed>(kFree, {}),
      decided<Killed>(kTaken, {kEnding}),
      decided<Killed>(kEnding, {}),
      decided<Invalidated>(kFree, {}),
      decided<Invalidated>(kTaken, {kEnding}),
      decided<Invalidated>(kEnding, {}),
      decided<ReapWanted>(kFree, {kReaped}),
  };
  return table;
}

machines::Step<SessionLife> SessionLife::resume(const Document&) { return stay(); }

namespace {

/// An invariant that is broken by any family of which the condition is true.
template <class Condition>
machines::Invariant neverOf(std::string name, Condition condition) {
  return machines::never(std::move(name), [condition](const machines::World& world) {
    return world.count<SessionLife>([&](const auto& now) { return condition(now.memory); }) > 0;
  });
}

bool isFreeOrReaped(const Life& life) { return life.phase == LifePhase::kFree || life.phase == LifePhase::kReaped; }

bool usesAnotherHistory(const Life& life) {
  const SessionLife::Holder& holder = life.holder;
  return holder.usesHistory && std::ranges::any_of(life.members, [&](const Member& member) {
           return member.child == holder.child && (member.term != holder.term || member.edits != holder.edits);
         });
}

}  // namespace

std::vector<machines::Invariant> SessionLife::invariants() {
  return {
      neverOf("operations wait for a session that nobody has",
              [](const Memory& life) { return isFreeOrReaped(life) && !life.waiters.empty(); }),
      neverOf("a session is forgotten or free while an operation has it",
              [](const Memory& life) { return isFreeOrReaped(life) && life.holder.operation != 0; }),
      neverOf("an operation waits for the session that it has",
              [](const Memory& life) {
                return std::ranges::count(life.waiters, life.holder.operation, &Waiter::operation) > 0;
              }),
      neverOf("an operation is passed over",
              [](const Memory& life) {
                return std::ranges::any_of(life.waiters,
                                           [&](const Waiter& waiter) { return waiter.place < life.holder.place; });
              }),
      neverOf("an operation goes on after its session was killed",
              [](const Memory& life) { return life.phase == Phase::kTaken && life.kills > 0; }),
      neverOf("a kill is served by nobody", [](const Memory& life) { return isFreeOrReaped(life) && life.kills > 0; }),
      neverOf("a kill leaves operations that wait",
              [](const Memory& life) {
                return std::ranges::any_of(life.waiters,
                                           [&](const Waiter& waiter) { return waiter.place < life.endedBefore; });
              }),
      neverOf("an operation goes on although its history has changed",
              [](const Memory& life) {
                return life.phase == Phase::kTaken && life.holder.term != 0 && life.holder.edits != life.edits;
              }),
      neverOf("an operation uses the history of another time", usesAnotherHistory),
      neverOf("an operation goes on with a number that is over",
              [](const Memory& life) {
                return life.phase == Phase::kTaken && life.holder.number != kNoNumber &&
                       life.holder.number < life.number;
              }),
      neverOf("a child outlives the number that it belongs to",
              [](const Memory& life) {
                return life.holder.number != kNoNumber && std::ranges::any_of(life.members, [&](const Member& member) {
                         return isRetryable(member) && member.retryOf < life.holder.number;
                       });
              }),
  };
}

}  // namespace troupe::sessions
