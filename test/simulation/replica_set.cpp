#include "test/simulation/replica_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/replication/topology_actor.hpp"
#include "test/simulation/member_reads.hpp"
#include "test/simulation/set_workload.hpp"

namespace troupe::sim {

namespace {

constexpr const char* kSecondariesHaveData = "a member without data that passes for a secondary";

bool isArbiter(const Scenario& scenario, const std::string& node) {
  const auto& arbiters = scenario.topology.arbiters;
  return std::any_of(arbiters.begin(), arbiters.end(), [&](const std::string& name) { return node == name + ":1"; });
}

}  // namespace

const std::vector<std::string>& ReplicaSet::invariantNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const auto& invariant : Topology::invariants()) made.push_back(invariant.name);
    made.emplace_back(kNothingForgotten);
    made.emplace_back(kSecondariesHaveData);
    made.emplace_back(StateDocuments::kInvariant);
    made.emplace_back(MemberReads::kInvariant);
    made.emplace_back(LogAudit::kInvariant);
    made.emplace_back(kAnswersExplained);
    for (const char* name : {kRegistersHold, kSessionsHold, kListsHold, kCountersHold, kServiceWritesHold, kBankHolds,
                             kWorkIsDone, SetData::kSameEverywhere, SetData::kNothingLost, SetData::kMembersAgree})
      made.emplace_back(name);
    return made;
  }();
  return names;
}

ReplicaSet::ReplicaSet(const Scenario& scenario) : scenario_(scenario) {
  invariants_ = Topology::invariants();
  invariants_.push_back(
      machines::never(kNothingForgotten, [this](const machines::World&) { return !forgotten_.empty(); }));
  invariants_.push_back(
      machines::never(kSecondariesHaveData, [this](const machines::World&) { return !without_.empty(); }));
  const auto isUnwanted = [&](const machines::Invariant& one) {
    const auto& wanted = scenario.invariants;
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), one.name) == wanted.end();
  };
  std::erase_if(invariants_, isUnwanted);
  for (const std::string& name : scenario.nodes()) members_[name];
}

void ReplicaSet::watch(Simulation& cluster) {
  cluster_ = &cluster;
  facts_ = &cluster.facts();
  cluster.check([this, &cluster](const std::string&) {
    if (moved_) check(cluster);
  });
}

void ReplicaSet::configure(const std::string& node, supervisors::AssemblyOptions& options) {
  options.replicaSet = "rs";
  if (scenario_.topology.logBytes > 0) {
    options.oplog.maxBytes = scenario_.topology.logBytes;
    // What a replay needs is kept at any size: without checkpoints nothing would ever go.
    options.setParameters = [](server::Parameters& parameters) {
      parameters.syncPeriodSeconds = 1;
      return Status::OK();
    };
  }
  auto& documents = members_.at(node).documents;
  documents = std::make_unique<StateDocuments>(ledger_, [this](std::string why) {
    if (cluster_) cluster_->fail(std::move(why));
  });
  options.observers.push_back(documents.get());
  options.adjustTopology = [this, node](replication::TopologyParts& parts) {
    parts.observe = [this, node](const Seen& now, const machines::Outcome<Topology>&) { observe(node, now); };
  };
}

void ReplicaSet::started(NodeLife& life) {
  Member& member = members_.at(life.node().name());
  member.membership = life.assembly().membership();
  member.progress = life.assembly().context().progress;
  member.documents->started(life);
}

bool ReplicaSet::haveData() const {
  const auto first = config();
  return std::ranges::all_of(first.members, [&](const replication::MemberConfig& member) {
    const auto state = stateOf(seen(member.host));
    return state != replication::MemberState::kStartup && state != replication::MemberState::kStartup2;
  });
}

std::pair<std::string, int64_t> ReplicaSet::roleOf(const std::string& node) {
  const Seen& seen = members_.at(node).seen;
  return {machines::phaseName(seen), seen.memory.term};
}

/// What was persisted is still there; the rest begins anew.
void ReplicaSet::died(const std::string& node) {
  Member& member = members_.at(node);
  member.membership = nullptr;
  member.progress = nullptr;
  member.seen.memory = {};
  member.runs = false;
  worldIsOld_ = true;
}

void ReplicaSet::observe(const std::string& node, const Seen& now) {
  Member& member = members_.at(node);
  Seen& before = member.seen;
  const auto &was = before.document, &is = now.document;
  if (is.lastVote.term < was.lastVote.term)
    forgotten_ = fmt::format("{} voted in term {} and remembers term {}", node, was.lastVote.term, is.lastVote.term);
  if (was.config && (!is.config || was.config->configVersion().isNewerThan(is.config->configVersion())))
    forgotten_ = fmt::format("{} had config version {} and went back", node, was.config->version);
  if (facts_ &&
      (is.lastVote != was.lastVote || now.memory.phase != before.memory.phase || now.memory.term != before.memory.term))
    Topology::facts(node, now, *facts_);
  const bool hasData = is.founder || !member.progress || member.progress->applied() != OpTime{};
  if (!hasData && stateOf(now) == replication::MemberState::kSecondary) without_ = node;
  const auto state = stateOf(now);
  if (!member.runs || state != stateOf(before))
    ++states_[std::string(machines::EnumNames<replication::MemberState>::name(state))];
  before = now;
  moved_ = true;
  worldIsOld_ |= !std::exchange(member.runs, true);
}

void ReplicaSet::breakIt(const char* invariant, const std::string& why) {
  const auto& wanted = scenario_.invariants;
  const bool isChecked = wanted.empty() || std::find(wanted.begin(), wanted.end(), invariant) != wanted.end();
  if (isChecked) cluster_->fail(fmt::format("{}: {}", invariant, why));
}

void ReplicaSet::check(Simulation& cluster) {
  moved_ = false;
  if (worldIsOld_) {
    world_ = {};
    for (const auto& [name, member] : members_) world_.add<Topology>(name, member.runs, &member.seen);
    worldIsOld_ = false;
  }
  const std::string detail = forgotten_ + without_;
  for (const machines::Invariant& invariant : invariants_)
    if (invariant.broken(world_)) return cluster.fail(invariant.name + (detail.empty() ? "" : ": " + detail));
}

replication::ReplicaSetConfig ReplicaSet::config(bool joined) const {
  const auto millis = [](Duration time) { return std::chrono::duration_cast<machines::Millis>(time); };
  replication::ReplicaSetConfig made;
  made.id = "rs";
  made.settings.electionTimeoutMillis = millis(scenario_.topology.electionTimeout);
  made.settings.heartbeatIntervalMillis = millis(scenario_.topology.heartbeatInterval);
  std::vector<std::string> names = scenario_.nodes();
  if (!joined) names.resize(names.size() - static_cast<size_t>(scenario_.topology.joiners));
  for (const std::string& name : names) {
    replication::MemberConfig member;
    member.id = static_cast<int32_t>(made.members.size());
    member.host = name;
    member.arbiterOnly = isArbiter(scenario_, name);
    if (!scenario_.topology.priorities.empty()) member.priority = scenario_.topology.priorities[made.members.size()];
    if (member.arbiterOnly) member.priority = 0;
    if (std::ranges::count(scenario_.topology.withoutVote, name.substr(0, name.find(':'))) > 0) {
      member.votes = 0;
      member.priority = 0;
    }
    made.members.push_back(member);
  }
  return made;
}

std::vector<std::string> ReplicaSet::leaders() const {
  std::vector<std::string> found;
  for (const auto& [name, member] : members_)
    if (member.runs && replication::leads(member.seen.memory.phase)) found.push_back(name);
  return found;
}

std::vector<std::string> ReplicaSet::writable() const {
  std::vector<std::string> found;
  for (const auto& [name, member] : members_)
    if (member.runs && member.membership->view()->isWritable()) found.push_back(name);
  return found;
}

std::vector<std::string> ReplicaSet::mayBeCopiedAnew() const {
  using replication::MemberState;
  const auto holdsAll = [&](const std::string& node, const OpTime& wanted) {
    const Member& member = members_.at(node);
    if (isArbiter(scenario_, node)) return true;
    if (!member.runs || !member.progress) return false;
    const MemberState state = stateOf(member.seen);
    const bool hasData =
        state == MemberState::kPrimary || state == MemberState::kSecondary || state == MemberState::kRecovering;
    return hasData && member.progress->times().durable >= wanted;
  };
  std::vector<std::string> found;
  for (const auto& [name, member] : members_) {
    if (!member.runs || !member.progress || stateOf(member.seen) != MemberState::kRecovering) continue;
    const OpTime has = member.progress->times().applied;
    const bool othersHave = std::ranges::all_of(
        members_, [&, self = name](const auto& other) { return other.first == self || holdsAll(other.first, has); });
    if (othersHave) found.push_back(name);
  }
  return found;
}

std::unique_ptr<Workload> ReplicaSet::workload(Simulation& cluster, uint64_t seed) {
  auto made = std::make_unique<SetWorkload>(scenario_, cluster, *this, seed);
  workload_ = made.get();
  return made;
}

void ReplicaSet::calm(Simulation& cluster) {
  const auto& works = scenario_.workloads;
  const bool writes =
      std::any_of(works.begin(), works.end(), [](const WorkSpec& work) { return work.kind == WorkKind::kDocuments; });
  if (writes)
    logs_ = std::make_unique<LogAudit>(cluster, [this](const std::string& why) { breakIt(LogAudit::kInvariant, why); });
}

int64_t ReplicaSet::progress() const {
  int64_t last = 0;
  for (const auto& [name, member] : members_) last = std::max(last, member.seen.memory.term);
  return last;
}

std::string ReplicaSet::whyNotConverged() {
  const auto primaries = leaders();
  if (primaries.size() != 1) return fmt::format("there are {} primaries", primaries.size());
  const Seen& primary = seen(primaries[0]);
  if (!replication::isWritable(primary)) return primaries[0] + " is elected and takes no writes";
  const auto& config = *primary.document.config;
  if (config.priorityRank(primaries[0]) > 0) return primaries[0] + " is primary, and another one has a higher priority";
  for (const auto& member : config.members) {
    const std::string why = member.host == primaries[0] ? "" : whyNotFollowing(member.host, primaries[0]);
    if (!why.empty()) return why;
  }
  if (logs_ && !logs_->isDone()) return "the logs are compared with what they tell of";
  return workload_ ? workload_->whyNotDone() : "";
}

std::string ReplicaSet::whyNotFollowing(const std::string& node, const std::string& primary) const {
  const Member& member = members_.at(node);
  const Seen& leader = seen(primary);
  if (!member.runs) return node + " is down";
  if (!member.seen.document.config ||
      member.seen.document.config->configVersion() != leader.document.config->configVersion())
    return fmt::format("{} has another config than the primary {}", node, primary);
  if (member.seen.memory.term != leader.memory.term)
    return fmt::format("{} is in term {}, the primary {} in {}", node, member.seen.memory.term, primary,
                       leader.memory.term);
  const std::string followed = replication::primaryOf(member.seen);
  return followed == primary ? "" : fmt::format("{} follows '{}' and not {}", node, followed, primary);
}

}  // namespace troupe::sim
