#pragma once
#include <gtest/gtest.h>

#include <optional>

#include "state_machines/replication/fetching.hpp"

/// What the tests of the machine Fetching are written with.
namespace troupe::replication::fetching_test {

using FetchPhase = Fetching::Phase;
using Fetcher = machines::Snapshot<Fetching>;
using FetchOutcome = machines::Outcome<Fetching>;

inline OpTime entryAt(uint32_t seconds, int64_t term = 1) { return {term, {seconds, 1}}; }

inline FetchOutcome after(const Fetcher& now, const Fetching::Event& event) {
  return machines::advance<Fetching>(now, event);
}

/// This member has entries up to second 100; "p" leads and has more, "s" is a nearer secondary with more.
inline Candidates around() {
  Candidates known;
  known.own = entryAt(100);
  for (const char* host : {"p", "s"}) {
    SourceCandidate candidate;
    candidate.host = host;
    candidate.state = MemberState::kSecondary;
    candidate.applied = entryAt(120);
    candidate.ping = Millis(known.members.empty() ? 50 : 5);
    known.members.push_back(candidate);
  }
  known.members[0].state = MemberState::kPrimary;
  known.primary = "p";
  return known;
}

/// The same when this member has been elected: it names itself, and p is a secondary again.
inline Candidates aroundANewPrimary() {
  Candidates known = around();
  known.members[0].state = MemberState::kSecondary;
  known.primary = known.name = "me";
  return known;
}

inline Probed healthy(const NodeName& source) { return {source, entryAt(1), entryAt(120), 7}; }

inline Fetcher stopped() { return {{.self = "me"}, {}}; }
inline Fetcher choosing() { return after(stopped(), Follow{}).next; }
inline Fetcher probing() { return after(choosing(), around()).next; }
inline Fetcher fetching() { return after(probing(), healthy("s")).next; }
inline Fetcher catchingUp() {
  return after(after(after(stopped(), CatchUpTo{entryAt(120)}).next, aroundANewPrimary()).next, healthy("s")).next;
}

/// Its probe is overdue, looked at twice.
inline FetchOutcome unanswered(const Fetcher& now) { return after(after(now, ProbeOverdue{}).next, ProbeOverdue{}); }

inline FetchEnded ended(FetchEnd how, bool progressed = false) { return {"s", how, progressed, "because"}; }

inline FetchPhase phase(const FetchOutcome& out) { return out.next.memory.phase; }

template <class A>
std::optional<A> performed(const FetchOutcome& out) {
  for (const auto& effect : out.effects)
    if (const auto* todo = std::get_if<machines::Do<Fetching>>(&effect))
      if (const A* action = std::get_if<A>(&todo->action)) return *action;
  return std::nullopt;
}
template <class A>
bool gaveUp(const FetchOutcome& out) {
  for (const auto& effect : out.effects)
    if (const auto* given = std::get_if<machines::Cancel<Fetching>>(&effect))
      if (std::holds_alternative<A>(given->action)) return true;
  return false;
}
template <class E>
std::optional<machines::Arm<Fetching>> timer(const FetchOutcome& out) {
  for (const auto& effect : out.effects)
    if (const auto* arm = std::get_if<machines::Arm<Fetching>>(&effect))
      if (std::holds_alternative<E>(arm->event)) return *arm;
  return std::nullopt;
}
inline std::optional<Status> refusedWith(const FetchOutcome& out) {
  for (const auto& effect : out.effects)
    if (const auto* refuse = std::get_if<machines::Refuse>(&effect)) return refuse->why;
  return std::nullopt;
}

}  // namespace troupe::replication::fetching_test
