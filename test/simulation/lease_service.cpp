#include "test/simulation/lease_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/primary_only_service.hpp"
#include "messaging/schemas/supervision.capnp.h"
#include "storage/catalog/catalog.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/transaction/recovery_unit.hpp"
#include "test/simulation/lease_workload.hpp"

namespace troupe::sim {

using lease::Handoff;
using lease::Holder;

namespace {

constexpr const char* kForgotten = "a hand-off that forgets what it has done";
constexpr const char* kBack = "a hand-off that is back after its end";
constexpr const char* kOldEpoch = "a holder that forgets a hand-off";
constexpr int kLeases = 6;

const storage::Namespace kHandoffs("config", "handoffs");
const storage::Namespace kHolders("config", "leases");

/// Work under the lease takes a while to be finished.
Task<StatusWith<std::optional<Holder::Event>>> finishWork(Actor& host) {
  const Duration takes = std::chrono::milliseconds(5 + host.environment().random() % 200);
  co_await host.node().sleepFor(takes);
  co_return std::optional<Holder::Event>(lease::WorkDone{});
}

/// Under the tree's own rules, not set aside when it fails: its node gives up then.
template <class M>
supervisors::Service serviceOf(const std::string& name, const storage::Namespace& ns,
                               machines::HostOptions<M> options) {
  const auto make = [name, ns, options](const supervisors::ServiceParts& parts) {
    std::shared_ptr<machines::DocumentStore> store = std::make_shared<machines::CollectionStore>(*parts.storage, ns);
    return supervisors::permanent<machines::PrimaryOnlyService<M>>(name, std::move(store), options);
  };
  return {name, true, make};
}

}  // namespace

const std::vector<std::string>& LeaseService::invariantNames() {
  static const std::vector<std::string> names{lease::kTwoUsers, kForgotten, kBack, kOldEpoch};
  return names;
}

LeaseService::LeaseService(const Scenario& scenario) : scenario_(scenario) {
  for (int i = 1; i <= kLeases; ++i) leases_.push_back("L" + std::to_string(i));
  for (const std::string& name : scenario.nodes()) members_[name];
}

void LeaseService::watch(Simulation& cluster) { cluster_ = &cluster; }

void LeaseService::configure(const std::string& node, supervisors::AssemblyOptions& options) {
  for (const auto& [peer, member] : members_)
    if (peer != node) options.links->peers.push_back(peer);
  machines::HostOptions<Handoff> handoff;
  handoff.askTimeout = std::chrono::seconds(2);
  handoff.observe = [this, node](const auto& now, const auto& outcome) {
    observe(node, now, outcome.finished.has_value());
  };
  machines::HostOptions<Holder> holder;
  holder.perform = [](Actor& host, machines::ActionOf<Holder>, machines::Doing<Holder::Event>) {
    return finishWork(host);
  };
  holder.observe = [this, node](const auto& now, const auto&) { observe(node, now); };
  options.services = {serviceOf<Handoff>("handoffs", kHandoffs, handoff),
                      serviceOf<Holder>("leases", kHolders, holder)};
}

void LeaseService::started(NodeLife& life) { members_.at(life.node().name()).life = &life; }

void LeaseService::died(const std::string& node) { members_.at(node).life = nullptr; }

std::pair<std::string, int64_t> LeaseService::roleOf(const std::string& node) {
  const Member& member = members_.at(node);
  const auto held = std::count_if(member.holders.begin(), member.holders.end(),
                                  [](const auto& entry) { return entry.second.phase == Holder::Phase::kHolding; });
  return {held > 0 ? "holder" : "", held};
}

void LeaseService::breakIt(const char* invariant, const std::string& detail) {
  const auto& wanted = scenario_.invariants;
  const bool isChecked = wanted.empty() || std::find(wanted.begin(), wanted.end(), invariant) != wanted.end();
  if (cluster_ && isChecked) cluster_->fail(std::string(invariant) + ": " + detail);
}

/// What was seen of a phase was done for a document that is safe: no later life of the hand-off may be before it.
void LeaseService::observe(const std::string& node, const machines::Snapshot<Handoff>& now, bool finished) {
  SeenHandoff& seen = members_.at(node).handoffs[now.document.id];
  if (seen.ended) return breakIt(kBack, fmt::format("{} of {}", now.document.id, node));
  if (now.document.phase < seen.phase)
    return breakIt(kForgotten,
                   fmt::format("{} of {} was {} and is {} again", now.document.id, node,
                               Handoff::kPhases[seen.phase].name, Handoff::kPhases[now.document.phase].name));
  seen = {now.document.phase, finished};
  ended_ += finished ? 1 : 0;
}

void LeaseService::observe(const std::string& node, const machines::Snapshot<Holder>& now) {
  const std::string& name = now.document.id;
  SeenHolder& seen = members_.at(node).holders[name];
  if (now.document.epoch < seen.epoch)
    return breakIt(kOldEpoch,
                   fmt::format("{} knew hand-off {} of {} and knows {}", node, seen.epoch, name, now.document.epoch));
  seen = {now.document.phase, now.document.epoch};
  std::vector<std::string> users;
  for (const auto& [other, member] : members_)
    if (const auto found = member.holders.find(name);
        found != member.holders.end() && found->second.phase != Holder::Phase::kFree)
      users.push_back(other);
  if (users.size() > 1) breakIt(lease::kTwoUsers, fmt::format("{} by {} and {}", name, users[0], users[1]));
}

std::string LeaseService::holderOf(const std::string& name) const {
  for (const auto& [node, member] : members_)
    if (const auto found = member.holders.find(name);
        found != member.holders.end() && found->second.phase == Holder::Phase::kHolding)
      return node;
  return {};
}

bool LeaseService::isOver(const std::string& node, const std::string& handoff) const {
  const Member& member = members_.at(node);
  if (const auto seen = member.handoffs.find(handoff); seen != member.handoffs.end() && seen->second.ended) return true;
  if (!member.life) return false;
  const auto& registry = member.life->node().registry();
  const auto service = registry.row(lease::kHandoffsPath);
  if (!service || service->phase != "serving" || registry.row(std::string(lease::kHandoffsPath) + "/" + handoff))
    return false;
  const auto collection = member.life->catalog().find(kHandoffs);
  if (!collection) return true;
  storage::RecoveryUnit unit(member.life->storage().operations.sessions);
  const bson::Document key = bson::doc("_id", handoff);
  const auto record = collection->findById(unit, key["_id"]);
  return record.isOK() && !*record;
}

/// Operators look at what was set aside, and let it go on.
void LeaseService::calm(Simulation& cluster) {
  using Action = schema::ControlChild::Action;
  for (const std::string& node : cluster.nodes()) {
    Node& at = cluster.life(node).node();
    for (const auto& row : at.registry().rows({.phase = "parked", .under = "/node/services"})) {
      const size_t cut = row.path.rfind('/');
      auto resume = build<schema::ControlChild>([&](auto wanted) {
        wanted.setChild(row.path.substr(cut + 1));
        wanted.setAction(Action::RESUME);
      });
      at.tell(at.address(row.path.substr(0, cut)), std::move(resume));
    }
    for (const char* service : {lease::kHandoffsPath, lease::kLeasesPath})
      at.tell(at.address(service), local(machines::BecomePrimary{1}));
  }
}

std::string LeaseService::whyNotAtRest(const std::string& node, const Member& member) const {
  if (!member.life) return node + " is down";
  const auto rows = member.life->node().registry().rows({.under = "/node/services"});
  int serving = 0;
  for (const auto& row : rows) {
    const bool isService = row.path == lease::kHandoffsPath || row.path == lease::kLeasesPath;
    if (isService) serving += row.phase == "serving" ? 1 : 0;
    else if (row.path.starts_with(lease::kHandoffsPath))
      return fmt::format("{} of {} is still {}", row.path, node, row.phase);
  }
  return serving == 2 ? "" : fmt::format("{} services of {} serve", serving, node);
}

std::string LeaseService::whyNotConverged() {
  for (const auto& [node, member] : members_)
    if (std::string why = whyNotAtRest(node, member); !why.empty()) return why;
  for (const std::string& name : leases_)
    if (holderOf(name).empty()) return "nobody has the lease " + name;
  return {};
}

std::unique_ptr<Workload> LeaseService::workload(Simulation& cluster, uint64_t seed) {
  return std::make_unique<LeaseWorkload>(scenario_, cluster, *this, seed);
}

}  // namespace troupe::sim
