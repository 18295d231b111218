#pragma once
#include "storage/oplog/replicated_writes.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {

/// Until the node takes writes in a term.
inline void untilPrimary(CommandNode& node) {
  for (int steps = 0; !node.server->operations.replicated->fence.isOpen() && steps < 600; ++steps)
    node.node.advance(100ms);
  ASSERT_TRUE(node.server->operations.replicated->fence.isOpen());
}

/// In which the node takes writes, as a primary does.
inline int64_t termOf(CommandNode& node) { return node.server->operations.replicated->fence.term().value(); }

/// Makes a node of the name "n1:1" the primary, and only member, of the replica set "rs".
inline void becomePrimary(CommandNode& node) {
  const auto initiated =
      node.run(R"({"replSetInitiate": {"_id": "rs", "members": [{"_id": 0, "host": "n1:1"}]}})"_json, "admin");
  ASSERT_TRUE(initiated["ok"].truthy()) << bson::toRelaxedJson(initiated);
  untilPrimary(node);
}

inline void controlFlusher(CommandNode& node, supervisors::ControlAction action) {
  const Status done = node.node.wait(
      supervisors::controlActor(node.node, supervisors::kJournalFlusherPath, action, "the commit point is held"));
  ASSERT_TRUE(done.isOK()) << done.toString();
}
/// Nothing that is written from now on is on the disk; for the only member of a set, nothing is committed.
inline void holdCommits(CommandNode& node) { controlFlusher(node, supervisors::ControlAction::kPark); }
inline void letCommit(CommandNode& node) {
  controlFlusher(node, supervisors::ControlAction::kResume);
  node.node.advance(1s);
}

}  // namespace troupe::commands
