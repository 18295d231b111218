#include "supervisors/assembly/topology_wiring.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/machines/primary_only_service.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "actors/replication/state_transition.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/role_check.hpp"
#include "supervisors/assembly/data_role.hpp"
#include "supervisors/assembly/initial_sync_wiring.hpp"
#include "supervisors/assembly/replication_wiring.hpp"
#include "supervisors/tree/data_node.hpp"

namespace troupe::supervisors {

using log::Component;

namespace {

Task<Status> outcomeOf(Future<Answer> future) {
  const Answer answer = co_await future;
  co_return answer.status();
}

/// The last slot that was written, if it has not been noted as applied yet.
Task<OpTime> lastWriteOf(const server::ServerContext& server, std::shared_ptr<replication::StateTransition> transition,
                         int64_t term) {
  co_await transition->untilWritesEnded();
  const OpTime written{term, server.operations.replicated->slots.lastWritten()};
  const OpTime applied = server.progress->applied();
  co_return applied.term == term ? std::max(applied, written) : applied;
}

/// What is not known, since the catalog is closed, counts as there.
bool holdsData(const server::ServerContext& server) {
  const storage::Catalog& catalog = server.catalog.unguarded();
  return server.progress->applied() != OpTime{} || catalog.snapshot()->closed() || holdsReplicatedData(catalog);
}

/// Services that run on the primary only hear of each change: to become what they are already costs them nothing.
void tellServices(Node& node, const std::vector<Service>& services, const replication::ReplicaView& now) {
  const Payload role =
      now.isWritable() ? local(machines::BecomePrimary{now.topology.memory.term}) : local(machines::StepDown{});
  node.tell(node.address(maintenance::kIndexBuildsPath), role);
  for (const Service& service : services)
    if (service.primaryOnly) node.tell(node.address(servicePath(service.name)), role);
}

/// A warning for a step-down that nobody has asked for.
void logState(server::ServerContext& server, bool led, const replication::ReplicaView& now, const std::string& why) {
  bson::Builder attributes;
  attributes.append("state", machines::EnumNames<replication::MemberState>::name(now.state()));
  attributes.append("writable", now.isWritable()).append("term", now.topology.memory.term);
  attributes.append("primary", now.primary());
  if (!why.empty()) attributes.append("why", why);
  const bool isUnasked = led && !leads(now.topology.memory.phase) && why != replication::kStepDownCommand;
  const auto write = isUnasked ? &log::Log::warning : &log::Log::info;
  (server.log.*write)(Component::kReplication, 21358, "topology", "Replica set state", attributes.finish());
}

/// Once, when it becomes so: its name may have changed, or the config.
void logRemoval(server::ServerContext& server, bool& removed, const replication::ReplicaView& now) {
  const bool isRemoved = now.config() && now.state() == replication::MemberState::kRemoved;
  if (std::exchange(removed, isRemoved) || !isRemoved) return;
  std::vector<std::string> members;
  for (const replication::MemberConfig& member : now.config()->members) members.push_back(member.host);
  server.log.warning(Component::kReplication, 21289, "topology",
                     "The config of the replica set does not name this node: it is REMOVED",
                     bson::doc("nodeName", server.membership->self(), "members", members));
}

void logReach(server::ServerContext& server, const replication::NodeName& host, bool isUp) {
  if (isUp)
    return server.log.info(Component::kReplication, 21285, "topology", "A member is up", bson::doc("host", host));
  bson::Builder attributes;
  attributes.append("host", host);
  if (const std::string why = link::linkError(server.node, host); !why.empty()) attributes.append("error", why);
  server.log.warning(Component::kReplication, 21284, "topology", "A member is down", attributes.finish());
}

void logConfig(server::ServerContext& server, const std::optional<replication::ReplicaSetConfig>& before,
               const replication::ReplicaSetConfig& now) {
  std::vector<std::string> added, removed, changed;
  for (const replication::MemberConfig& member : now.members) {
    const replication::MemberConfig* const known = before ? before->member(member.host) : nullptr;
    if (!known) added.push_back(member.host);
    else if (*known != member) changed.push_back(member.host);
  }
  if (before)
    for (const replication::MemberConfig& member : before->members)
      if (!now.has(member.host)) removed.push_back(member.host);
  server.log.info(
      Component::kReplication, 21286, "topology", "A config of the replica set is in use",
      bson::doc("version", now.version, "term", now.term, "added", added, "removed", removed, "changed", changed));
}

void logRefusal(server::ServerContext& server, const replication::NodeName& host, const std::string& refusal) {
  if (refusal.empty())
    return server.log.warning(Component::kReplication, 21283, "topology",
                              "A member no longer refuses this node's heartbeats", bson::doc("host", host));
  server.log.warning(Component::kReplication, 21282, "topology", "A member refuses this node's heartbeats",
                     bson::doc("host", host, "refusal", refusal));
}

/// Which members are out of reach, and why.
void wireReach(server::ServerContext& server, replication::TopologyParts& topology) {
  topology.refusalChanged = [&server](const replication::NodeName& host, const std::string& refusal) {
    logRefusal(server, host, refusal);
  };
  topology.reachChanged = [&server](const replication::NodeName& host, bool isUp) { logReach(server, host, isUp); };
  topology.linkErrors = [&server](const replication::NodeName& host) { return link::linkError(server.node, host); };
}

}  // namespace

replication::TopologyParts wireTopology(server::ServerContext& server, std::shared_ptr<machines::StorageAccess> storage,
                                        replication::Membership& membership, std::shared_ptr<link::Links> links,
                                        Following& following, const AssemblyOptions& options) {
  replication::TopologyParts topology;
  topology.storage = std::move(storage);
  topology.membership = &membership;
  const auto transition = std::make_shared<replication::StateTransition>(server.node, topology.storage->operations);
  const auto role = std::make_shared<DataRole>(
      server, transition, [builds = &following.builds] { builds->forgetAll(); },  // the new primary discards them
      options.failed);
  topology.changed = [&server, &options, role, led = false, removed = false](const replication::ReplicaView& now,
                                                                             const std::string& why) mutable {
    role->placeChanged(now);
    server.hello.bump();
    tellServices(server.node, options.services, now);
    logState(server, std::exchange(led, leads(now.topology.memory.phase)), now, why);
    logRemoval(server, removed, now);
  };
  // Its source may have frozen: no connection tells.
  topology.membersChanged = [role](const replication::ReplicaView& now) { role->placeChanged(now); };
  wireReach(server, topology);
  topology.configChanged = [&server](const auto& before, const auto& now) { logConfig(server, before, now); };
  topology.holdsData = [&server, told = false]() mutable {
    const bool held = holdsData(server);
    if (held && !std::exchange(told, true))
      server.log.warning(
          Component::kReplication, 21371, "topology",
          "This node holds data and joins no set that others have; empty its data directory, or initiate "
          "the set here");
    return held;
  };
  topology.appliedWhenVoting = [&server](int64_t term) { return server.progress->appliedWhenVoting(term); };
  topology.newestCommitted = [&server] { return server.progress->newestCommitted(); };
  topology.newestTerm = [&server] { return server.progress->newestTerm(); };
  topology.lacksData = [&server, copying = following.isCopying](const replication::Topology::Document& now) {
    return *copying || lacksData(now, server.progress->applied());
  };
  topology.rollsBack = [rollingBack = following.isRollingBack] { return rollingBack->load(); };
  topology.isTooStale = [tooStale = following.isTooStale] { return tooStale->load(); };
  topology.adopted = [&server](const machines::Snapshot<replication::Topology>& now) {
    server.progress->setRole({now.document.config.value_or(replication::ReplicaSetConfig{}), now.document.self,
                              now.memory.term, leads(now.memory.phase)});
  };
  topology.refuseWrites = [transition] { transition->refuseWrites(); };
  topology.lastWrite = [&server, transition] {
    return lastWriteOf(server, transition, server.membership->view()->topology.memory.term);
  };
  topology.positions = [&server] { return server.progress->positions(); };
  topology.acceptWrites = [transition](int64_t term) { transition->acceptWrites(term); };
  topology.catchUp = [role](const replication::CatchUp& wanted) { role->catchUp(wanted); };
  topology.drain = [role](const replication::Drain& wanted) { role->drain(wanted); };
  topology.untilOldRoleEnded = [transition] { return transition->untilOver(); };
  topology.interruptOperations = [&server] {
    const auto done = server::interruptWrites(server);
    server.log.info(Component::kReplication, 21340, "topology", "Operations at a change of role",
                    bson::doc("killed", done.killed, "left", done.left));
    return replication::TopologyParts::Interrupted{done.killed, done.left};
  };
  if (links) {
    topology.setPeers = [&server, links = std::move(links)](std::vector<std::string> peers) {
      for (const std::string& peer : peers) links->know(peer, link::Links::Since::kMember);
      server.node.tell(server.node.address(link::kLinksPath), local(link::SetPeers{std::move(peers)}));
    };
  }
  if (options.adjustTopology) options.adjustTopology(topology);
  return topology;
}

Status checkStoredSet(const machines::StorageAccess& storage, const replication::Membership& membership) {
  return replication::TopologyStore(storage).read(membership.self(), membership.setName()).status();
}

void handOver(server::ServerContext& server) {
  if (!server.membership->view()->isWritable()) return;
  replication::StepDown command;
  command.catchUpPeriod = std::chrono::milliseconds(1000);
  command.handoff = server.parameters.enableElectionHandoff;
  Node& node = server.node;
  const Address topology = node.address(replication::kTopologyPath);
  const Status outcome = node.wait(outcomeOf(node.ask(topology, local(std::move(command)), std::chrono::seconds(2))));
  server.log.info(Component::kReplication, 21344, "main", "Stepped down for shutdown",
                  bson::doc("outcome", outcome.toString()));
}

}  // namespace troupe::supervisors
