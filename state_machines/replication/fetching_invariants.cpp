#include <algorithm>
#include <string>
#include <utility>

#include "state_machines/replication/fetching.hpp"

namespace troupe::replication {

namespace {

using enum Fetching::Phase;
using F = Fetching;

/// No fetcher of a member that runs is ever like that.
machines::Invariant noFetcher(std::string name, bool (*condition)(const F::Document&, const F::Memory&)) {
  return machines::never(std::move(name), [condition](const machines::World& world) {
    bool found = false;
    world.each<F>([&](const NodeName&, bool alive, const Snapshot<F>& member) {
      found |= alive && condition(member.document, member.memory);
    });
    return found;
  });
}

bool asks(const F::Memory& m) { return m.phase == kProbing || m.phase == kFetching; }

}  // namespace

std::vector<machines::Invariant> Fetching::invariants() {
  using D = const Document&;
  using M = const Memory&;
  return {
      noFetcher("a source is asked that was denied", [](D, M m) { return asks(m) && m.denied.contains(m.source); }),
      noFetcher("in one catch-up a source is asked again that was left",
                [](D, M m) { return asks(m) && m.left.contains(m.source); }),
      noFetcher("a catch-up is to come back to a source that did more than fail",
                [](D d, M m) {
                  const auto didMore = [](const auto& denied) { return denied.second != Denial::kFailed; };
                  return d.mission == Mission::kCatchUp && std::ranges::any_of(m.denied, didMore);
                }),
      noFetcher("a catch-up ends while a source is to be asked again that failed a moment ago",
                [](D d, M m) {
                  return d.mission == Mission::kCatchUp && m.fruitless == kFruitlessLooks && !m.isImpatient &&
                         !m.denied.empty();
                }),
      noFetcher("a slow source is left for its silence though there is no other",
                [](D, M m) {
                  const auto denied = m.denied.find(m.lastResort);
                  return denied != m.denied.end() && denied->second == Denial::kSilent;
                }),
      noFetcher("it looks for a source or fetches though it was told to stop",
                [](D d, M m) {
                  return d.mission == Mission::kNothing && (asks(m) || m.phase == kChoosing || m.phase == kTooStale);
                }),
      noFetcher("it fetches from a log that begins behind its own newest entry",
                [](D, M m) { return m.phase == kFetching && m.own != OpTime() && m.oldest > m.own; }),
      noFetcher("a fetch is under way that nobody waits for", [](D, M m) { return m.isPulling != mayPush(m.phase); }),
      noFetcher("it fetches from itself", [](D d, M m) { return m.phase == kFetching && m.source == d.self; }),
      noFetcher("a new primary rolls back, or waits to copy a member",
                [](D d, M m) {
                  return d.mission == Mission::kCatchUp &&
                         (m.phase == kDiverged || m.phase == kNeedsInitialSync || m.phase == kTooStale);
                }),
      noFetcher("it fetches while it is in maintenance for want of a source",
                [](D d, M m) { return d.maintenance && m.phase == kFetching; }),
      noFetcher("it is too stale, and clients may still read it",
                [](D d, M m) { return m.phase == kTooStale && !d.maintenance; }),
      noFetcher("a broken cursor is opened again more than three times",
                [](D, M m) { return m.restarts > kMostRestarts; }),
      noFetcher("an operator's choice is kept for another time",
                [](D, M m) { return asks(m) && !m.requested.empty(); }),
  };
}

}  // namespace troupe::replication
