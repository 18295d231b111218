#include "test/model/subjects/lease.hpp"

namespace troupe::model {

using lease::Handoff;
using lease::Holder;

Model leaseHandoffs(bool back, bool declined) {
  Model model;
  model.machine<Handoff>("c", {.id = "1", .lease = "L", .from = "a", .to = "b"});
  if (back)
    model.machine<Handoff>("d", {.id = "2", .lease = "L", .from = "b", .to = "a", .epoch = 2}, Model::Start::kAnyTime);
  model.machine<Holder>("a", {.id = "L", .phase = Holder::Phase::kHolding});
  model.machine<Holder>("b", {.id = "L", .epoch = declined ? 2 : 0});
  model.comesOf<Holder, lease::FinishWork>(
      [](const NodeName&, const lease::FinishWork&) { return std::vector<Holder::Event>{lease::WorkDone{}}; });
  model.goal("nothing is left to do, and one node has the lease", [](const machines::World& world) {
    int open = 0, holders = 0;
    world.each<Handoff>([&](const NodeName&, bool, const auto&) { ++open; });
    world.each<Holder>(
        [&](const NodeName&, bool, const auto& h) { holders += h.document.phase == Holder::Phase::kHolding ? 1 : 0; });
    return open == 0 && holders == 1;
  });
  return model;
}

}  // namespace troupe::model
