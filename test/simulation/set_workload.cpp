#include "test/simulation/set_workload.hpp"

#include <algorithm>
#include <utility>

#include "actors/replication/oplog_fetcher.hpp"
#include "actors/replication/topology_actor.hpp"

namespace troupe::sim {

namespace {

using machines::Millis;

Millis inMillis(Duration time) { return std::chrono::duration_cast<Millis>(time); }

}  // namespace

template <class Command>
void SetWorkload::send(const std::string& node, const char* name, Command command, std::shared_ptr<bool> answered) {
  Workload::send(node, replication::kTopologyPath, name, local(std::move(command)), std::move(answered));
}

bool SetWorkload::prepare(Duration atMost) {
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
    cluster_.runUntil([&] { return isUp() || (*answered && !set_.seen(node).document.config); },
                      end - cluster_.elapsed());
  }
  // A member without data cannot lead: kills that come before it has any would leave a set that nobody can lead.
  const auto haveData = [&] { return set_.haveData(); };
  if (!isUp() || !cluster_.runUntil(haveData, end - cluster_.elapsed())) return false;
  return !data_ || cluster_.runUntil([&] { return data_->isReady(); }, end - cluster_.elapsed());
}

void SetWorkload::makeData(bool membersJoin) {
  data_ = std::make_unique<SetData>(
      cluster_, set_.ledger(),
      DataSessions::Hears{
          .ended = [this](const std::string& refused) { countAnswer(refused); },
          .broken = [this](const char* invariant, const std::string& why) { set_.breakIt(invariant, why); },
          .mayLackHistory = membersJoin});
}

void SetWorkload::ask(const WorkSpec& work) {
  switch (work.kind) {
    case WorkKind::kStepDowns: return askForStepDown(work);
    case WorkKind::kStepUps: return askForStepUp();
    case WorkKind::kReconfigs: return askForReconfig();
    case WorkKind::kFreezes: return askForFreeze(work);
    case WorkKind::kJoins: return askForJoin();
    case WorkKind::kDocuments: return askForDocument(work);
    case WorkKind::kMemberReads: return askForRead();
    case WorkKind::kRegisters:
    case WorkKind::kLists:
    case WorkKind::kItems:
    case WorkKind::kCounters:
    case WorkKind::kSchemaChanges:
    case WorkKind::kTransfers:
      if (data_->ask(work, random_() >> 8)) countAsked();
      return;
    case WorkKind::kServiceWrites: return askForServiceWrite(work);
    case WorkKind::kResyncs: return askForResync();
    default: return;  // of another program
  }
}

void SetWorkload::askForStepDown(const WorkSpec& work) {
  const auto leaders = set_.leaders();
  if (leaders.empty()) return;
  replication::StepDown command;
  command.force = share(random_) < work.force;
  command.stepDownPeriod = inMillis(work.period.draw(random_));
  command.catchUpPeriod = std::min(command.stepDownPeriod, Millis(500));
  send(leaders[below(leaders.size())], command.force ? "replSetStepDown, with force" : "replSetStepDown", command);
}

void SetWorkload::askForStepUp() {
  const std::string node = anyWorking();
  if (!node.empty()) send(node, "replSetStepUp", replication::StepUp{below(2) == 0});
}

void SetWorkload::askForFreeze(const WorkSpec& work) {
  const std::string node = anyWorking();
  if (!node.empty()) send(node, "replSetFreeze", replication::Freeze{inMillis(work.period.draw(random_))});
}

/// On any node: one that is not primary refuses it.
void SetWorkload::askForDocument(const WorkSpec& work) {
  using Durability = StateDocuments::Durability;
  const std::string node = anyWorking();
  if (node.empty()) return;
  const int key = static_cast<int>(below(20));
  Durability durability = below(2) == 0 ? Durability::kMajority : Durability::kJournaled;
  if (durability == Durability::kMajority && share(random_) < work.torn) durability = Durability::kTorn;
  set_.documents(node).put(key, durability, sharedTally());
}

void SetWorkload::askForRead() {
  if (!reads_)
    reads_ = std::make_unique<MemberReads>(
        cluster_, set_, [this](const std::string& refused) { countAnswer(refused); },
        [this](const char* invariant, const std::string& why) { set_.breakIt(invariant, why); });
  if (reads_->ask(random_() >> 8)) countAsked();
}

void SetWorkload::askForServiceWrite(const WorkSpec& work) {
  const std::string node = anyWorking();
  if (node.empty()) return;
  countAsked();
  data_->writeAsService(cluster_.life(node), share(random_) < work.torn);
}

/// One after the other: each copies what another one has, which has to stay.
void SetWorkload::askForResync() {
  const auto stale = set_.mayBeCopiedAnew();
  if (!stale.empty())
    Workload::send(stale[below(stale.size())], replication::kFetcherPath, "resync", local(replication::Resync{}));
}

void SetWorkload::askForReconfig() {
  const auto leaders = set_.leaders();
  if (leaders.empty()) return;
  const std::string& node = leaders[below(leaders.size())];
  const auto& present = set_.seen(node).document.config;
  if (present) send(node, "replSetReconfig", replication::Reconfig{changed(*present), false, 0});
}

std::string SetWorkload::nextToJoin(const replication::ReplicaSetConfig& present) const {
  for (const auto& member : set_.config(true).members)
    if (!present.has(member.host)) return member.host;
  return {};
}

void SetWorkload::askForJoin() {
  const auto leaders = set_.leaders();
  if (leaders.empty()) return;
  const std::string& node = leaders[below(leaders.size())];
  const auto& present = set_.seen(node).document.config;
  const std::string joiner = present ? nextToJoin(*present) : "";
  if (joiner.empty()) return;
  replication::ReplicaSetConfig next = *present;
  next.version += 1;
  next.members.push_back(*set_.config(true).member(joiner));
  send(node, "replSetReconfig", replication::Reconfig{std::move(next), false, 0});
}

/// A leader may refuse at once, before its first write for example: then time has to pass.
void SetWorkload::askForJoinAgain() {
  if (cluster_.elapsed() < nextJoin_) return;
  nextJoin_ = cluster_.elapsed() + std::chrono::milliseconds(100);
  askForJoin();
}

std::string SetWorkload::whyNotDone() {
  const auto leaders = set_.leaders();
  const auto has = [&](WorkKind kind) {
    return std::ranges::any_of(scenario_.workloads, [&](const auto& work) { return work.kind == kind; });
  };
  const bool joins = has(WorkKind::kJoins);
  if (has(WorkKind::kResyncs) && cluster_.elapsed() >= nextResync_) {
    nextResync_ = cluster_.elapsed() + std::chrono::seconds(1);
    askForResync();
  }
  if (joins && !leaders.empty()) {
    const auto& present = set_.seen(leaders[0]).document.config;
    const std::string joiner = present ? nextToJoin(*present) : "";
    if (!joiner.empty()) askForJoinAgain();
    if (!joiner.empty()) return joiner + " has not joined the set";
  }
  return data_ ? data_->whyNotDone(scenario_) : std::string();
}

/// Another priority, another right to vote, a member less, or one that comes back.
replication::ReplicaSetConfig SetWorkload::changed(replication::ReplicaSetConfig config) {
  config.version += 1;
  const auto first = set_.config(true);
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
