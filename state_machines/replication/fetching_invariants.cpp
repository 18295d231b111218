#include <algorithm>

#include "state_machines/replication/fetching.hpp"

namespace troupe::replication {

namespace {

using enum Fetching::Phase;
using F = Fetching;

bool anyFetcher(const machines::World& world, bool (*condition)(const F::Document&, const F::Memory&)) {
  bool found = false;
  world.each<F>([&](const NodeName&, bool alive, const Snapshot<F>& member) {
    found |= alive && condition(member.document, member.memory);
  });
  return found;
}

}  // namespace

std::vector<machines::Invariant> Fetching::invariants() {
  using machines::never;
  using World = machines::World;
  using D = const Document&;
  using M = const Memory&;
  return {
      never("a source is asked that was denied",
            [](const World& w) {
              return anyFetcher(w, [](D, M m) {
                return (m.phase == kProbing || m.phase == kFetching) && m.denied.contains(m.source);
              });
            }),
      never("in one catch-up a source is asked again that was left",
            [](const World& w) {
              return anyFetcher(
                  w, [](D, M m) { return (m.phase == kProbing || m.phase == kFetching) && m.left.contains(m.source); });
            }),
      never("a catch-up is to come back to a source that did more than fail",
            [](const World& w) {
              return anyFetcher(w, [](D d, M m) {
                return d.mission == Mission::kCatchUp && std::ranges::any_of(m.denied, [](const auto& denied) {
                         return denied.second != Denial::kFailed;
                       });
              });
            }),
      never("a catch-up ends while a source is to be asked again that failed a moment ago",
            [](const World& w) {
              return anyFetcher(w, [](D d, M m) {
                return d.mission == Mission::kCatchUp && m.fruitless == kFruitlessLooks && !m.isImpatient &&
                       !m.denied.empty();
              });
            }),
      never("a slow source is left for its silence though there is no other",
            [](const World& w) {
              return anyFetcher(w, [](D, M m) {
                const auto denied = m.denied.find(m.lastResort);
                return denied != m.denied.end() && denied->second == Denial::kSilent;
              });
            }),
      never("it looks for a source or fetches though it was told to stop",
            [](const World& w) {
              return anyFetcher(w, [](D d, M m) {
                return d.mission == Mission::kNothing &&
                       (m.phase == kChoosing || m.phase == kProbing || m.phase == kFetching || m.phase == kTooStale);
              });
            }),
      never("it fetches from a log that begins behind its own newest entry",
            [](const World& w) {
              return anyFetcher(w,
                                [](D, M m) { return m.phase == kFetching && m.own != OpTime() && m.oldest > m.own; });
            }),
      never("a fetch is under way that nobody waits for",
            [](const World& w) { return anyFetcher(w, [](D, M m) { return m.isPulling != mayPush(m.phase); }); }),
      never("it fetches from itself",
            [](const World& w) {
              return anyFetcher(w, [](D d, M m) { return m.phase == kFetching && m.source == d.self; });
            }),
      never("a new primary rolls back, or waits to copy a member",
            [](const World& w) {
              return anyFetcher(w, [](D d, M m) {
                return d.mission == Mission::kCatchUp &&
                       (m.phase == kDiverged || m.phase == kNeedsInitialSync || m.phase == kTooStale);
              });
            }),
      never(
          "it fetches while it is in maintenance for want of a source",
          [](const World& w) { return anyFetcher(w, [](D d, M m) { return d.maintenance && m.phase == kFetching; }); }),
      never("it is too stale, and clients may still read it",
            [](const World& w) {
              return anyFetcher(w, [](D d, M m) { return m.phase == kTooStale && !d.maintenance; });
            }),
      never("a broken cursor is opened again more than three times",
            [](const World& w) { return anyFetcher(w, [](D, M m) { return m.restarts > kMostRestarts; }); }),
      never("an operator's choice is kept for another time",
            [](const World& w) {
              return anyFetcher(
                  w, [](D, M m) { return (m.phase == kProbing || m.phase == kFetching) && !m.requested.empty(); });
            }),
  };
}

}  // namespace troupe::replication
