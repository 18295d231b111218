#include "test/simulation/lease_workload.hpp"

#include "actors/machines/service_base.hpp"

namespace troupe::sim {

using lease::Grant;
using lease::Handoff;

namespace {
/// After it was asked for, a hand-off may be on its way to its document.
constexpr Duration kOnItsWay = std::chrono::seconds(5);
}  // namespace

bool LeaseWorkload::prepare(Duration atMost) {
  const Duration end = cluster_.elapsed() + atMost;
  for (const std::string& name : service_.leases()) {
    last_[name].holder = cluster_.nodes()[below(cluster_.nodes().size())];
    while (cluster_.failure().empty() && cluster_.elapsed() < end && service_.holderOf(name).empty()) {
      cluster_.run(std::chrono::milliseconds(10));  // its actors are there
      Grant first{name, 1};
      send(last_[name].holder, lease::kLeasesPath, "the first grant", machines::toMessage(first));
      cluster_.runUntil([&] { return !service_.holderOf(name).empty(); }, std::chrono::seconds(1));
    }
  }
  return service_.whyNotConverged().empty();
}

void LeaseWorkload::ask(const WorkSpec& work) {
  if (work.kind == WorkKind::kHandoffs) askForHandoff();
  else askForStepDown(work);
}

void LeaseWorkload::askForHandoff() {
  const std::string& name = service_.leases()[below(service_.leases().size())];
  Last& last = last_[name];
  const std::string coordinator = anyWorking();
  const bool isFree = last.handoff.empty() ||
                      (cluster_.elapsed() > last.askedAt + kOnItsWay && service_.isOver(last.node, last.handoff));
  if (!isFree || coordinator.empty()) return;
  if (const std::string holder = service_.holderOf(name); !holder.empty()) last.holder = holder;
  const std::string& to = cluster_.nodes()[below(cluster_.nodes().size())];
  if (to == last.holder) return;
  last = {coordinator, "h" + std::to_string(++handoffs_), last.holder, last.epoch + 1, cluster_.elapsed()};
  machines::StartMachine<Handoff> start;
  start.document = {.id = last.handoff, .lease = name, .from = last.holder, .to = to, .epoch = last.epoch};
  send(coordinator, lease::kHandoffsPath, "a hand-off", local(std::move(start)));
}

void LeaseWorkload::askForStepDown(const WorkSpec& work) {
  const std::string node = anyWorking();
  if (node.empty()) return;
  const Duration lasts = work.period.draw(random_);
  for (const char* path : {lease::kHandoffsPath, lease::kLeasesPath}) {
    send(node, path, "step down", local(machines::StepDown{}));
    cluster_.at(lasts, [this, node, path] {
      if (cluster_.isAlive(node)) send(node, path, "step up", local(machines::BecomePrimary{1}));
    });
  }
}

}  // namespace troupe::sim
