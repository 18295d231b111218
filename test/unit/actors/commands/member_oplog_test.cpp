#include "actors/machines/collection_store.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/replication/topology_actor.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "storage/oplog/truncate_after_point.hpp"
#include "test/unit/actors/commands/replicated_member_fixture.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::commands {
using namespace server;

/// A member of a replica set of its own, and what its clients see of its log.
class MemberOplogTest : public CommandTest {
 protected:
  MemberOplogTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}

  /// A service's document, in a collection that is made with it if it is missing.
  static Status write(CommandNode& node, int id) {
    machines::CollectionStore store(node.assembly.storageAccess(), storage::Namespace("config", "things"));
    if (const auto* replicated = node.server->operations.replicated)
      store.serveIn(replicated->fence.term().value_or(1));
    return machines::done(node, store.put(bson::doc("_id", id), machines::Durability::kLocal));
  }
  static std::vector<bson::Document> entries(CommandNode& node, const char* find = R"({"find": "oplog.rs"})") {
    std::vector<bson::Document> found;
    const bson::Document reply = node.run(parse(find), "local");
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    for (const auto& e : reply.view().at("cursor.firstBatch").asArray()) found.emplace_back(e.asDocument());
    return found;
  }
};

// OPL-006
TEST_F(MemberOplogTest, TheTimesOfItsWritesAreThoseOfItsEnvironmentsClock) {
  becomePrimary(server);
  for (int id = 1; id <= 3; ++id) {
    server.node.advance(100s);
    const int64_t before = server.wallMillis() / 1000;
    ASSERT_TRUE(write(server, id).isOK());
    const auto seconds = static_cast<int64_t>(entries(server).back()["ts"].asTimestamp().seconds);
    EXPECT_GE(seconds, before);
    EXPECT_LE(seconds, server.wallMillis() / 1000);
  }
}

TEST_F(MemberOplogTest, CannotBeReadDuringAnInitialSync) {  // ISY-003
  becomePrimary(server);
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 60, "force": true})", "admin"));
  server.node.tell(server.node.address(replication::kTopologyPath), local(replication::CopyingData{true}));
  server.node.run();
  ASSERT_EQ(run(R"({"replSetGetStatus": 1})", "admin")["myState"].toInt64(), 5);
  EXPECT_EQ(code(R"({"find": "oplog.rs"})", "local"), 13436);
  EXPECT_EQ(code(R"({"aggregate": "oplog.rs", "pipeline": [], "cursor": {}})", "local"), 13436);
  EXPECT_TRUE(succeeds(R"({"find": "other"})", "local"));
  EXPECT_EQ(code(R"({"find": "c", "$readPreference": {"mode": "nearest"}})"), 13436) << "nor are there data";
  server.node.tell(server.node.address(replication::kTopologyPath), local(replication::CopyingData{false}));
  server.node.run();
  EXPECT_FALSE(entries(server).empty());
}

TEST_F(MemberOplogTest, AWriteThatChangedNothingHasTheOpTimeOfTheNewestOperation) {
  becomePrimary(server);
  ASSERT_TRUE(write(server, 1).isOK());
  const auto newest = storage::OplogEntry::parse(entries(server).back())->opTime;
  auto open = server.server->operations.replicated->slots.reserve(1, 1);  // of nothing that could be awaited
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 1}})", "local"));
  const auto update = server.begin(
      parse(R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"a": 1}}}], "writeConcern": {"j": true}})"),
      "local");
  EXPECT_EQ(update->operation.lastOpTime(), newest);
  open.release();
  for (int steps = 0; !update->done && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(update->done);
  EXPECT_EQ(server.storageSessions.statistics().lent, 0);
}

TEST_F(MemberOplogTest, ACommandThatWroteAndMetOthersWritesAwaitsTheNewest) {
  becomePrimary(server);
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})", "local"));
  ASSERT_TRUE(write(server, 1).isOK());
  const auto newest = storage::OplogEntry::parse(entries(server).back())->opTime;
  for (
      const char* command : {
          R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}},
                                          {"q": {"_id": 1}, "u": {"$set": {"b": null}}},
                                          {"q": {"_id": 1}, "u": {"$set": {"b": null}}}], "writeConcern": {"j": true}})",
          R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}, {"q": {"_id": 1}, "limit": 1}], "writeConcern": {"j": true}})",
          R"({"insert": "c", "documents": [{"_id": 5}, {"_id": 5}], "writeConcern": {"j": true}})",
      }) {
    const auto mixed = server.begin(parse(command), "local");
    for (int steps = 0; !mixed->done && steps < 100; ++steps) server.node.advance(10ms);
    ASSERT_TRUE(mixed->done);
    EXPECT_TRUE(mixed->operation.hasWritten()) << command;
    EXPECT_EQ(mixed->operation.lastOpTime(), newest) << command;
  }
  EXPECT_EQ(server.locks.inUse(), 0u);
}

TEST_F(MemberOplogTest, AnOperationWithoutTheNodesServicesCannotWriteWhatIsReplicated) {
  const auto insert = [](CommandNode& node) {
    storage::OperationContext unaware({.sessions = node.storageSessions});
    storage::WriteUnitOfWork work(unaware.recoveryUnit());
    return node.catalog->find({"config", "things"})->insert(unaware.recoveryUnit(), bson::doc("_id", 2)).status();
  };
  becomePrimary(server);
  ASSERT_TRUE(write(server, 1).isOK());
  EXPECT_THROW((void)insert(server), BrokenInvariant);
  CommandNode alone;
  ASSERT_TRUE(write(alone, 1).isOK());
  EXPECT_TRUE(insert(alone).isOK());
}

// OPL-001
TEST_F(MemberOplogTest, TheLogIsACappedCollectionWithoutIndexes) {
  EXPECT_TRUE(answers(R"({"listCollections": 1, "filter": {"name": "oplog.rs"}})",
                      R"({"ok": 1, "cursor": {"firstBatch": [{"name": "oplog.rs", "type": "collection",
                          "options": {"capped": true}}]}})",
                      "local"));
  EXPECT_TRUE(answers(R"({"listIndexes": "oplog.rs"})", R"({"ok": 1, "cursor": {"firstBatch": []}})", "local"));
  EXPECT_TRUE(answers(R"({"collStats": "oplog.rs"})", R"({"ok": 1, "capped": true})", "local"));
}

// OPL-002
TEST_F(MemberOplogTest, ANodeThatStandsAloneHasNone) {
  CommandNode alone;
  const auto listed = alone.run(parse(R"({"listCollections": 1})"), "local");
  EXPECT_TRUE(holds(listed, parse(R"({"ok": 1, "cursor": {"firstBatch": []}})")));
  ASSERT_TRUE(write(alone, 1).isOK());
  EXPECT_TRUE(entries(alone).empty());
}

// OPL-004, OPL-006, OPL-007
TEST_F(MemberOplogTest, EveryReplicatedWriteHasAnEntryThatClientsFind) {
  EXPECT_EQ(write(server, 1), ErrorCode::kNotWritablePrimary);
  becomePrimary(server);
  ASSERT_TRUE(write(server, 1).isOK());
  ASSERT_TRUE(write(server, 2).isOK());
  const auto found = entries(server);
  std::string kinds;
  bson::Timestamp last;
  for (const bson::Document& document : found) {
    const auto entry = storage::OplogEntry::parse(document);
    ASSERT_TRUE(entry.isOK()) << entry.status().toString();
    EXPECT_FALSE(document["_id"].ok());
    EXPECT_GT(entry->opTime.timestamp, last);
    EXPECT_GE(entry->opTime.term, 1);
    last = entry->opTime.timestamp;
    kinds += static_cast<char>(entry->operation.kind);
  }
  EXPECT_EQ(kinds, "nncii") << "behind the notes of the set and the term";
  EXPECT_TRUE(answers(R"({"count": "oplog.rs"})", R"({"ok": 1, "n": 5})", "local"));
  EXPECT_EQ(entries(server, R"({"find": "oplog.rs", "filter": {"op": "i", "ns": "config.things"}})").size(), 2u);
  const auto newest = entries(server, R"({"find": "oplog.rs", "sort": {"$natural": -1}, "limit": 1})");
  ASSERT_EQ(newest.size(), 1u);
  EXPECT_EQ(newest[0], found.back());
}

// OPL-008
TEST_F(MemberOplogTest, WhatIsLocalIsNotLogged) {
  becomePrimary(server);
  server.node.run();
  const auto before = entries(server);
  ASSERT_TRUE(succeeds(R"({"insert": "x", "documents": [{"_id": 1}]})", "local"));
  EXPECT_EQ(entries(server), before);
}

/// No reader of an earlier time asks for it: its table does not wait until the oldest time has passed the drop.
TEST_F(MemberOplogTest, WhatIsLocalGoesAtOnce) {  // DRP-001
  becomePrimary(server);
  ASSERT_TRUE(succeeds(R"({"insert": "x", "documents": [{"_id": 1}]})", "local"));
  ASSERT_TRUE(succeeds(R"({"insert": "y", "documents": [{"_id": 1}]})"));
  const std::string ident = server.catalog->find({"local", "x"})->ident();
  const std::string replicated = server.catalog->find({"test", "y"})->ident();
  ASSERT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
  const auto has = [&](const std::string& table) { return server.engine->disk().tables.contains(table); };
  ASSERT_TRUE(has(ident) && has(replicated));
  const auto before = entries(server).size();
  ASSERT_TRUE(succeeds(R"({"drop": "x"})", "local"));
  EXPECT_EQ(entries(server).size(), before);
  ASSERT_TRUE(succeeds(R"({"drop": "y"})"));
  ASSERT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
  server.node.advance(3s);
  EXPECT_FALSE(has(ident));
  EXPECT_TRUE(has(replicated)) << "its history is kept for readers of earlier times";
}

TEST_F(MemberOplogTest, ClientsDoNotWriteTheLog) {
  becomePrimary(server);
  ASSERT_TRUE(write(server, 1).isOK());
  const auto before = entries(server);
  const auto refused = static_cast<int64_t>(ErrorCode::kIllegalOperation);
  const auto writeError = [&](const char* command) {
    const auto reply = run(command, "local");
    const auto errors = reply["writeErrors"];
    return errors.ok() ? errors.asArray().first().asDocument()["code"].toInt64() : reply["code"].toInt64();
  };
  EXPECT_EQ(writeError(R"({"insert": "oplog.rs", "documents": [{"_id": 1}]})"), refused);
  EXPECT_EQ(writeError(R"({"update": "oplog.rs", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}]})"), refused);
  EXPECT_EQ(writeError(R"({"delete": "oplog.rs", "deletes": [{"q": {}, "limit": 0}]})"), refused);
  EXPECT_EQ(code(R"({"drop": "oplog.rs"})", "local"), refused);
  EXPECT_EQ(code(R"({"createIndexes": "oplog.rs", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})", "local"), refused);
  EXPECT_EQ(code(R"({"convertToCapped": "oplog.rs", "size": 100000})", "local"), refused);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "oplog.rs", "toCollection": "copy", "size": 100000})", "local"),
            refused);
  EXPECT_FALSE(server.catalog->find({"local", "copy"}));
  EXPECT_EQ(entries(server), before);
}

TEST_F(MemberOplogTest, ATailThatAwaitsDataIsAnsweredByTheEntry) {
  becomePrimary(server);
  ASSERT_TRUE(write(server, 1).isOK());
  const auto opened = run(R"({"find": "oplog.rs", "tailable": true, "awaitData": true})", "local");
  const int64_t id = opened.view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0);
  const auto waiting =
      server.begin(bson::doc("getMore", id, "collection", "oplog.rs", "maxTimeMS", int64_t{60'000}), "local");
  server.node.advance(5s);
  EXPECT_FALSE(waiting->done);
  ASSERT_TRUE(write(server, 2).isOK());
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), parse(R"({"cursor": {"nextBatch": [{"op": "i", "o": {"_id": 2}}]}})")));
}

// OPL-003
TEST_F(MemberOplogTest, AfterACrashTheLogGoesOnBehindItsNewestEntry) {
  becomePrimary(server);
  ASSERT_TRUE(write(server, 1).isOK());
  server.node.advance(1s);  // for the journal
  const auto before = entries(server);
  ASSERT_EQ(before.size(), 4u);
  CommandNode again({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  EXPECT_EQ(entries(again), before);
  EXPECT_EQ(again.server->operations.replicated->slots.newest(), before.back()["ts"].asTimestamp());
  untilPrimary(again);
  ASSERT_TRUE(write(again, 2).isOK());
  const auto after = entries(again);
  ASSERT_EQ(after.size(), 6u) << "the term is noted, and the write";
  EXPECT_GT(after.back()["ts"].asTimestamp(), before.back()["ts"].asTimestamp());
  EXPECT_GT(after.back()["t"].asInt64(), before.back()["t"].asInt64()) << "it was elected anew";
}

// REC-003, REC-007
TEST_F(ReplicatedMemberTest, HasAfterACrashWhatItsLogHolds) {
  CommandNode first(member({}, 1));
  becomePrimary(first);
  ASSERT_TRUE(write(first, 1).isOK());
  ASSERT_TRUE(write(first, 2).isOK());
  ASSERT_TRUE(write(first, 3, machines::Durability::kLocal).isOK());
  CommandNode second(member(first.engine->disk(), 2));
  EXPECT_EQ(count(second), 2);
  untilPrimary(second);
  ASSERT_TRUE(write(second, 4).isOK());
  EXPECT_EQ(count(second), 3);
}

// REC-009
TEST_F(ReplicatedMemberTest, AStartHasAppliedAndMadeDurableWhatItsLogHolds) {
  CommandNode first(member({}, 1));
  becomePrimary(first);
  ASSERT_TRUE(write(first, 1).isOK());
  const OpTime end = first.server->progress->applied();
  ASSERT_EQ(end.timestamp, first.server->operations.replicated->visibility.get());
  CommandNode second(member(first.engine->disk(), 2));
  EXPECT_EQ(second.server->progress->applied(), end);
  EXPECT_EQ(second.server->progress->durable(), end);
  EXPECT_EQ(second.server->progress->lastApplied(), end.timestamp) << "what snapshots read at";
}

// REC-006
TEST_F(ReplicatedMemberTest, AStopInOrderLeavesNothingToCut) {
  CommandNode first(member({}, 1));
  becomePrimary(first);
  ASSERT_TRUE(write(first, 1).isOK());
  ASSERT_GT(endOfLog(first), bson::Timestamp());
  EXPECT_EQ(first.run(R"({"count": "replset.oplogTruncateAfterPoint"})"_json, "local")["n"].toInt64(), 1);
  std::vector<bson::Timestamp> written;  // with each write to the disk, the last of which is that of the end
  first.engine->setDiskFault([&](storage::DeterministicEngine::DiskOperation) {
    const auto table = first.engine->openTable(storage::TruncateAfterPoint::kIdent);
    storage::Transaction reader(*first.engine, *table);
    const auto cursor = reader.cursor();
    EXPECT_TRUE(*cursor->next());
    written.push_back(bson::View(cursor->value().data())["oplogTruncateAfterPoint"].asTimestamp());
    return Status::OK();
  });
  first.assembly.stop();
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.back(), bson::Timestamp());
}

// REC-005: of two concurrent writes the later one may reach the disk first; others may have got the earlier one.
TEST_F(ReplicatedMemberTest, ACrashLeavesNoHoleInItsLog) {
  CommandNode first(member({}, 1));
  becomePrimary(first);
  ASSERT_TRUE(write(first, 1).isOK());
  auto hole = first.server->operations.replicated->slots.reserve(termOf(first), 1);
  ASSERT_TRUE(write(first, 2, machines::Durability::kLocal).isOK());
  ASSERT_TRUE(first.engine->flushLog().isOK());  // the system wrote the journal before its flush
  CommandNode second(member(first.engine->disk(), 2));
  EXPECT_EQ(count(second), 1) << "cut off behind the hole";
  hole.release();
  first.node.advance(std::chrono::seconds(1));
  EXPECT_EQ(endOfLog(first), first.server->operations.replicated->visibility.get());
  CommandNode third(member(first.engine->disk(), 3));
  EXPECT_EQ(count(third), 2);
}

/// Nothing of the collection is replayed: what was counted behind the hole has to be in doubt.
TEST_F(ReplicatedMemberTest, AStartThatCutsItsLogCountsRightly) {
  CommandNode first(member({}, 1));
  becomePrimary(first);
  ASSERT_TRUE(write(first, 1).isOK());
  first.node.advance(std::chrono::seconds(1));
  ASSERT_TRUE(first.engine->checkpoint({.stable = true}).isOK());
  auto hole = first.server->operations.replicated->slots.reserve(termOf(first), 1);
  ASSERT_TRUE(write(first, 2, machines::Durability::kLocal).isOK());
  ASSERT_TRUE(first.server->catalog.flush().isOK());
  ASSERT_TRUE(first.engine->flushLog().isOK());
  CommandNode second(member(first.engine->disk(), 2));
  EXPECT_EQ(count(second), 1);
  hole.release();
}

TEST_F(ReplicatedMemberTest, AWriteBehindAHoleIsNotDurable) {
  CommandNode node(member({}, 1));
  becomePrimary(node);
  auto hole = node.server->operations.replicated->slots.reserve(termOf(node), 1);
  machines::CollectionStore store(node.assembly.storageAccess(), storage::Namespace("config", "things"));
  store.serveIn(termOf(node));
  bool durable = false;
  auto keep = [](bool* to, Task<Status> from) -> Task<void> { *to = (co_await std::move(from)).isOK(); };
  node.node.start(keep(&durable, store.put(bson::doc("_id", 1), machines::Durability::kJournaled)));
  node.node.advance(std::chrono::seconds(5));
  EXPECT_FALSE(durable) << "a start would cut it off";
  hole.release();
  node.node.advance(std::chrono::seconds(1));
  EXPECT_TRUE(durable);
}

/// One flush waits for the hole, and those that come meanwhile are not in it.
TEST_F(ReplicatedMemberTest, WritesThatComeWhileAFlushWaitsForAHoleAreFlushedNext) {
  CommandNode node(member({}, 1));
  becomePrimary(node);
  auto hole = node.server->operations.replicated->slots.reserve(termOf(node), 1);
  std::vector<std::shared_ptr<Exchange>> writes;
  for (int id = 1; id <= 3; ++id) {
    writes.push_back(node.begin(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", id)}, "writeConcern",
                                          bson::doc("w", 1, "j", true)),
                                "test", node.connect()));
    node.node.run();
  }
  for (const auto& write : writes) EXPECT_FALSE(write->done);
  hole.release();
  node.node.run();
  for (const auto& write : writes) EXPECT_TRUE(write->done) << "not once an interval has passed";
}

/// Such an entry could not be sent to anybody: the update's delta holds the name of the field that goes, and its whole
/// document goes beside the `_id`.
TEST_F(MemberOplogTest, AWriteWhoseEntryIsTooLargeIsRefused) {
  const auto text = [](size_t size) { return std::string(size, 'x'); };
  constexpr size_t kMany = 5'000'000;
  becomePrimary(server);
  ASSERT_TRUE(server
                  .run(bson::doc("insert", "c", "documents",
                                 std::vector{bson::doc("_id", text(kMany), text(2 * kMany), 1)}))["ok"]
                  .truthy());
  const bson::Document update = bson::doc("q", bson::Document(), "u", bson::doc("z", text(2 * kMany)));
  const bson::Document reply = server.run(bson::doc("update", "c", "updates", std::vector{update}));
  EXPECT_EQ(reply.view().at("writeErrors.0.code").toInt64(), 10334) << bson::toRelaxedJson(reply).substr(0, 400);
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"z": {"$exists": true}}})", R"({"n": 0})"));
  const auto validator = [&](char c) {
    return bson::doc("collMod", "c", "validator", bson::doc("a", bson::doc("$ne", std::string(9'000'000, c))));
  };
  EXPECT_TRUE(server.run(validator('a'))["ok"].truthy());
  EXPECT_EQ(server.run(validator('b'))["code"].toInt64(), 10334);
  EXPECT_TRUE(succeeds(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"n": 1}}}]})"));
}

/// The vote of a member, the end of its log: a client that changed them could make it vote twice, or lose writes.
TEST_F(MemberOplogTest, ClientsDoNotWriteWhatAMemberKeepsForItself) {
  becomePrimary(server);
  for (const char* command :
       {R"({"update": "replset.election", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}]})",
        R"({"delete": "replset.election", "deletes": [{"q": {}, "limit": 0}]})",
        R"({"insert": "replset.election", "documents": [{"_id": 9}]})", R"({"drop": "replset.election"})",
        R"({"createIndexes": "replset.election", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
        R"({"insert": "replset.oplogTruncateAfterPoint", "documents": [{"_id": 9}]})"}) {
    const bson::Document reply = server.run(parse(command), "local");
    const bool isWrite = reply["writeErrors"].ok();
    EXPECT_EQ(isWrite ? reply.view().at("writeErrors.0.code").toInt64() : reply["code"].toInt64(), 20)
        << command << bson::toRelaxedJson(reply);
  }
}

}  // namespace troupe::commands
