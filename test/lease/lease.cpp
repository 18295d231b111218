#include "test/lease/lease.hpp"

#include <algorithm>
#include <map>

namespace troupe::lease {

const Transitions<Handoff>& Handoff::transitions() {
  static const Transitions<Handoff> table{
      row<Accepted>(Phase::kOffering, {Phase::kDraining},
                    [](const Document& d, const Accepted&) {
                      return to(Phase::kDraining, Durability::kMajority).then(ask(d.from, Drain{d.lease, d.epoch}));
                    }),
      row<Declined>(
          Phase::kOffering, {machines::kEnd},
          [](const Document&, const Declined&) { return finish(Status(ErrorCode::kIllegalOperation, "declined")); }),
      row<Drained>(Phase::kDraining, {Phase::kGranting},
                   [](const Document& d, const Drained&) {
                     return to(Phase::kGranting, Durability::kMajority).then(ask(d.to, Grant{d.lease, d.epoch}));
                   }),
      row<Taken>(Phase::kGranting, {machines::kEnd}, [](const Document&, const Taken&) { return finish(); })};
  return table;
}

Step<Handoff> Handoff::resume(const Document& d) {
  switch (d.phase) {
    case Phase::kOffering: return stay().then(ask(d.to, Offer{d.lease, d.epoch}));
    case Phase::kDraining: return stay().then(ask(d.from, Drain{d.lease, d.epoch}));
    case Phase::kGranting: break;
  }
  return stay().then(ask(d.to, Grant{d.lease, d.epoch}));
}

const Transitions<Holder>& Holder::transitions() {
  static const Transitions<Holder> table{
      anywhere<Offer>({},
                      [](const Document& d, const Offer& e) -> Step<Holder> {
                        if (e.epoch >= d.epoch && d.phase == Phase::kFree) return stay().then(reply(Accepted{}));
                        return stay().then(reply(Declined{}));
                      }),
      // Asked again and again while it finishes its work.
      anywhere<Drain>({Phase::kDraining},
                      [](const Document& d, const Drain& e) -> Step<Holder> {
                        // A later hand-off has overtaken this one: nothing is left to drain, and its grant will be too
                        // late.
                        if (e.epoch < d.epoch) return stay().then(reply(Drained{}));
                        if (d.phase == Phase::kDraining) return stay();
                        Document changed = d;
                        changed.epoch = e.epoch;
                        if (d.phase == Phase::kFree)
                          return stay(Durability::kMajority).with(changed).then(reply(Drained{}));
                        return to(Phase::kDraining).with(changed).then(perform(FinishWork{}));
                      }),
      row<WorkDone>(Phase::kDraining, {Phase::kFree},
                    [](const Document&, const WorkDone&) { return to(Phase::kFree, Durability::kMajority); }),
      anywhere<Grant>({Phase::kHolding}, [](const Document& d, const Grant& e) -> Step<Holder> {
        if (e.epoch <= d.epoch) return stay().then(reply(Taken{}));
        Document changed = d;
        changed.epoch = e.epoch;
        return to(Phase::kHolding, Durability::kMajority).with(changed).then(reply(Taken{}));
      })};
  return table;
}

std::vector<Invariant> Holder::invariants() {
  return {machines::never(kTwoUsers, [](const machines::World& world) {
    std::map<std::string, int> users;
    world.each<Holder>([&](const NodeName&, bool, const auto& h) {
      users[h.document.id] += h.document.phase != Phase::kFree ? 1 : 0;
    });
    return std::any_of(users.begin(), users.end(), [](const auto& lease) { return lease.second > 1; });
  })};
}

}  // namespace troupe::lease
