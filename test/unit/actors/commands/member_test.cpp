// Commands to a member of a replica set: the concerns of reads and writes, and the times that go with them.
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
namespace {

/// A set of one, whose only member is primary.
class MemberTest : public CommandTest {
 protected:
  MemberTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    EXPECT_TRUE(succeeds(R"({"replSetInitiate": {"_id": "rs", "members": [{"_id": 0, "host": "n1:1"}]}})", "admin"));
    for (int steps = 0; !isWritable() && steps < 600; ++steps) server.node.advance(std::chrono::milliseconds(100));
    EXPECT_TRUE(isWritable());
    server.node.advance(std::chrono::seconds(1));
  }
  bool isWritable() const { return server.server->membership->view()->isWritable(); }
  bson::Timestamp timeOf(const bson::Document& reply) { return reply["operationTime"].asTimestamp(); }
  int64_t term() const { return server.server->membership->view()->topology.memory.term; }
  void holdCommits() { commands::holdCommits(server); }
  /// Another member tells of a time 50 seconds ahead.
  bson::Timestamp hearsOfLater() {
    const auto now = timeOf(insert(1));
    const bson::Timestamp later{now.seconds + 50, 1};
    const bson::Document reply = server.run(
        bson::doc("ping", 1, "$clusterTime", bson::doc("clusterTime", later, "signature", bson::Document())));
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return later;
  }
  void losesAndRegainsItsRole() {
    const int64_t before = term();
    ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1, "force": true})", "admin"));
    ASSERT_FALSE(isWritable());
    for (int steps = 0; !isWritable() && steps < 600; ++steps) server.node.advance(std::chrono::milliseconds(100));
    ASSERT_TRUE(isWritable());
    ASSERT_GT(term(), before);
  }
  /// The code of its error once it has ended, within a second; 0 for success.
  int64_t endsWith(Exchange& exchange) {
    for (int steps = 0; !exchange.done && steps < 100; ++steps) server.node.advance(std::chrono::milliseconds(10));
    if (!exchange.done) return -1;
    const bson::Document reply = exchange.takeReply();
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-2);
  }
  bson::Document insert(int id) {
    return run(R"({"insert": "c", "documents": [{"_id": )" + std::to_string(id) + "}]}");
  }
  std::string stamped(const char* level, const char* field, bson::Timestamp time) {
    return R"({"find": "c", "sort": {"_id": 1}, "readConcern": {"level": ")" + std::string(level) + "\", \"" + field +
           R"(": {"$timestamp": {"t": )" + std::to_string(time.seconds) + R"(, "i": )" +
           std::to_string(time.increment) + "}}}}";
  }
};

TEST_F(MemberTest, BeginsItsLogWithTheSetAndTheTerm) {
  const auto entries = batch(R"({"find": "oplog.rs", "projection": {"op": 1, "o": 1}})", "local");
  ASSERT_GE(entries.size(), 2u);
  EXPECT_NE(entries[0].find("initiating set"), std::string::npos) << entries[0];
  EXPECT_NE(entries[1].find("new primary"), std::string::npos) << entries[1];
}

/// A driver compares the version with that of its last hello: the same one means that it knows all of this already.
TEST_F(MemberTest, AFailureOfAChangeThatIsNotPublishedHasNoTopologyVersion) {
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 2},
                           "data": {"failCommands": ["find"], "errorCode": 11602}})",
                       "admin"));
  storage::WriteFence& fence = server.server->operations.replicated->fence;
  const int64_t term = termOf(server);
  fence.close([] {});
  const bson::Document early = run(R"({"find": "c"})");
  EXPECT_EQ(early["code"].toInt64(), 11602);
  EXPECT_FALSE(early["topologyVersion"].ok()) << "it is primary as yet";
  fence.open(term);
  EXPECT_EQ(run(R"({"find": "c"})").view().at("topologyVersion.counter").toInt64(-1), server.hello.counter())
      << "the change is over, and drivers know it";
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1, "force": true})", "admin"));
  const bson::Document late = insert(1);
  EXPECT_EQ(late["code"].toInt64(), 10107);
  EXPECT_EQ(late.view().at("topologyVersion.counter").toInt64(-1), server.hello.counter());
}

TEST_F(MemberTest, AcknowledgesAWriteWhenAMajorityHasIt) {
  const auto reply = insert(1);
  EXPECT_TRUE(holds(reply, parse(R"({"ok": 1, "n": 1})")));
  EXPECT_FALSE(reply["writeConcernError"].ok()) << bson::toRelaxedJson(reply);
  EXPECT_GE(server.server->progress->commitPoint().timestamp, timeOf(reply)) << "the default is a majority";
  EXPECT_EQ(server.server->progress->waiters(), 2u) << "the reporter, and what wakes majority tails";
}

TEST_F(MemberTest, SaysWhichWriteConcernItsSetCannotGive) {
  const auto withConcern = [](const char* concern) {
    return R"({"insert": "c", "documents": [{}], "writeConcern": )" + std::string(concern) + "}";
  };
  EXPECT_TRUE(answers(withConcern(R"({"w": 2})"), R"({"ok": 1, "n": 1, "writeConcernError": {"code": 100}})"));
  EXPECT_TRUE(answers(withConcern(R"({"w": "here"})"), R"({"ok": 1, "n": 1, "writeConcernError": {"code": 79}})"));
  EXPECT_FALSE(run(withConcern(R"({"w": 1, "j": true})"))["writeConcernError"].ok());
  EXPECT_FALSE(run(withConcern(R"({"w": "majority"})"))["writeConcernError"].ok());
}

TEST_F(MemberTest, TellsTheTimeOfEachOperation) {  // CLK-015
  const auto first = insert(1), second = insert(2);
  EXPECT_GT(timeOf(second), timeOf(first));
  const auto read = run(R"({"find": "c"})");
  EXPECT_EQ(timeOf(read), timeOf(second));
  EXPECT_GE(read.view().at("$clusterTime.clusterTime").asTimestamp(), timeOf(second));
  EXPECT_TRUE(run(R"({"nonsense": 1})")["operationTime"].ok()) << "errors tell it too";
}

TEST_F(MemberTest, GoesOnFromTheTimeThatAClientHasSeen) {  // CLK-005
  const auto now = timeOf(insert(1));
  const bson::Timestamp later{now.seconds + 50, 7};
  EXPECT_EQ(run(R"({"ping": 1, "$clusterTime": {"clusterTime": {"$timestamp": {"t": )" + std::to_string(later.seconds) +
                R"(, "i": 7}}, "signature": {}}})")["ok"]
                .toInt64(),
            1);
  EXPECT_GT(timeOf(insert(2)), later);
  EXPECT_EQ(code(R"({"ping": 1, "$clusterTime": {"clusterTime": {"$timestamp": {"t": 4000000000, "i": 1}}}})"), 205);
}

TEST_F(MemberTest, ReadsWhatAMajorityHas) {
  insert(1);
  EXPECT_EQ(batch(R"({"find": "c", "readConcern": {"level": "majority"}})").size(), 1u);
  EXPECT_EQ(batch(R"({"find": "c", "readConcern": {"level": "linearizable"}})").size(), 1u);
  EXPECT_EQ(batch(R"({"find": "c", "readConcern": {"level": "available"}})").size(), 1u);
}

TEST_F(MemberTest, ReadsAsOfATime) {
  const auto first = timeOf(insert(1));
  insert(2);
  EXPECT_EQ(batch(stamped("snapshot", "atClusterTime", first)).size(), 1u);
  EXPECT_EQ(batch(R"({"find": "c", "readConcern": {"level": "snapshot"}})").size(), 2u);
  EXPECT_EQ(batch(stamped("local", "afterClusterTime", first)).size(), 2u);
  EXPECT_EQ(batch(stamped("majority", "afterClusterTime", first)).size(), 2u);
  const bson::Timestamp unknown{first.seconds + 1000, 1};
  EXPECT_EQ(code(stamped("local", "afterClusterTime", unknown)), 72);
  EXPECT_EQ(code(stamped("snapshot", "atClusterTime", unknown)), 72);
}

/// The time was given out by another member; nothing was written here since.
TEST_F(MemberTest, ReachesATimeThatItWasTold) {  // CLK-017
  const auto now = timeOf(insert(1));
  const bson::Timestamp later{now.seconds + 50, 1};
  run(R"({"ping": 1, "$clusterTime": {"clusterTime": {"$timestamp": {"t": )" + std::to_string(later.seconds) +
      R"(, "i": 1}}, "signature": {}}})");
  EXPECT_EQ(batch(stamped("majority", "afterClusterTime", later)).size(), 1u);
}

/// The default is a majority, which never has the note: that is nothing to a read of what is here.
TEST_F(MemberTest, AReadThatReachesATimeAwaitsNoWriteConcern) {  // CLK-017
  const bson::Timestamp later = hearsOfLater();
  holdCommits();
  const auto read = server.begin(parse(stamped("local", "afterClusterTime", later)));
  EXPECT_EQ(endsWith(*read), 0);
  EXPECT_FALSE(read->operation.hasWritten() || read->operation.announcesWrites());
  EXPECT_GE(server.server->progress->lastApplied(), later) << "the note was made";
}

TEST_F(MemberTest, AReadThatWaitsForItsNoteEndsWithTheOperation) {
  const bson::Timestamp later = hearsOfLater();
  storage::Locker frozen(server.locks);
  ASSERT_TRUE(frozen.tryAcquire(storage::ResourceId::global(), storage::LockMode::kS));
  const auto late = server.begin(with(stamped("local", "afterClusterTime", later), bson::doc("maxTimeMS", 500)));
  const auto killed = server.begin(parse(stamped("local", "afterClusterTime", later)), "test", server.connect());
  EXPECT_FALSE(late->done || killed->done);
  killed->operation.kill(ErrorCode::kInterrupted);
  EXPECT_EQ(endsWith(*killed), static_cast<int64_t>(ErrorCode::kInterrupted));
  EXPECT_EQ(endsWith(*late), static_cast<int64_t>(ErrorCode::kMaxTimeMSExpired));
  frozen.releaseAll();
  server.node.run();
  EXPECT_LT(server.server->progress->lastApplied(), later) << "what has ended notes nothing";
}

/// Another primary may have been there in between, and have taken writes that this read has not seen.
TEST_F(MemberTest, ALinearizableReadIsNotConfirmedInALaterTerm) {  // RDC-009
  for (int id = 1; id <= 3; ++id) insert(id);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "storageEngineConcurrentReadTransactions": 1})", "admin"));
  server.node.advance(std::chrono::milliseconds(200));
  storage::Ticket only = server.admission.read().tryTake(storage::AdmissionPriority::kNormal);
  ASSERT_EQ(server.admission.read().available(), 0);
  const auto read = server.begin(parse(R"({"find": "c", "batchSize": 2, "readConcern": {"level": "linearizable"}})"),
                                 "test", server.connect());
  EXPECT_FALSE(read->done);
  losesAndRegainsItsRole();
  ASSERT_FALSE(read->done);
  only.reset();
  EXPECT_EQ(endsWith(*read), static_cast<int64_t>(ErrorCode::kInterruptedDueToReplStateChange));
  EXPECT_EQ(server.cursors.statistics().open, 0) << "nobody has been told of the cursor";
  EXPECT_EQ(batch(R"({"find": "c", "readConcern": {"level": "linearizable"}})").size(), 3u) << "one of the new term";
}

TEST_F(MemberTest, ALinearizableCursorIsConfirmedInTheTermOfItsFirstBatch) {  // RDC-009
  for (int id = 1; id <= 4; ++id) insert(id);
  const auto first = run(R"({"find": "c", "batchSize": 1, "readConcern": {"level": "linearizable"}})");
  ASSERT_TRUE(first["ok"].truthy()) << bson::toRelaxedJson(first);
  const auto more = bson::doc("getMore", first.view().at("cursor.id").toInt64(), "collection", "c", "batchSize", 1);
  const bson::Document second = server.run(more);
  EXPECT_TRUE(second["ok"].truthy()) << bson::toRelaxedJson(second);
  losesAndRegainsItsRole();
  EXPECT_EQ(server.run(more)["code"].toInt64(), static_cast<int64_t>(ErrorCode::kInterruptedDueToReplStateChange));
  EXPECT_EQ(server.cursors.statistics().open, 0) << "it would go on behind a batch that its client has not got";
}

/// A majority has its note: what becomes of the operation then is nothing to the read.
TEST_F(MemberTest, ALinearizableReadThatIsConfirmedAwaitsItsNoteNoMore) {  // RDC-008
  insert(1);
  ASSERT_TRUE(succeeds(R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 1}})", "admin"));
  server.node.advance(std::chrono::seconds(1));
  holdCommits();
  const auto read = server.begin(parse(R"({"find": "c", "readConcern": {"level": "linearizable"}})"));
  server.node.advance(std::chrono::milliseconds(100));
  ASSERT_FALSE(read->done);
  auto& progress = *server.server->progress;
  ASSERT_GE(progress.applied(), read->operation.lastOpTime());
  progress.noteDurable(progress.applied());
  read->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(read->done);
  const bson::Document reply = read->takeReply();
  EXPECT_TRUE(reply["ok"].truthy() && !reply["writeConcernError"].ok()) << bson::toRelaxedJson(reply);
  EXPECT_FALSE(read->operation.writeConcern.majority) << "its own is in place again";
}

TEST_F(MemberTest, ALinearizableReadThatIsNotConfirmedFailsAsAWhole) {  // RDC-008
  insert(1);
  ASSERT_TRUE(succeeds(R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 1}})", "admin"));
  server.node.advance(std::chrono::seconds(1));
  holdCommits();
  const auto read = server.begin(parse(R"({"find": "c", "readConcern": {"level": "linearizable"}})"));
  ASSERT_FALSE(read->done);
  read->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(read->done);
  const bson::Document reply = read->takeReply();
  EXPECT_EQ(reply["code"].toInt64(), static_cast<int64_t>(ErrorCode::kInterrupted));
  EXPECT_FALSE(reply["writeConcernError"].ok()) << bson::toRelaxedJson(reply);
  EXPECT_FALSE(read->operation.writeConcern.majority);
}

TEST_F(MemberTest, ReadsAfterAnEntryOfTheLog) {  // RDC-010
  const auto now = timeOf(insert(1));
  const auto find = [](bson::Timestamp time, int term, const std::string& more = "") {
    return R"({"find": "c", "readConcern": {"afterOpTime": {"ts": {"$timestamp": {"t": )" +
           std::to_string(time.seconds) + R"(, "i": )" + std::to_string(time.increment) + R"(}}, "t": )" +
           std::to_string(term) + "}}, " + more + R"("batchSize": 5})";
  };
  EXPECT_EQ(batch(find(now, 1)).size(), 1u);
  EXPECT_EQ(code(find(now, 2)), 72) << "nobody has heard of that term";
  EXPECT_EQ(code(find({now.seconds + 50, 1}, 1)), 72) << "nor of this time";
  server.server->operations.replicated->slots.advanceTo({now.seconds + 60, 1});
  EXPECT_EQ(code(find({now.seconds + 50, 1}, 1, R"("maxTimeMS": 20, )")), 50) << "nobody has written it yet";
  EXPECT_EQ(code(R"({"find": "c", "readConcern": {"afterOpTime": {"ts": 1, "t": 1}}})"), 14);
}

TEST_F(MemberTest, TellsTheStateOfItsSetWhereThatIsAskedFor) {  // REP-027, REP-031
  insert(1);
  const auto reply = run(R"({"find": "oplog.rs", "limit": 1, "$replData": 1, "$oplogQueryData": 1})", "local");
  const auto set = reply["$replData"].asDocument();
  EXPECT_TRUE(holds(set, parse(R"({"term": 1, "isPrimary": true, "configVersion": 1, "syncSourceIndex": -1})")))
      << bson::toRelaxedJson(reply);
  EXPECT_TRUE(set["replicaSetId"].is(bson::Type::kObjectId));
  const auto log = reply["$oplogQueryData"].asDocument();
  EXPECT_TRUE(holds(log, parse(R"({"primaryIndex": 0, "syncSourceIndex": -1, "syncSourceHost": "", "rbid": 1})")));
  const auto applied = server.server->progress->applied();
  EXPECT_TRUE(log["lastOpApplied"].asDocument()["ts"].asTimestamp() == applied.timestamp);
  EXPECT_TRUE(set["lastOpCommitted"].asDocument()["ts"].asTimestamp() <= applied.timestamp);
  const auto plain = run(R"({"ping": 1})");
  EXPECT_FALSE(plain["$replData"]);
  EXPECT_FALSE(plain["$oplogQueryData"]);
}

TEST_F(MemberTest, KeepsNotes) {  // OPL-017
  const auto reply = run(R"({"appendOplogNote": 1, "data": {"by": "a tool"}})", "admin");
  EXPECT_TRUE(holds(reply, parse(R"({"ok": 1})"))) << bson::toRelaxedJson(reply);
  const auto notes = batch(R"({"find": "oplog.rs", "filter": {"op": "n", "o.by": "a tool"}})", "local");
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_EQ(code(R"({"appendOplogNote": 1, "data": {}, "maxClusterTime": {"$timestamp": {"t": 1, "i": 1}}})", "admin"),
            209);
  EXPECT_EQ(code(R"({"appendOplogNote": 1, "data": {}, "maxClusterTime": {"$timestamp": {"t": 4000000000, "i": 1}}})",
                 "admin"),
            0);
  EXPECT_EQ(code(R"({"appendOplogNote": 1, "data": {}, "maxClusterTime": true})", "admin"), 14);
}

TEST_F(MemberTest, ANoteWaitsForItsWriteConcern) {  // OPL-017
  EXPECT_TRUE(answers(R"({"appendOplogNote": 1, "data": {}, "writeConcern": {"w": 2}})",
                      R"({"ok": 1, "writeConcernError": {"code": 100}})", "admin"));
  const Status parked = server.node.wait(supervisors::controlActor(
      server.node, "/node/storage/journal-flusher", supervisors::ControlAction::kPark, "nothing is durable"));
  ASSERT_TRUE(parked.isOK()) << parked.toString();
  EXPECT_TRUE(answers(R"({"appendOplogNote": 1, "data": {}, "writeConcern": {"w": "majority", "wtimeout": 50}})",
                      R"({"ok": 1, "writeConcernError": {"code": 64}})", "admin"));
}

TEST_F(MemberTest, HasNoWriteConcernModeWithoutAName) {
  for (const char* w : {R"("")", "null"}) {
    const auto reply = run(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": )" + std::string(w) + "}}");
    EXPECT_TRUE(holds(reply, parse(R"({"n": 1, "writeConcernError": {"code": 79}})"))) << bson::toRelaxedJson(reply);
  }
}

TEST_F(MemberTest, ReadsNoSnapshotOfWhatEachMemberKeepsForItself) {  // TRN-003
  EXPECT_EQ(code(R"({"find": "oplog.rs", "readConcern": {"level": "snapshot"}})", "local"), 72);
  EXPECT_EQ(code(R"({"find": "oplog.rs", "readConcern": {"level": "majority"}})", "local"), 0);
}

TEST_F(MemberTest, ResizesItsLog) {  // OPL-011
  EXPECT_TRUE(succeeds(R"({"replSetResizeOplog": 1, "size": 2000, "minRetentionHours": 1.5})", "admin"));
  EXPECT_EQ(server.server->oplog->markers().limits().maxBytes, int64_t{2000} << 20);
  EXPECT_EQ(server.server->oplog->markers().limits().minRetentionMillis, 5'400'000);
  EXPECT_EQ(server.server->catalog.unguarded().find(storage::oplogName())->options().cappedSize, int64_t{2000} << 20);
  EXPECT_EQ(code(R"({"replSetResizeOplog": 1, "size": 1})", "admin"), 2);
  EXPECT_EQ(code(R"({"replSetResizeOplog": 1})", "admin"), 72);
}

}  // namespace
}  // namespace troupe::commands
