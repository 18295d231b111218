#include "test/model/subjects/lease.hpp"

namespace troupe::model::lease {

const Transitions<Handoff>& Handoff::transitions() {
  static const Transitions<Handoff> table{
      row<Accepted>(Phase::kOffering, {Phase::kDraining},
                    [](const Document& d, const Accepted&) {
                      return to(Phase::kDraining, Durability::kMajority).then(ask(d.from, Drain{d.epoch}));
                    }),
      row<Declined>(Phase::kOffering, {machines::kEnd},
                    [](const Document&, const Declined&) { return finish(Status(ErrorCode::kIllegalOperation, "declined")); }),
      row<Drained>(Phase::kDraining, {Phase::kGranting},
                   [](const Document& d, const Drained&) {
                     return to(Phase::kGranting, Durability::kMajority).then(ask(d.to, Grant{d.epoch}));
                   }),
      row<Taken>(Phase::kGranting, {machines::kEnd}, [](const Document&, const Taken&) { return finish(); })};
  return table;
}

Step<Handoff> Handoff::resume(const Document& d) {
  switch (d.phase) {
    case Phase::kOffering: return stay().then(ask(d.to, Offer{d.epoch}));
    case Phase::kDraining: return stay().then(ask(d.from, Drain{d.epoch}));
    case Phase::kGranting: break;
  }
  return stay().then(ask(d.to, Grant{d.epoch}));
}

const Transitions<Holder>& Holder::transitions() {
  static const Transitions<Holder> table{
      anywhere<Offer>({},
                      [](const Document& d, const Offer& e) -> Step<Holder> {
                        if (d.willing && e.epoch >= d.epoch && d.phase == Phase::kFree) return stay().then(reply(Accepted{}));
                        return stay().then(reply(Declined{}));
                      }),
      // Asked again and again while it finishes its work.
      anywhere<Drain>({Phase::kDraining},
                      [](const Document& d, const Drain& e) -> Step<Holder> {
                        // A later hand-off has overtaken this one: nothing is left to drain, and its grant will be too late.
                        if (e.epoch < d.epoch) return stay().then(reply(Drained{}));
                        if (d.phase == Phase::kDraining) return stay();
                        Document changed = d;
                        changed.epoch = e.epoch;
                        if (d.phase == Phase::kFree) return stay(Durability::kMajority).with(changed).then(reply(Drained{}));
                        return to(Phase::kDraining).with(changed).then(perform(FinishWork{}));
                      }),
      row<WorkDone>(Phase::kDraining, {Phase::kFree},
                    [](const Document&, const WorkDone&) { return to(Phase::kFree, Durability::kMajority); }),
      anywhere<Grant>({Phase::kHolding},
                      [](const Document& d, const Grant& e) -> Step<Holder> {
                        if (e.epoch <= d.epoch) return stay().then(reply(Taken{}));
                        Document changed = d;
                        changed.epoch = e.epoch;
                        return to(Phase::kHolding, Durability::kMajority).with(changed).then(reply(Taken{}));
                      })};
  return table;
}

std::vector<Invariant> Holder::invariants() {
  return {machines::never("two nodes use one lease", [](const machines::World& world) {
    int users = 0;
    world.each<Holder>([&](const NodeName&, bool, const auto& holder) { users += holder.document.phase != Phase::kFree ? 1 : 0; });
    return users > 1;
  })};
}

Model handoffs(bool back, bool willing) {
  Model model;
  model.machine<Handoff>("c", {.from = "a", .to = "b"});
  if (back) model.machine<Handoff>("d", {.from = "b", .to = "a", .epoch = 2}, Model::Start::kAnyTime);
  model.machine<Holder>("a", {.phase = Holder::Phase::kHolding});
  model.machine<Holder>("b", {.willing = willing});
  model.comesOf<Holder, FinishWork>([](const NodeName&, const FinishWork&) { return std::vector<Holder::Event>{WorkDone{}}; });
  model.goal("nothing is left to do, and one node has the lease", [](const machines::World& world) {
    int open = 0, holders = 0;
    world.each<Handoff>([&](const NodeName&, bool, const auto&) { ++open; });
    world.each<Holder>([&](const NodeName&, bool, const auto& h) { holders += h.document.phase == Holder::Phase::kHolding ? 1 : 0; });
    return open == 0 && holders == 1;
  });
  return model;
}

}  // namespace troupe::model::lease
