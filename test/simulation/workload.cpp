#include "test/simulation/workload.hpp"

#include <algorithm>
#include <utility>

#include "actors/replication/topology_actor.hpp"

namespace troupe::sim {

namespace {

using machines::Millis;

Task<void> count(std::shared_ptr<Tally> tally, std::shared_ptr<bool> answered, Future<Answer> from) {
  const Answer answer = co_await from;
  if (answer.isOK()) ++tally->done;
  else ++tally->refused[errorName(answer.status().code())];
  if (answered) *answered = true;
}

Millis inMillis(Duration time) { return std::chrono::duration_cast<Millis>(time); }

}  // namespace

Workload::Workload(const Scenario& scenario, Simulation& cluster, ReplicaSet& set, uint64_t seed)
    : scenario_(scenario), cluster_(cluster), set_(set), random_(seed ^ 0x3039303930393039ull) {}

template <class Command>
void Workload::send(const std::string& node, const char* name, Command command, std::shared_ptr<bool> answered) {
  cluster_.note(TraceEvent::Kind::kNote, node, "operator", "asks", name);
  ++tally_->asked;
  Node& at = cluster_.life(node).node();
  at.start(count(tally_, std::move(answered), at.ask(at.address(replication::kTopologyPath), local(std::move(command)))));
}

bool Workload::initiate(Duration atMost) {
  const auto config = set_.config();
  const Duration end = cluster_.elapsed() + atMost;
  const auto isUp = [&] { return !set_.writable().empty(); };
  while (cluster_.failure().empty() && cluster_.elapsed() < end && !isUp()) {
    std::string node;
    for (const auto& member : config.members)
      if (member.isElectable()) node = member.host;
    auto answered = std::make_shared<bool>(false);
    cluster_.run(std::chrono::milliseconds(10));  // its actor is there
    send(node, "replSetInitiate", replication::Initiate{config, node, bson::ObjectId()}, answered);
    cluster_.runUntil([&] { return isUp() || (*answered && !set_.seen(node).document.config); }, end - cluster_.elapsed());
  }
  return isUp();
}

void Workload::begin() {
  for (size_t i = 0; i < scenario_.workloads.size(); ++i) planNext(i);
}

void Workload::planNext(size_t work) {
  cluster_.at(scenario_.workloads[work].every.draw(random_), [this, work] {
    if (over_) return;
    ask(scenario_.workloads[work]);
    planNext(work);
  });
}

void Workload::ask(const WorkSpec& work) {
  switch (work.kind) {
    case WorkKind::kStepDowns: return askForStepDown(work);
    case WorkKind::kStepUps: return askForStepUp();
    case WorkKind::kReconfigs: return askForReconfig();
    case WorkKind::kFreezes: return askForFreeze(work);
  }
}

std::string Workload::anyWorking() {
  std::vector<std::string> found;
  for (const std::string& node : cluster_.nodes())
    if (cluster_.isAlive(node)) found.push_back(node);
  return found.empty() ? "" : found[below(found.size())];
}

void Workload::askForStepDown(const WorkSpec& work) {
  const auto leaders = set_.leaders();
  if (leaders.empty()) return;
  replication::StepDown command;
  command.force = share(random_) < work.force;
  command.stepDownPeriod = inMillis(work.period.draw(random_));
  command.catchUpPeriod = std::min(command.stepDownPeriod, Millis(500));
  send(leaders[below(leaders.size())], command.force ? "replSetStepDown, with force" : "replSetStepDown", command);
}

void Workload::askForStepUp() {
  const std::string node = anyWorking();
  if (!node.empty()) send(node, "replSetStepUp", replication::StepUp{below(2) == 0});
}

void Workload::askForFreeze(const WorkSpec& work) {
  const std::string node = anyWorking();
  if (!node.empty()) send(node, "replSetFreeze", replication::Freeze{inMillis(work.period.draw(random_))});
}

void Workload::askForReconfig() {
  const auto leaders = set_.leaders();
  if (leaders.empty()) return;
  const std::string& node = leaders[below(leaders.size())];
  const auto& present = set_.seen(node).document.config;
  if (present) send(node, "replSetReconfig", replication::Reconfig{changed(*present), false, 0});
}

/// Another priority, another right to vote, a member less, or one that comes back.
replication::ReplicaSetConfig Workload::changed(replication::ReplicaSetConfig config) {
  config.version += 1;
  const auto first = set_.config();
  auto& members = config.members;
  auto& chosen = members[below(members.size())];
  const auto& whole = first.members[below(first.members.size())];
  switch (below(4)) {
    case 0:
      if (!chosen.arbiterOnly && chosen.isVoter()) chosen.priority = static_cast<double>(below(4));
      break;
    case 1:
      if (chosen.arbiterOnly) break;
      chosen.votes = 1 - chosen.votes;
      chosen.priority = chosen.votes;
      break;
    case 2:
      if (members.size() > 2) members.erase(members.begin() + (&chosen - members.data()));
      break;
    default:
      if (!config.has(whole.host)) members.push_back(whole);
  }
  return config;
}

}  // namespace troupe::sim
