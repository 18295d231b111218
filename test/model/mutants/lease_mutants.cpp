#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/lease.hpp"

namespace troupe::model {

using lease::Handoff;
using lease::Holder;
using machines::Durability;
using machines::Snapshot;
using machines::Step;

namespace {

Model once() {
  Model model = leaseHandoffs(false);
  model.faults = {.crashes = 1, .losses = 1, .duplications = 1};
  return model;
}
Model thereAndBack() {
  Model model = leaseHandoffs(true);
  model.faults = {.losses = 0, .duplications = 2};
  return model;
}
Model answersBeforeItIsSafe() {
  Model model = once();
  model.hostBug = HostBug::kEffectsBeforePersist;
  return model;
}

template <class M, class E>
std::function<std::shared_ptr<void>()> on(Step<M> (*change)(const typename Mutation<M>::Decide&, const Snapshot<M>&,
                                                            const E&)) {
  return [change] { return planted(Mutation<M>::template on<E>(change)); };
}
using HolderReal = Mutation<Holder>::Decide;
using HandoffReal = Mutation<Handoff>::Decide;

Step<Handoff> grantsAtOnce(const HandoffReal&, const Snapshot<Handoff>& now, const lease::Accepted&) {
  const auto& d = now.document;
  return Handoff::to(Handoff::Phase::kGranting, Durability::kMajority)
      .then(Handoff::ask(d.to, lease::Grant{d.lease, d.epoch}));
}

Step<Holder> drainedWhileItWorks(const HolderReal& real, const Snapshot<Holder>& now, const lease::Drain& e) {
  Step<Holder> step = real(now, e);
  if (now.document.phase == Holder::Phase::kDraining) return Holder::stay().then(Holder::reply(lease::Drained{}));
  return step;
}

std::shared_ptr<void> nothingIsSafe() {
  return planted(
      Mutation<Holder>::onAll([](const HolderReal& real, const Snapshot<Holder>& now, const Holder::Event& e) {
        Step<Holder> step = real(now, e);
        step.durability = Durability::kLocal;
        return step;
      }));
}

Step<Holder> takesAnOldGrant(const HolderReal& real, const Snapshot<Holder>& now, const lease::Grant& e) {
  Snapshot<Holder> forgetful = now;
  if (now.document.phase == Holder::Phase::kFree) forgetful.document.epoch = 0;
  return real(forgetful, e);
}

Step<Handoff> tellsInsteadOfAsking(const HandoffReal&, const Snapshot<Handoff>& now, const lease::Drained&) {
  const auto& d = now.document;
  return Handoff::to(Handoff::Phase::kGranting, Durability::kMajority)
      .then(Handoff::send(d.to, lease::Grant{d.lease, d.epoch}));
}

Step<Handoff> forgetsThatItDrained(const HandoffReal&, const Snapshot<Handoff>&, const lease::Drained&) {
  return Handoff::finish();
}

}  // namespace

std::vector<Mutant> leaseMutants() {
  return {
      {"lease", "granted before the holder has drained", lease::kTwoUsers, once,
       on<Handoff, lease::Accepted>(grantsAtOnce)},
      {"lease", "a holder says it has drained while it works", lease::kTwoUsers, once,
       on<Holder, lease::Drain>(drainedWhileItWorks)},
      {"lease", "what a holder persists is undone by a crash", lease::kTwoUsers, once, nothingIsSafe},
      {"lease", "a grant of an older hand-off is taken", lease::kTwoUsers, thereAndBack,
       on<Holder, lease::Grant>(takesAnOldGrant)},
      {"lease", "the next holder is told, not asked", "no way to", once,
       on<Handoff, lease::Drained>(tellsInsteadOfAsking)},
      {"lease", "the coordinator ends before it grants", "no way to", once,
       on<Handoff, lease::Drained>(forgetsThatItDrained)},
      {"lease", "answers are sent before the document is safe", "no way to", answersBeforeItIsSafe, {}},
  };
}

}  // namespace troupe::model
