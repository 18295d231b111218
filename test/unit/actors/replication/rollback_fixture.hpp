#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "actors/replication/replication_progress.hpp"
#include "actors/replication/rollback_actor.hpp"
#include "messaging/bson/json.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/replication/other_log.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::replication {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;
using storage::LockMode;
using storage::ResourceId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A member whose log ends otherwise than that of its source, and the actor that takes it back.
class RollbackActorTest : public ::testing::Test {
 protected:
  static constexpr const char* kPath = "/test/rollback";  ///< beside the node's own, which has nothing to do

  explicit RollbackActorTest(storage::DeterministicDisk disk = {})
      : server({.disk = std::move(disk), .replicated = true, .name = "n1:1", .replicaSet = "rs"}) {
    server.server->progress->onStable(nullptr);  // each test says what is stable
    commands::becomePrimary(server);
    insert(1);
    actor = server.node.spawn<RollbackActor>(kPath, parts());
    server.node.run();
    whenStarted.swap(steps);
  }

  RollbackParts parts() {
    RollbackParts made;
    made.storage = std::make_shared<machines::StorageAccess>(server.assembly.storageAccess());
    made.oplog = server.assembly.oplog();
    made.endOfLog = server.assembly.endOfLog();
    made.members = &other;
    made.log = &server.log;
    made.filesDirectory = directory.path() + "/rollback";
    made.writesFiles = [this] { return writesFiles; };
    made.stable = [this] { return stable; };
    made.history = &history;
    made.resetTimes = [this](const OpTime& to) {
      resets.push_back(to);
      if (whileDown) whileDown();
    };
    made.stopFollowing = [this] { return noted("stop following"); };
    made.followAgain = [this] { steps.push_back("follow again"); };
    made.copyAnew = [this](const OpTime& committed) -> StatusWith<bool> { return committed == copied; };
    made.setState = [this](bool on) { return noted(on ? "ROLLBACK" : "SECONDARY"); };
    made.interruptOperations = [this] { ++interruptions; };
    made.invalidate = [this] { steps.push_back("invalidate"); };
    made.showId = [this](int64_t id) { ids.push_back(id); };
    made.over = [this](const RollbackSummary& done) { summary = done; };
    made.fail = [this](const Status& why) {
      failures.push_back(why.reason());
      codes.push_back(why.code());
    };
    return made;
  }
  Task<Status> noted(std::string step) {
    steps.push_back(step);
    if (step != "stop following" && unanswered > 0) {
      --unanswered;
      co_return Status(ErrorCode::kExceededTimeLimit, "the topology did not answer in time");
    }
    co_return step == "ROLLBACK" ? entering : Status::OK();
  }

  void insert(int id, const char* collection = "c") {
    bson::Builder command;
    command.append("insert", collection).openArray("documents").push(bson::doc("_id", id)).close();
    const auto reply = server.run(command.finish());
    ASSERT_TRUE(reply["ok"].truthy() && !reply["writeErrors"]) << bson::toRelaxedJson(reply);
  }
  std::vector<int> found(const char* collection = "c") { return found(server, collection); }
  static std::vector<int> found(CommandNode& node, const char* collection = "c") {
    std::vector<int> all;
    const auto reply = node.run(bson::doc("find", collection, "sort", bson::doc("_id", 1)));
    for (const auto& each : reply["cursor"].asDocument()["firstBatch"].asArray())
      all.push_back(each.asDocument()["_id"].asInt32());
    return all;
  }
  std::vector<bson::Document> ownLog() {
    storage::OperationContext reader({.sessions = server.storageSessions});
    auto cursor = server.assembly.oplog()->cursor(reader.recoveryUnit());
    std::vector<bson::Document> entries;
    while (*cursor->next()) entries.emplace_back(cursor->entry());
    return entries;
  }
  /// The other has this node's log up to now, and then an entry of a later term.
  OpTime leaveLogsHere() {
    other.entries = ownLog();
    const bson::View last = other.entries.back();
    const OpTime common{last["t"].toInt64(), last["ts"].asTimestamp()};
    const bson::Timestamp later{common.timestamp.seconds + 100, 1};
    other.entries.push_back(bson::doc("ts", later, "t", common.term + 1));
    return common;
  }
  void stableAt(const OpTime& time) {
    stable = time;
    ASSERT_TRUE(server.engine->setStableTimestamp(time.timestamp).isOK());
    ASSERT_TRUE(server.engine->setOldestTimestamp(time.timestamp).isOK());
  }
  void diverge() {
    server.node.tell(actor, local(Diverged{"b:1"}));
    for (int i = 0; i < 100; ++i) server.node.advance(10ms);
  }
  std::string phase() {
    std::string shown;
    for (const auto& row : server.node.registry().rows({}))
      if (row.toBson()["path"].toStringOr() == kPath) shown = row.toBson()["phase"].toStringOr();
    return shown;
  }

  storage::TemporaryDirectory directory;
  OtherLog other;
  OpTime copied{-1, {}};  ///< where a copy of the data has ended
  bool writesFiles = true;
  OpTime stable;
  Status entering;
  int unanswered = 0;            ///< questions to the topology
  std::vector<ErrorCode> codes;  ///< of the failures
  std::vector<std::string> steps, failures;
  std::vector<std::string> whenStarted;  ///< the steps before any rollback
  std::vector<OpTime> resets;
  std::vector<int64_t> ids;
  std::optional<RollbackSummary> summary;
  std::function<void()> whileDown;
  int interruptions = 0;
  CommandNode server;
  KeptHistory history{server.assembly.catalog(), server.assembly.parameters().minSnapshotHistoryWindowInSeconds,
                      server.assembly.environment()};
  Address actor;
};

}  // namespace troupe::replication
