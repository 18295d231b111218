#include "actors/replication/initial_syncer.hpp"

#include <algorithm>
#include <cstring>

#include "storage/catalog/catalog_operations.hpp"
#include "test/unit/actors/replication/initial_sync_fixture.hpp"
#include "test/unit/storage/catalog/unindexable.hpp"

namespace troupe::replication::test {
namespace {

using bson::operator""_json;
using testing::ElementsAre;

class InitialSyncerTest : public InitialSyncFixture {};

TEST_F(InitialSyncerTest, CopiesDataOfAllKinds) {  // ISY-001, ISY-010, ISY-013, ISY-018
  dataOfAllKinds();
  begin();
  finish();
  expectTheSame();
  EXPECT_THAT(states, ElementsAre("STARTUP2", "stops following", "follows again", "SECONDARY"));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->isOK());
  EXPECT_EQ(*done, source.server->progress->applied());
  EXPECT_EQ(target->engine->initialDataTimestamp(), done->timestamp);
  EXPECT_EQ(target->engine->stableTimestamp(), done->timestamp);
  EXPECT_EQ(target->engine->lastCheckpointTimestamp(), done->timestamp);
  EXPECT_THAT(ownLog(), ElementsAre(done->timestamp)) << "nothing happened meanwhile";
}

TEST_F(InitialSyncerTest, HasNoTimeOfItsDataBeforeTheEnd) {  // CKP-003
  dataOfAllKinds();
  begin();
  ASSERT_TRUE(runUntil("cloning"));
  EXPECT_EQ(target->engine->initialDataTimestamp(), bson::Timestamp{});
  finish();
  expectTheSame();
}

/// Until it has users, nobody can ask the member how far it is.
TEST_F(InitialSyncerTest, CopiesUsersFirst) {
  onSource(R"({"insert": "orders", "documents": [{"_id": 1}]})", "Shop");
  onSource(R"({"insert": "of2024", "documents": [{"_id": 1}]})", "2024");
  begin();
  finish();
  EXPECT_THAT(members->listed, ElementsAre("admin", "2024", "Shop", "config"));
}

/// Everything that clients do to data, one thing a step.
const std::vector<std::string>& clientsWork() {
  static const std::vector<std::string> work{
      R"({"insert": "many", "documents": [{"_id": 100, "u": 100, "t": 7}]})",
      R"({"update": "many", "updates": [{"q": {"_id": 1}, "u": {"$set": {"u": 1001, "n.m": 1}}}]})",
      R"({"update": "many", "updates": [{"q": {"_id": 2}, "u": {"$set": {"u": 1}}}]})",
      R"({"delete": "many", "deletes": [{"q": {"_id": 3}, "limit": 1}]})",
      R"({"insert": "many", "documents": [{"_id": 3, "u": 3, "again": true}]})",
      R"({"insert": "capped", "documents": [{"_id": 10}, {"_id": 11}]})",
      R"({"insert": "big", "documents": [{"_id": 2, "text": "small"}]})",
      R"({"createIndexes": "many", "indexes": [{"key": {"late": 1}, "name": "late_1"}]})",
      R"({"insert": "made", "documents": [{"_id": 1, "late": 1}]})",
      R"({"createIndexes": "made", "indexes": [{"key": {"late": 1}, "name": "late_1", "unique": true}]})",
      R"({"drop": "strict"})",
      R"({"create": "strict"})",
      R"({"insert": "strict", "documents": [{"_id": 1, "another": true}]})",
      R"({"renameCollection": "test.clustered", "to": "test.moved"})",
      R"({"insert": "moved", "documents": [{"_id": 7}]})",
      R"({"drop": "view"})",
      R"({"create": "view", "viewOn": "made", "pipeline": []})",
      R"({"dropIndexes": "many", "index": "p_1"})",
      R"({"collMod": "many", "index": {"name": "t_1", "hidden": true}})",
      R"({"delete": "clustered", "deletes": [{"q": {}, "limit": 0}]})",
      R"({"create": "clustered"})",
      R"({"insert": "clustered", "documents": [{"_id": "other"}]})",
      R"({"drop": "empty"})",
      R"({"insert": "capped", "documents": [{"_id": 12}]})",
      R"({"delete": "many", "deletes": [{"q": {"_id": {"$gt": 7}}, "limit": 0}]})",
  };
  return work;
}

std::string databaseOf(std::string_view command) { return command.starts_with(R"({"rename)") ? "admin" : "test"; }

/// Collections are written to in units of work, or filled: as a whole, or until the keys of a few documents are there.
enum class Way { kUnits, kFilled, kHalfFilled };
std::string nameOfWay(const testing::TestParamInfo<std::tuple<Way, int>>& info) {
  constexpr const char* kNames[] = {"InUnits", "Filled", "HalfFilled"};
  return kNames[static_cast<size_t>(std::get<Way>(info.param))] + std::to_string(std::get<int>(info.param));
}
/// At that step of the copy something happens.
class CopyTest : public InitialSyncFixture, public testing::WithParamInterface<std::tuple<Way, int>> {
 protected:
  CopyTest() : InitialSyncFixture(fillingOf(std::get<Way>(GetParam()))) {}
  static int theStep() { return std::get<int>(GetParam()); }

 private:
  static Filling fillingOf(Way way) {
    if (way == Way::kUnits) return {};
    return {.from = 1, .maxKeyBytes = way == Way::kFilled ? size_t{1} << 20 : 300};
  }
};
const auto kAllWays = testing::Values(Way::kUnits, Way::kFilled, Way::kHalfFilled);

/// The work begins at that step of the copy.
class CopyWhileItChanges : public CopyTest {};

TEST_P(CopyWhileItChanges, EndsWithTheDataOfTheSource) {  // ISY-014, ISY-016
  dataOfAllKinds();
  size_t next = 0;
  int step = 0;
  onStep = [&] {
    if (step++ >= theStep() && next < clientsWork().size()) {
      onSource(clientsWork()[next], databaseOf(clientsWork()[next]));
      ++next;
    }
  };
  begin();
  finish();
  onStep = nullptr;
  EXPECT_GT(next, 0u);
  expectTheSame();
  EXPECT_GT(ownLog().size(), 1u);
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 0);
}
INSTANTIATE_TEST_SUITE_P(AtEachStep, CopyWhileItChanges, testing::Combine(kAllWays, testing::Range(0, 24)), nameOfWay);

/// The member builds no indexes, whatever becomes of those of the source.
class CopyWithoutIndexes : public CopyTest {};

TEST_P(CopyWithoutIndexes, EndsWithTheDocumentsOfTheSource) {
  dataOfAllKinds();
  target->catalog->setBuildsIndexes(false);
  int step = 0;
  onStep = [&] {
    if (step++ != theStep()) return;
    for (const std::string& each : clientsWork()) onSource(each, databaseOf(each));
  };
  begin();
  finish();
  onStep = nullptr;
  EXPECT_GT(step, theStep());
  ASSERT_TRUE(done) << phase();
  EXPECT_THAT(failures, testing::IsEmpty());
  EXPECT_EQ(contents(*target),
            NodeContents(*source.catalog, source.storageSessions, storage::ShownIndexes::kOfIdsAlone));
  EXPECT_EQ(counts(*target), counts(source));
  EXPECT_FALSE(contents(*target) == contents(source)) << "which has others";
}
INSTANTIATE_TEST_SUITE_P(AtSomeSteps, CopyWithoutIndexes, testing::Combine(kAllWays, testing::Values(0, 4, 9)),
                         nameOfWay);

TEST_F(InitialSyncerTest, TheLogWaitsOnTheDiskWhileDataAreCopied) {  // ISY-009
  dataOfAllKinds();
  int64_t waiting = 0;
  int id = 1000;
  const auto onDisk = [&] {  // backwards: a reader of the log stops at its visible end
    storage::OperationContext reader({.sessions = target->storageSessions});
    auto cursor = target->assembly.oplog()->cursor(reader.recoveryUnit(), false);
    int64_t entries = 0;
    while (*cursor->next()) ++entries;
    return entries;
  };
  onStep = [&] {
    if (phase() != "cloning") return;
    waiting = std::max(waiting, onDisk());
    EXPECT_EQ(target->assembly.oplog()->visibility().get(), bson::Timestamp()) << "nobody reads it before its end";
    const std::string next = std::to_string(++id);
    onSource(R"({"insert": "many", "documents": [{"_id": )" + next + R"(, "u": )" + next + "}]}");
  };
  begin();
  finish();
  onStep = nullptr;
  EXPECT_GT(waiting, 1);
  expectTheSame();
}

/// All of the work comes at once, at that step of the copy.
class CopyAroundAStep : public CopyTest {};

TEST_P(CopyAroundAStep, EndsWithTheDataOfTheSource) {
  dataOfAllKinds();
  int step = 0;
  onStep = [&] {
    if (step++ != theStep()) return;
    for (const std::string& each : clientsWork()) onSource(each, databaseOf(each));
  };
  begin();
  finish();
  onStep = nullptr;
  EXPECT_GT(step, theStep());
  expectTheSame();
}
INSTANTIATE_TEST_SUITE_P(AtEachStep, CopyAroundAStep, testing::Combine(kAllWays, testing::Range(0, 24)), nameOfWay);

/// The source gives up at that answer to a find.
class CopyThatBreaksOff : public CopyTest {};

TEST_P(CopyThatBreaksOff, BeginsAnewAndEndsWithTheDataOfTheSource) {
  dataOfAllKinds();
  int answers = 0;
  members->failures.push_back({ErrorCode::kHostUnreachable, "the source breaks off"});
  members->hits = [&](bson::View command) { return command["find"].is(bson::Type::kBinary) && ++answers > theStep(); };
  members->before = [&](bson::View command) {
    if (!command["find"].is(bson::Type::kBinary) || answers != theStep() || members->failures.empty()) return;
    onSource(R"({"delete": "many", "deletes": [{"q": {"_id": {"$lt": 3}}, "limit": 0}]})");
    onSource(R"({"insert": "many", "documents": [{"_id": 1, "u": 1, "again": true}]})");
  };
  begin();
  finish();
  members->before = nullptr;
  expectTheSame();
  EXPECT_TRUE(members->failures.empty());
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 0);
}
INSTANTIATE_TEST_SUITE_P(AtEachAnswer, CopyThatBreaksOff, testing::Combine(kAllWays, testing::Range(0, 12)), nameOfWay);

/// The source gives up at that answer to the find of a plain collection of twenty documents, three in a batch.
class CopyThatGoesOn : public CopyTest {
 protected:
  CopyThatGoesOn() {
    onSource(R"({"create": "capped", "capped": true, "size": 4096})");
    for (int i = 0; i < 20; ++i)
      onSource(R"({"insert": "plain", "documents": [{"_id": )" + std::to_string(i) + R"(, "t": )" + std::to_string(-i) +
               "}]}");
    onSource(R"({"createIndexes": "plain", "indexes": [{"key": {"t": 1}, "name": "t_1"}]})");
    listed = source.run(R"({"listCollections": 1, "filter": {"name": "plain"}})"_json);
  }
  bool readsPlain(bson::View command) const {
    const bson::Element find = command["find"], uuid = listed.view().at("cursor.firstBatch.0.info.uuid");
    return find.is(bson::Type::kBinary) && find.asBinary().bytes == uuid.asBinary().bytes;
  }
  bson::Document listed;
};

TEST_P(CopyThatGoesOn, BehindTheLastBatchThatCame) {
  int answers = 0;
  std::vector<bson::Document> asked;
  members->failures.push_back({ErrorCode::kHostUnreachable, "the source breaks off"});
  members->before = [&](bson::View command) {
    if (readsPlain(command)) asked.emplace_back(command);
  };
  members->hits = [&](bson::View command) { return readsPlain(command) && answers++ == theStep(); };
  begin();
  finish();
  members->before = nullptr;
  expectTheSame();
  EXPECT_TRUE(members->failures.empty());
  ASSERT_EQ(asked.size(), 8u) << "seven batches of three, and the one that failed";
  EXPECT_EQ(asked.back()["$_startAt"].ok(), theStep() > 0);
}

/// Its data were copied anew meanwhile: other records have the numbers that are known here.
TEST_P(CopyThatGoesOn, FromTheBeginningWhereTheSourceWasMadeAnew) {
  int answers = 0;
  members->failures = {{ErrorCode::kHostUnreachable, "the source breaks off"}, {ErrorCode::kKeyNotFound, "others"}};
  members->hits = [&](bson::View command) {
    if (!readsPlain(command)) return false;
    return members->failures.size() == 2 ? answers++ == theStep() + 1 : command["$_startAt"].ok();
  };
  begin();
  finish();
  expectTheSame();
  EXPECT_TRUE(members->failures.empty());
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 0);
}
INSTANTIATE_TEST_SUITE_P(AtEachAnswer, CopyThatGoesOn, testing::Combine(kAllWays, testing::Range(0, 6)), nameOfWay);

TEST_F(InitialSyncerTest, WhatWasThereBeforeIsGone) {  // ISY-004
  dataOfAllKinds();
  storage::OperationContext operation({.sessions = target->storageSessions}, storage::OperationOrigin::kApplier);
  operation.setWriteMode(storage::WriteMode::kApplied);
  operation.setAppliedTime(bson::Timestamp{1, 1});
  {
    storage::WriteUnitOfWork work(operation.recoveryUnit());
    auto made =
        storage::createCollection(*target->catalog, operation.recoveryUnit(), storage::Namespace("stale", "c"), {});
    ASSERT_TRUE(made.isOK());
    ASSERT_TRUE((*made)->insert(operation.recoveryUnit(), bson::doc("_id", 1)).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  begin();
  finish();
  expectTheSame();
}

TEST_F(InitialSyncerTest, ACollectionThatIsDroppedWhileItIsCopiedIsGone) {
  dataOfAllKinds();
  bool isDropped = false;
  members->before = [&](bson::View command) {
    if (!command["find"].is(bson::Type::kBinary) || std::exchange(isDropped, true)) return;
    onSource(R"({"drop": "many"})");
    onSource(R"({"drop": "big"})");
  };
  begin();
  finish();
  expectTheSame();
}

TEST_F(InitialSyncerTest, ACappedCollectionIsInTheOrderOfTheSource) {
  dataOfAllKinds();
  bool hasChanged = false;
  members->before = [&](bson::View command) {
    if (!command["find"].is(bson::Type::kBinary) || std::exchange(hasChanged, true)) return;
    onSource(R"({"delete": "capped", "deletes": [{"q": {"_id": 3}, "limit": 1}]})");
    onSource(R"({"insert": "capped", "documents": [{"_id": 3}]})");
    onSource(R"({"insert": "capped", "documents": [{"_id": 20}]})");
  };
  begin();
  finish();
  EXPECT_TRUE(hasChanged);
  EXPECT_THAT(inNaturalOrder(source, "test.capped"), ElementsAre(4, 5, 3, 20));
  expectTheSame();
}

/// The indexes are listed, and dropped before the documents are read.
class CopyOfUnindexable : public CopyTest {};

TEST_P(CopyOfUnindexable, IsCopiedWithoutKeys) {
  const storage::UnindexableKind& kind = storage::unindexableKinds()[static_cast<size_t>(theStep())];
  dataOfAllKinds();
  const auto insert = [&](const bson::Document& document) {
    onSource(R"({"insert": "odd", "documents": [)" + bson::toRelaxedJson(document) + "]}");
  };
  for (int id = 1; id <= 4; ++id) insert(kind.good(id));
  onSource(R"({"createIndexes": "odd", "indexes": [)" + bson::toRelaxedJson(kind.spec) + "]}");
  const bson::Uuid odd = source.catalog->find(storage::Namespace("test", "odd"))->uuid();
  bool isDropped = false;
  members->before = [&](bson::View command) {
    const bson::Element wanted = command["find"];
    if (!wanted.is(bson::Type::kBinary) || isDropped) return;
    if (std::memcmp(wanted.asBinary().bytes.data(), odd.bytes.data(), odd.bytes.size()) != 0) return;
    isDropped = true;
    onSource(R"({"dropIndexes": "odd", "index": "x"})");
    insert(kind.bad(5));
  };
  begin();
  finish();
  EXPECT_TRUE(isDropped);
  expectTheSame();
  EXPECT_EQ(status->toBson({0})["failedInitialSyncAttempts"].toInt64(), 0);
}
INSTANTIATE_TEST_SUITE_P(OfEachKind, CopyOfUnindexable, testing::Combine(kAllWays, testing::Range(0, 3)), nameOfWay);

TEST_F(InitialSyncerTest, AnIndexBuildThatIsUnderWayEndsHereToo) {
  dataOfAllKinds();
  ASSERT_TRUE(
      source
          .run(R"({"configureFailPoint": "hangIndexBuild", "mode": "alwaysOn", "data": {"phase": "set up"}})"_json,
               "admin")["ok"]
          .truthy());
  const auto building =
      source.begin(R"({"createIndexes": "many", "indexes": [{"key": {"slow": 1, "t": 1}, "name": "slow"}]})"_json);
  source.node.advance(100ms);
  ASSERT_FALSE(building->done);
  int step = 0;
  onStep = [&] {
    if (++step != 18) return;
    source.run(R"({"configureFailPoint": "hangIndexBuild", "mode": "off"})"_json, "admin");
    for (int i = 0; i < 100; ++i) source.node.advance(10ms);
    EXPECT_TRUE(building->done);
  };
  begin();
  finish();
  EXPECT_GE(step, 18);
  expectTheSame();
}

TEST_F(InitialSyncerTest, ShowsWhatItHasDone) {  // ISY-019
  dataOfAllKinds();
  begin();
  ASSERT_TRUE(runUntil("cloning"));
  for (int i = 0; i < 10; ++i) target->node.advance(1ms);
  const auto shown = status->toBson({target->wallMillis()});
  EXPECT_EQ(shown["syncSource"].toStringOr(), "n1:1") << bson::toRelaxedJson(shown);
  EXPECT_GT(shown["approxTotalBytesCopied"].toInt64(), 0);
  EXPECT_EQ(shown["maxFailedInitialSyncAttempts"].toInt64(), 10);
  finish();
  const auto after = status->toBson({target->wallMillis()});
  EXPECT_EQ(after.view().at("databases.databasesToClone").toInt64(), 0) << bson::toRelaxedJson(after);
  const auto copied = after["databases"].asDocument()["test"].asDocument()["test.many"].asDocument();
  EXPECT_EQ(copied["documentsCopied"].toInt64(), 10);
  EXPECT_EQ(copied["documentsToCopy"].toInt64(), 10);
  EXPECT_EQ(copied["indexes"].toInt64(), 4);
  EXPECT_TRUE(after["initialSyncEnd"].ok());
}

}  // namespace
}  // namespace troupe::replication::test
