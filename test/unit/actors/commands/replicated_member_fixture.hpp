#pragma once
#include <memory>
#include <utility>

#include "actors/machines/collection_store.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe::commands {
using namespace server;

/// A member whose replicated tables are not logged: a crash leaves the last checkpoint, the log and what is local.
class ReplicatedMemberTest : public ::testing::Test {
 protected:
  static CommandNode::Options member(storage::DeterministicDisk disk, int seed) {
    return {.disk = std::move(disk),
            .replicated = true,
            .name = "n1:1",
            .replicaSet = "rs",
            .time = std::make_shared<VirtualEnvironment>(seed)};  // each draws other names for its tables
  }
  static Status write(CommandNode& node, int id, machines::Durability durability = machines::Durability::kJournaled) {
    machines::CollectionStore store(node.assembly.storageAccess(), storage::Namespace("config", "things"));
    store.serveIn(termOf(node));
    return machines::done(node, store.put(bson::doc("_id", id), durability));
  }
  static int64_t count(CommandNode& node) {
    const auto things = node.catalog->find({"config", "things"});
    return things ? things->records().count() : -1;
  }
  static bson::Timestamp endOfLog(CommandNode& node) {
    const auto reply = node.run(R"({"find": "replset.oplogTruncateAfterPoint"})"_json, "local");
    return reply.view().at("cursor.firstBatch.0.oplogTruncateAfterPoint").asTimestamp();
  }
};

}  // namespace troupe::commands
