#include <algorithm>
#include <set>

#include "test/unit/actors/replication/initial_sync_fixture.hpp"

namespace troupe::replication::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InitialSyncFailureTest : public InitialSyncFixture {
 protected:
  /// The lines of the log about attempts that have failed.
  std::vector<std::string> failuresLogged() {
    std::vector<std::string> lines = target->log.recentLines();
    std::erase_if(lines, [](const std::string& line) { return line.find("21164") == std::string::npos; });
    return lines;
  }
};

TEST_F(InitialSyncFailureTest, ABreakOfTheSourceInterruptsNoCopy) {
  dataOfAllKinds();
  int batches = 0;
  members->hits = [&](bson::View command) { return command["find"].is(bson::Type::kBinary) && ++batches % 2 == 0; };
  for (int i = 0; i < 3; ++i)
    for (const ErrorCode code :
         {ErrorCode::kHostUnreachable, ErrorCode::kCursorNotFound, ErrorCode::kCappedPositionLost})
      members->failures.push_back({code, "planted"});
  begin();
  finish();
  expectTheSame();
  EXPECT_THAT(members->failures, IsEmpty());
  const auto shown = status->toBson({0});
  EXPECT_EQ(shown["failedInitialSyncAttempts"].toInt64(), 0);
  EXPECT_EQ(shown.view().at("initialSyncAttempts.0.operationsRetried").toInt64(), 9);
}

TEST_F(InitialSyncFailureTest, ASecondCopyKeepsNoHistoryEither) {
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  const bson::Timestamp first = done->timestamp;
  ASSERT_GE(target->engine->stableTimestamp(), first);
  onSource(R"({"insert": "more", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
  bson::Timestamp oldest;
  onStep = [&] { oldest = target->engine->oldestTimestamp(); };
  done.reset();
  begin();
  finish();
  expectTheSame();
  EXPECT_GT(oldest, first);
}

/// Also with what is copied by filling collections, of which the watch sees nothing.
class FullDiskTest : public InitialSyncFixture, public testing::WithParamInterface<int64_t> {
 protected:
  FullDiskTest() : InitialSyncFixture(Filling{.from = GetParam()}) {}
  bool waits() const { return status->toBson({0})["waitsFor"].ok(); }
  int64_t written() {
    int64_t documents = static_cast<int64_t>(ownLog().size());
    for (const auto& [ns, count] : counts(*target)) documents += count;
    return documents;
  }
};
INSTANTIATE_TEST_SUITE_P(FillFrom, FullDiskTest, testing::Values(1, 1000));

// Wherever the copy is when the disk becomes full, it goes on from there.
TEST_P(FullDiskTest, TheCopyWaitsForRoom) {
  dataOfAllKinds();
  int step = 0, stops = 0;
  onStep = [&] {
    if (++step % 7 == 3) onSource(R"({"insert": "more", "documents": [{"s": )" + std::to_string(step) + "}]}");
  };
  begin();
  for (int i = 0; i < 3000 && !done && failures.empty(); ++i) {
    room = 1;
    goOn(120);
    if (done) break;
    const auto before = written();
    goOn(120);
    EXPECT_EQ(written(), before);
    stops += waits();
  }
  expectTheSame();
  EXPECT_GT(stops, 20);
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 0);
}

TEST_P(FullDiskTest, AFullDiskDoesNotHoldUpTheDropsOfAnAttemptsBeginning) {
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  onSource(R"({"insert": "more", "documents": [{"_id": 1}]})");
  room = 0;
  done.reset();
  begin();
  for (int i = 0; i < 300 && written() > 0; ++i) goOn();
  EXPECT_EQ(written(), 0);
  target->node.advance(5s);
  EXPECT_TRUE(waits());
  room = std::numeric_limits<int64_t>::max();
  finish();
  expectTheSame();
}

// Not even a failed attempt leaves anything that the next one would lack the space of.
TEST_P(FullDiskTest, ADiskThatHoldsTheDataOnceHoldsTheNextCopy) {
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  capacity = bytesOnDisk() + 500'000;
  onSource(R"({"insert": "more", "documents": [{"_id": 1}]})");
  int step = 0;
  onStep = [&] {
    if (++step == 10) members->rollbackId = 1;
  };
  done.reset();
  begin();
  finish();
  expectTheSame();
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 1);
}

TEST_F(InitialSyncFailureTest, TheTablesOfWhatIsDroppedGoBeforeAnythingIsCopied) {
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  std::set<std::string> first;
  for (const auto& collection : target->catalog->snapshot()->collections("test")) {
    if (collection->isView()) continue;
    first.insert(collection->ident());
    for (const auto& index : collection->indexes()) first.insert(index->ident);
  }
  ASSERT_GT(first.size(), 10u);
  onSource(R"({"insert": "more", "documents": [{"_id": 1}]})");
  std::optional<int64_t> left;
  onStep = [&] {
    const auto tables = target->engine->listTables();
    if (!left) left = std::ranges::count_if(tables, [&](const std::string& table) { return first.contains(table); });
  };
  done.reset();
  begin();
  finish();
  EXPECT_EQ(left, 0);
  expectTheSame();
}

TEST_F(InitialSyncFailureTest, TheLogIsFetchedOnAfterABreak) {
  dataOfAllKinds();
  members->hits = [](bson::View command) { return command["tailable"].truthy(); };
  for (int i = 0; i < 2; ++i) members->failures.push_back({ErrorCode::kHostUnreachable, "planted"});
  int step = 0;
  onStep = [&] {
    if (step++ < 6) onSource(R"({"insert": "more", "documents": [{"s": )" + std::to_string(step) + "}]}");
  };
  begin();
  finish();
  expectTheSame();
  EXPECT_THAT(members->failures, IsEmpty());
}

TEST_F(InitialSyncFailureTest, ASourceThatRollsBackWhileItIsCopiedSpoilsTheAttempt) {  // ISY-005
  dataOfAllKinds();
  int step = 0;
  onStep = [&] {
    if (++step == 5) members->rollbackId = 1;
  };
  begin();
  finish();
  expectTheSame();
  const auto shown = status->toBson({0});
  EXPECT_EQ(shown["failedInitialSyncAttempts"].toInt64(), 1);
  EXPECT_THAT(std::string(shown.view().at("initialSyncAttempts.0.status").toStringOr()), HasSubstr("rolled back"));
  EXPECT_THAT(failuresLogged(), ElementsAre(HasSubstr("rolled back while its data were copied")));
}

/// What the copy has read of it may be in no log, as its own log may have lost its end. An orderly start would be heard
/// of by nothing but cursors that are gone.
TEST_F(InitialSyncFailureTest, ASourceThatLosesTheEndOfItsLogSpoilsTheAttempt) {  // ISY-005
  dataOfAllKinds();
  source.node.advance(1s);
  members->showsItsOwnId = true;
  std::optional<storage::DeterministicDisk> left;
  onStep = [&] {
    if (left) return;
    left = source.engine->disk();
    onSource(
        R"({"insert": "many", "documents": [{"_id": "lost", "u": "lost"}], "writeConcern": {"w": 1, "j": false}})");
    members->hits = [](bson::View command) { return command["tailable"].truthy(); };
    members->failures.push_back({ErrorCode::kHostUnreachable, "planted"});  // the log is fetched a second later
  };
  begin();
  const auto hasCopied = [&] {
    const auto many = target->catalog->find(storage::Namespace("test", "many"));
    if (!left || !many) return false;
    storage::OperationContext reader({.sessions = target->storageSessions});
    const bson::Document lost = bson::doc("_id", "lost");
    return many->findById(reader.recoveryUnit(), lost["_id"])->has_value();
  };
  for (int i = 0; i < 500 && !hasCopied(); ++i) target->node.advance(1ms);
  ASSERT_TRUE(hasCopied());
  CommandNode again({.disk = *left,
                     .replicated = true,
                     .name = "n1:1",
                     .replicaSet = "rs",
                     .time = std::make_shared<VirtualEnvironment>(7)});
  members->startedAgain(again);
  commands::untilPrimary(again);
  const bson::Document insert =
      bson::doc("insert", "many", "documents", std::vector{bson::doc("_id", "later", "u", "later")});
  ASSERT_TRUE(again.run(insert)["ok"].truthy());
  for (int i = 0; i < 3000 && !done && failures.empty(); ++i) {
    target->node.advance(10ms);
    again.node.advance(10ms);
  }
  ASSERT_TRUE(done) << phase();
  EXPECT_EQ(contents(*target), contents(again));
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 1);
}

TEST_F(InitialSyncFailureTest, ASourceThatIsGoneSpoilsTheAttempt) {
  dataOfAllKinds();
  members->hits = [](bson::View command) { return command["find"].is(bson::Type::kBinary); };
  for (int i = 0; i < 6; ++i) members->failures.push_back({ErrorCode::kHostUnreachable, "planted"});
  begin();
  finish();
  expectTheSame();
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 1);
  EXPECT_THAT(failuresLogged(), ElementsAre(HasSubstr("planted")));
}

TEST_F(InitialSyncFailureTest, ASourceThatShutsDownSpoilsTheAttempt) {
  dataOfAllKinds();
  members->hits = [](bson::View command) { return command["listDatabases"].ok(); };
  for (int i = 0; i < 6; ++i) members->failures.push_back({ErrorCode::kInterruptedAtShutdown, "planted"});
  begin();
  finish();
  expectTheSame();
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 1);
}

TEST_F(InitialSyncFailureTest, AShutdownIsNoFailureOfTheAttempt) {
  dataOfAllKinds();
  int step = 0;
  onStep = [&] {  // one of them comes when the collection has been copied
    const std::string name = "late_" + std::to_string(++step);
    onSource(R"({"createIndexes": "many", "indexes": [{"key": {")" + name + R"(": 1}, "name": ")" + name + "\"}]}");
  };
  writer->endScans();
  begin();
  goOn(500);
  EXPECT_EQ(phase(), "applying") << "the commit of the build cannot scan";
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 0);
}

TEST_F(InitialSyncFailureTest, TenFailuresEndTheNode) {
  dataOfAllKinds();
  members->hits = [](bson::View command) { return command["listDatabases"].ok(); };
  for (int i = 0; i < 100; ++i) members->failures.push_back({ErrorCode::kInternalError, "planted"});
  begin();
  finish();
  EXPECT_FALSE(done);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("failed 10 times"));
  EXPECT_EQ(phase(), "failed");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status(), ErrorCode::kInitialSyncFailure);
  EXPECT_EQ(states, (std::vector<std::string>{"STARTUP2", "stops following"}));
}

TEST_F(InitialSyncFailureTest, WaitsForASource) {
  dataOfAllKinds();
  isReachable = false;
  begin();
  goOn(500);
  EXPECT_EQ(phase(), "choosing");
  EXPECT_THAT(failures, IsEmpty());
  isReachable = true;
  finish();
  expectTheSame();
}

TEST_F(InitialSyncFailureTest, AMemberWithDataGoesBackToThemWhereNobodyIsASource) {  // ISY-020
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  isReachable = false;
  states.clear();
  done.reset();
  answer.reset();
  begin();
  for (int i = 0; i < 20; ++i) target->node.advance(1s);
  EXPECT_EQ(phase(), "idle");
  EXPECT_THAT(states, ElementsAre("STARTUP2", "stops following", "follows again", "SECONDARY"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status(), ErrorCode::kNodeNotFound);
  EXPECT_FALSE(done);
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_TRUE(status->toBson({0})["initialSyncEnd"].ok());
  EXPECT_EQ(contents(*target), contents(source));
  isReachable = true;
  onSource(R"({"insert": "more", "documents": [{"_id": 1}]})");
  begin();
  finish();
  expectTheSame();
}

// The heartbeats of a member that has just died still make a source of it.
TEST_F(InitialSyncFailureTest, AMemberGivesItsDataUpOnlyForASourceThatAnswers) {  // ISY-020
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  members->answers = false;
  answer.reset();
  begin();
  for (int i = 0; i < 20; ++i) target->node.advance(1s);
  EXPECT_EQ(phase(), "idle");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status(), ErrorCode::kNodeNotFound);
  EXPECT_EQ(contents(*target), contents(source));
}

TEST_F(InitialSyncFailureTest, AStartWithoutASourceFindsTheDataOfBefore) {  // ISY-020
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  const std::optional<OpTime> copied = done;
  isReachable = false;
  begin();
  target->node.advance(3s);
  ASSERT_EQ(phase(), "choosing");
  startFrom(target->engine->disk());
  EXPECT_EQ(phase(), "idle") << "nothing was given up";
  EXPECT_EQ(contents(*target), contents(source));
  const auto kept = endOfCopy(*target->catalog, {.sessions = target->storageSessions});
  ASSERT_TRUE(kept.isOK());
  EXPECT_EQ(*kept, copied);
}

/// The node dies in that phase.
class CrashInPhase : public InitialSyncFailureTest, public testing::WithParamInterface<const char*> {};

TEST_P(CrashInPhase, BeginsAnewAndEndsWithTheDataOfTheSource) {  // ISY-002
  dataOfAllKinds();
  int step = 0;
  onStep = [&] {
    if (step++ % 5 == 0) onSource(R"({"insert": "more", "documents": [{"s": )" + std::to_string(step) + "}]}");
    if (step == 10) members->rollbackId = 1;  // the first attempt fails, so that the second has something to drop
  };
  members->before = [&](bson::View) { look(); };
  wantedPhase = GetParam();
  begin();
  finish();
  ASSERT_TRUE(diskInPhase) << "it was in the phase";
  states.clear();
  startFrom(std::move(*diskInPhase));
  const std::string_view died = GetParam();
  const bool isOver = died == "leaving", hasNotDropped = died == "entering" || died == "choosing";
  if (hasNotDropped) {
    EXPECT_EQ(phase(), "idle") << "its fetcher asks again";
    begin();
  }
  if (!isOver) {
    finish();
    EXPECT_THAT(states, ElementsAre("STARTUP2", "stops following", "follows again", "SECONDARY"))
        << "it begins by itself once it has dropped its data";
    expectTheSame();
    startFrom(target->engine->disk());
  }
  EXPECT_EQ(phase(), "idle") << "the mark is gone";
  EXPECT_EQ(contents(*target), contents(source)) << "a start finds what a checkpoint holds";
  EXPECT_EQ(counts(*target), counts(source));
}
INSTANTIATE_TEST_SUITE_P(Each, CrashInPhase,
                         testing::Values("entering", "choosing", "resetting", "beginning", "cloning", "finding the end",
                                         "fetching", "applying", "leaving"));

TEST_F(InitialSyncFailureTest, AFailedCheckpointSpoilsTheAttempt) {
  dataOfAllKinds();
  using Operation = storage::DeterministicEngine::DiskOperation;
  bool hasFailed = false;
  target->engine->setDiskFault([&](Operation operation) {
    if (operation != Operation::kCheckpoint || phase() != "making safe" || hasFailed) return Status::OK();
    hasFailed = true;
    return Status(ErrorCode::kInternalError, "the disk is full");
  });
  begin();
  finish();
  expectTheSame();
  EXPECT_TRUE(hasFailed);
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 1) << "without it the mark stays";
}

}  // namespace
}  // namespace troupe::replication::test
