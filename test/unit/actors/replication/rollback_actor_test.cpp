#include "actors/replication/rollback_actor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "actors/maintenance/checkpointer.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "actors/replication/replication_progress.hpp"
#include "messaging/bson/json.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/replication/other_log.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;
using storage::LockMode;
using storage::ResourceId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
    made.fail = [this](const Status& why) { failures.push_back(why.reason()); };
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
  int unanswered = 0;  ///< questions to the topology
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

// RBK-001 to RBK-014, RBK-017.
/// A fetcher that waits for a rollback of the last life of this actor would wait for ever.
TEST_F(RollbackActorTest, AStartLetsTheFetcherGoOn) {
  EXPECT_THAT(whenStarted, ::testing::ElementsAre("follow again"));
}

TEST_F(RollbackActorTest, TheMemberGoesBackToTheNewestEntryThatItShares) {
  insert(2);
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(3);
  insert(4, "undone");
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "invalidate", "SECONDARY", "follow again"));
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(found(), ElementsAre(1, 2));
  EXPECT_THAT(found("undone"), IsEmpty());
  EXPECT_EQ(server.run(R"({"count": "c"})"_json)["n"].toInt64(), 2);
  EXPECT_EQ(ownLog().size() + 1, other.entries.size());
  EXPECT_THAT(resets, ElementsAre(common));
  EXPECT_THAT(ids, ElementsAre(1, 2));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->common, common);
  EXPECT_EQ(summary->undone, 3) << "two inserts and the collection";
  EXPECT_EQ(summary->savedDocuments, 2);
  EXPECT_EQ(summary->rollbackId, 2);
  EXPECT_EQ(server.assembly.endOfLog()->get(), common.timestamp);
  ASSERT_EQ(other.asked.size(), 1u);
  EXPECT_THAT(other.asked[0], HasSubstr(R"(b:1 local { "find" : "oplog.rs", "sort" : { "$natural" : -1 })"));
}

/// Commit points are learned meanwhile: with a later stable time the engine would refuse what is replayed.
TEST_F(RollbackActorTest, TheStableTimeStandsStillUntilStorageIsUp) {
  insert(2);
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(3);
  const OpTime later{common.term, {common.timestamp.seconds + 50, 1}};
  bson::Timestamp meanwhile;
  whileDown = [&] {
    history.setStable(later);
    meanwhile = server.engine->stableTimestamp();
    stable = later;
  };
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(meanwhile, common.timestamp);
  EXPECT_EQ(server.engine->stableTimestamp(), later.timestamp) << "what is stable by then";
}

TEST_F(RollbackActorTest, WritingGoesOnAndItMayGoBackAgain) {
  for (int round = 1; round <= 3; ++round) {
    const OpTime common = leaveLogsHere();
    stableAt(common);
    insert(100 + round);
    diverge();
    ASSERT_THAT(failures, IsEmpty());
    EXPECT_EQ(resets.size(), static_cast<size_t>(round));
    insert(10 + round);
  }
  EXPECT_THAT(found(), ElementsAre(1, 11, 12, 13));
  EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4));
  server.node.advance(1s);
  EXPECT_EQ(server.durability.durable(), server.durability.taken()) << "flushes go on";
}

TEST_F(RollbackActorTest, WhatIsUndoneIsKeptInFiles) {
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(2);
  diverge();
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory.path() + "/rollback"))
    if (file.is_regular_file()) files.push_back(file.path().filename().string());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files[0].starts_with("removed.") && files[0].ends_with(".bson")) << files[0];
  EXPECT_THAT(found(), ElementsAre(1));
}

TEST_F(RollbackActorTest, FilesAreOffByParameter) {
  writesFiles = false;
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(2);
  diverge();
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/rollback"));
  EXPECT_THAT(found(), ElementsAre(1));
}

// RBK-018.
TEST_F(RollbackActorTest, NothingHappensWhereNothingIsToBeUndone) {
  stableAt(leaveLogsHere());
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
  EXPECT_THAT(ids, ElementsAre(1));
  EXPECT_THAT(found(), ElementsAre(1));
}

TEST_F(RollbackActorTest, ASourceThatCannotBeReadChangesNothing) {
  stableAt(leaveLogsHere());
  insert(2);
  other.failure = {ErrorCode::kHostUnreachable, "it has gone"};
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
  EXPECT_THAT(found(), ElementsAre(1, 2));
  EXPECT_THAT(failures, IsEmpty());
}

TEST_F(RollbackActorTest, WhatAMajorityHasIsNotUndone) {
  const OpTime common = leaveLogsHere();
  insert(2);
  const bson::Document newest = ownLog().back();
  stableAt({common.term, newest["ts"].asTimestamp()});
  diverge();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("Save its data directory"));
  EXPECT_THAT(steps, ElementsAre("stop following"));
  EXPECT_THAT(found(), ElementsAre(1, 2));
}

/// Its source had entries that no majority got.
TEST_F(RollbackActorTest, ACopyOfWhatWasUndoneIsMadeAnew) {
  leaveLogsHere();
  insert(2);
  const bson::Document newest = ownLog().back();
  copied = {newest["t"].asInt64(), newest["ts"].asTimestamp()};
  stableAt(copied);
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
}

TEST_F(RollbackActorTest, LogsThatShareNothingMeanAResync) {
  stableAt(leaveLogsHere());
  insert(2);
  other.entries = {bson::doc("ts", bson::Timestamp{UINT32_MAX, 1}, "t", 9)};
  diverge();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("no entry of their logs in common"));
}

TEST_F(RollbackActorTest, ACopyWhoseLogSharesNothingIsMadeAnew) {
  copied = leaveLogsHere();
  stableAt(copied);
  insert(2);
  other.entries = {bson::doc("ts", bson::Timestamp{UINT32_MAX, 1}, "t", 9)};
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
}

TEST_F(RollbackActorTest, ANodeThatStandsOrLeadsDoesNotGoBack) {
  stableAt(leaveLogsHere());
  insert(2);
  entering = {ErrorCode::kNotSecondary, "it was elected"};
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "SECONDARY", "follow again"));
  EXPECT_THAT(ids, ElementsAre(1));
  EXPECT_THAT(found(), ElementsAre(1, 2));
}

/// The topology may hear each question later: a rollback that was given up would leave the node in its state for good.
TEST_F(RollbackActorTest, ATopologyThatDoesNotAnswerIsAskedAgain) {
  stableAt(leaveLogsHere());
  insert(2);
  unanswered = 1000;
  diverge();
  EXPECT_EQ(phase(), "entering");
  EXPECT_GT(steps.size(), 5u);
  EXPECT_THAT(steps, testing::Not(testing::Contains("follow again")));
  EXPECT_EQ(interruptions, 0) << "operations go on until the state is ROLLBACK";
  unanswered = 0;
  for (int i = 0; i < 100; ++i) server.node.advance(10ms);
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(steps.back(), "follow again");
  EXPECT_THAT(found(), ElementsAre(1));
}

TEST_F(RollbackActorTest, ATopologyThatDoesNotAnswerAtTheEndIsAskedAgain) {
  stableAt(leaveLogsHere());
  insert(2);
  whileDown = [this] { unanswered = 2; };
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "invalidate", "SECONDARY", "SECONDARY", "SECONDARY",
                                 "follow again"));
}

/// The first question was heard late, by a follower; the second one by a node that is no follower any more.
TEST_F(RollbackActorTest, ARefusalTakesBackWhatAnEarlierQuestionMayHaveDone) {
  stableAt(leaveLogsHere());
  insert(2);
  unanswered = 1;
  entering = {ErrorCode::kNotSecondary, "it was removed"};
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "ROLLBACK", "SECONDARY", "follow again"));
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(found(), ElementsAre(1, 2));
}

// RBK-002.
TEST_F(RollbackActorTest, ItWaitsForOperationsThatHoldLocksAndEndsThem) {
  stableAt(leaveLogsHere());
  insert(2);
  storage::Locker reader(server.locks);
  ASSERT_TRUE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIS));
  diverge();
  EXPECT_EQ(phase(), "entering");
  EXPECT_GT(interruptions, 10) << "again and again: others may have come";
  EXPECT_THAT(ids, ElementsAre(1));
  reader.releaseAll();
  storage::Locker local(server.locks);
  ASSERT_TRUE(local.tryAcquire(ResourceId::global(), LockMode::kIS));
  for (int i = 0; i < 20; ++i) server.node.advance(10ms);
  EXPECT_EQ(phase(), "taking down");
  local.releaseAll();
  for (int i = 0; i < 20; ++i) server.node.advance(10ms);
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(found(), ElementsAre(1));
  EXPECT_TRUE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIX)) << "its locks are given back";
}

/// Holds a rollback where storage is down: the engine is busy as long as a transaction is open.
class StorageDownTest : public RollbackActorTest {
 protected:
  StorageDownTest() {
    common = leaveLogsHere();
    stableAt(common);
    insert(2);
    busy = std::make_unique<storage::OperationContext>(storage::OperationServices{.sessions = server.storageSessions});
    work = std::make_unique<storage::WriteUnitOfWork>(busy->recoveryUnit());
    const auto table = server.engine->openTable(storage::SizeStorer::kIdent);
    auto cursor = busy->recoveryUnit().cursor(*table);
    EXPECT_TRUE((*cursor)->put("key", "value").isOK());
    cursor->reset();
    diverge();
    EXPECT_EQ(phase(), "rolling back");
  }
  ~StorageDownTest() override { endTransaction(); }
  void endTransaction() {
    work.reset();
    busy.reset();
  }
  void goOn() {
    endTransaction();
    for (int i = 0; i < 50; ++i) server.node.advance(10ms);
  }

  OpTime common;
  std::unique_ptr<storage::OperationContext> busy;
  std::unique_ptr<storage::WriteUnitOfWork> work;
};

TEST_F(StorageDownTest, ItIsTriedAgainUntilTransactionsHaveEnded) {
  goOn();
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(found(), ElementsAre(1));
}

// RBK-020, SRC-008: background work passes its turns, and goes on afterwards.
TEST_F(StorageDownTest, BackgroundWorkPausesAndGoesOn) {
  int checkpoints = 0, flushes = 0;
  using Disk = storage::DeterministicEngine::DiskOperation;
  server.engine->setDiskFault([&](Disk operation) {
    ++(operation == Disk::kCheckpoint ? checkpoints : flushes);
    return Status::OK();
  });
  server.parameters.scrubberSleepSecs = 1;
  const int64_t scrubbed = server.server->counters.scrubbedTables.load();
  server.durability.take();
  server.node.tell(server.flusher, local(maintenance::FlushNow{}));
  server.node.tell(server.node.address(supervisors::kCheckpointerPath), local(maintenance::CheckpointNow{}));
  server.node.advance(5s);
  EXPECT_EQ(checkpoints, 0);
  EXPECT_EQ(flushes, 0);
  EXPECT_EQ(server.server->counters.scrubbedTables.load(), scrubbed);
  EXPECT_EQ(server.assembly.endOfLog()->get(), common.timestamp) << "the flusher has not moved it";
  goOn();
  server.node.advance(61s);
  EXPECT_GT(checkpoints, 0);
  EXPECT_GT(flushes, 0);
  EXPECT_GT(server.server->counters.scrubbedTables.load(), scrubbed);
  EXPECT_EQ(server.durability.durable(), server.durability.taken());
}

// RBK-002: commands that look for collections without a lock fail like those that wait for one.
TEST_F(StorageDownTest, CommandsFailAndTheNodeGoesOn) {
  const auto waiting = server.begin(R"({"find": "c", "maxTimeMS": 100})"_json);
  server.node.advance(200ms);
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].asInt32(), static_cast<int>(ErrorCode::kMaxTimeMSExpired));
  for (const char* command :
       {R"({"renameCollection": "test.c", "to": "test.d", "maxTimeMS": 100})",
        R"({"collMod": "c", "validator": {}, "maxTimeMS": 100})",
        R"({"convertToCapped": "c", "size": 4096, "maxTimeMS": 100})",
        R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}], "maxTimeMS": 100})",
        R"({"insert": "new", "documents": [{"_id": 1}], "maxTimeMS": 100})", R"({"drop": "c", "maxTimeMS": 100})",
        R"({"dropDatabase": 1, "maxTimeMS": 100})",
        R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}], "maxTimeMS": 100})"}) {
    const bool ofAdmin = std::string_view(command).find("renameCollection") != std::string_view::npos;
    const auto exchange = server.begin(bson::fromJson(command).value(), ofAdmin ? "admin" : "test");
    for (int i = 0; i < 30 && !exchange->done; ++i) server.node.advance(10ms);
    ASSERT_TRUE(exchange->done) << command;
    const auto reply = exchange->takeReply();
    const int32_t code = reply["code"].ok() ? reply["code"].asInt32() : 0;
    EXPECT_TRUE(code == static_cast<int>(ErrorCode::kInterruptedDueToReplStateChange) ||
                code == static_cast<int>(ErrorCode::kMaxTimeMSExpired))
        << command << bson::toRelaxedJson(reply);
  }
  goOn();
  EXPECT_THAT(found(), ElementsAre(1));
  insert(9);
  EXPECT_THAT(found(), ElementsAre(1, 9));
}

// RBK-005, RBK-011: what is on the disk at that moment makes the next start end at the common point.
TEST_F(StorageDownTest, ANodeThatDiesHereStartsAtTheCommonPoint) {
  CommandNode again({.disk = server.engine->disk(), .replicated = true, .name = "n1:1", .replicaSet = "rs"});
  EXPECT_EQ(again.assembly.oplog()->visibility().get(), common.timestamp);
  commands::untilPrimary(again);
  again.node.run();
  EXPECT_THAT(found(again), ElementsAre(1));
  const auto id = RollbackStore(again.assembly.storageAccess()).read();
  ASSERT_TRUE(id.isOK());
  EXPECT_EQ(id->value.rollbackId, 2);
}

// RBK-015.
TEST_F(RollbackActorTest, AFailureOnTheWayEndsTheNode) {
  stableAt(leaveLogsHere());
  insert(2);
  storage::Locker reader(server.locks);
  ASSERT_TRUE(reader.tryAcquire(ResourceId::global(), LockMode::kIS));  // held before storage is taken down
  diverge();
  ASSERT_EQ(phase(), "taking down");
  server.engine->setDiskFault([](auto) { return Status(ErrorCode::kInternalError, "the disk is broken"); });
  reader.releaseAll();
  for (int i = 0; i < 20; ++i) server.node.advance(10ms);
  EXPECT_EQ(phase(), "failed");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("the disk is broken"));
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK")) << "it stays out of service";
}

}  // namespace
}  // namespace troupe::replication
