// What operators and tools ask of a replica set's member. This node is none, and says so.
#include "actors/commands/families.hpp"

namespace troupe::commands {

namespace {

Task<Status> notReplicated(Request&) { co_return Status(ErrorCode::kNoReplicationEnabled, "not running with --replSet"); }

Task<Status> cannotInitiate(Request&) {
  co_return Status(ErrorCode::kNoReplicationEnabled, "This node was not started with replication enabled.");
}

constexpr Command kCommands[] = {
    {.name = "replSetGetStatus",
     .summary = "the state of the replica set; on a standalone node NoReplicationEnabled",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetGetStatus},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = notReplicated},
    {.name = "replSetGetConfig",
     .summary = "the configuration of the replica set; on a standalone node NoReplicationEnabled",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetGetConfig},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = notReplicated},
    {.name = "replSetInitiate",
     .summary = "starts a replica set; on a standalone node NoReplicationEnabled",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetConfigure},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = cannotInitiate},
};

}  // namespace

std::span<const Command> replicationCommands() { return kCommands; }

}  // namespace troupe::commands
