// A member goes back to an entry of its log: SRC-008, SRC-009, TRN-010, RBK-010 to 013, DRP-004.
#include "storage/oplog/storage_rollback.hpp"

#include "storage/oplog/touched_collections.hpp"
#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StorageRollbackTest : public OplogWriterFixture {
 protected:
  StorageRollbackTest() { openEnd(); }
  ~StorageRollbackTest() override { end.reset(); }

  void openEnd() {
    auto opened = TruncateAfterPoint::open(*catalog);
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    end = std::move(opened).value();
  }
  /// What is committed on a majority, from now on.
  void stableAt(bson::Timestamp time) {
    ASSERT_TRUE(harness->engine().setOldestTimestamp(time).isOK());
    ASSERT_TRUE(harness->engine().setStableTimestamp(time).isOK());
  }
  bson::Timestamp now() const { return writes->slots.newest(); }

  StorageRollback rollback(bson::Timestamp common) {
    operation.reset();
    unit->releaseSession();
    return StorageRollback({*catalog, *store, *end, *writes, {.sessions = *pool}}, common);
  }
  Status rollBackTo(bson::Timestamp common) {
    StorageRollback back = rollback(common);
    TROUPE_TRY(back.takeDown());
    TROUPE_TRY(back.goBack());
    TROUPE_ASSIGN(replayed, back.replay());
    begin();
    return Status::OK();
  }
  /// The next start, as NodeAssembly makes it: the log is cut, then replayed.
  void startAgain() {
    openLog();
    openEnd();
    const bson::Timestamp cut = end->get();
    if (cut != bson::Timestamp{} && cut < writes->visibility.get()) {
      ASSERT_TRUE(doubtWhatIsCut(*catalog, *store, {.sessions = *pool}, cut).isOK());
      OperationContext cutter({.sessions = *pool});
      ASSERT_TRUE(store->cutAfter(cutter.recoveryUnit(), cut).isOK());
    }
    operation.reset();
    const auto done = replayOplog(*catalog, *store, {.sessions = *pool}, harness->engine().recoveryTimestamp());
    ASSERT_TRUE(done.isOK()) << done.status().toString();
    writes->slots.resetTo(writes->visibility.get());
    begin();
  }
  /// Starts with what each of these crashes has left on the disk, then with the last of them again.
  void startEach(std::vector<std::unique_ptr<EngineHarness>> dead, const std::function<void(size_t)>& check) {
    letGo();
    for (size_t i = 0; i < dead.size(); ++i) {
      SCOPED_TRACE("after crash " + std::to_string(i));
      harness = std::move(dead[i]);
      open();
      startAgain();
      check(i);
      letGo();
    }
    open();
    startAgain();
  }
  void letGo() {
    operation.reset();
    end.reset();
    store.reset();
    close();
  }
  void dieAndStart() {
    letGo();
    harness->crash();
    open();
    startAgain();
  }
  void checkpoint() {
    ASSERT_TRUE(catalog->flush().isOK());
    ASSERT_TRUE(harness->engine().checkpoint({.stable = true}).isOK());
  }
  /// The counters are what a scan finds.
  void expectCounted(const char* ns = "test.c") {
    OperationContext reader({.sessions = *pool});
    int64_t records = 0, bytes = 0;
    auto cursor = current(ns)->records().cursor(reader.recoveryUnit());
    while (*cursor->next()) {
      ++records;
      bytes += static_cast<int64_t>(cursor->bytes().size());
    }
    EXPECT_EQ(current(ns)->records().count(), records);
    EXPECT_EQ(current(ns)->records().dataBytes(), bytes);
  }
  Status updateOne(int id, const bson::Document& after) {
    return inUnit([&]() -> Status {
      const bson::Value value(id);
      TROUPE_ASSIGN(const auto record, current()->findById(rec(), value.element()));
      bson::Document before;
      TROUPE_TRY(current()->find(rec(), *record, [&](bson::View found) { before = bson::Document(found); }).status());
      return current()->update(rec(), *record, before, after);
    });
  }
  Status removeOne(int id) {
    return inUnit([&]() -> Status {
      const bson::Value value(id);
      TROUPE_ASSIGN(const auto record, current()->findById(rec(), value.element()));
      bson::Document before;
      TROUPE_TRY(current()->find(rec(), *record, [&](bson::View found) { before = bson::Document(found); }).status());
      return current()->remove(rec(), *record, before);
    });
  }
  Status createNew(const char* ns) {
    return inUnit([&] { return createCollection(*catalog, rec(), Namespace::split(ns), {}).status(); });
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& each : catalog->snapshot()->collections("test")) all.push_back(each->ns().toString());
    return all;
  }

  std::unique_ptr<TruncateAfterPoint> end;
  Replayed replayed;
};

// RBK-011, RBK-013, SRC-009.
TEST_P(StorageRollbackTest, DataAndLogAreThoseOfTheCommonPoint) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  stableAt(now());
  ASSERT_TRUE(insertAll({3}).isOK());
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({4, 5}).isOK());
  ASSERT_TRUE(removeOne(1).isOK());
  ASSERT_TRUE(updateOne(2, doc("_id", 2, "x", "undone")).isOK());
  const Status done = rollBackTo(common);
  ASSERT_TRUE(done.isOK()) << done.toString();
  EXPECT_THAT(ids(), ElementsAre(1, 2, 3));
  EXPECT_THAT(operations(), ElementsAre(R"(i{ "_id" : 1 })", R"(i{ "_id" : 2 })", R"(i{ "_id" : 3 })"));
  EXPECT_EQ(replayed.entries, 1) << "what lies between the stable time and the common point";
  EXPECT_EQ(writes->visibility.get(), common);
  EXPECT_EQ(end->get(), common);
  expectCounted();
  EXPECT_TRUE(findById(2)) << "by the index of _id";
  EXPECT_FALSE(findById(4));
}

TEST_P(StorageRollbackTest, WritingGoesOnBehindTheCommonPoint) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({2, 3}).isOK());
  ASSERT_TRUE(rollBackTo(common).isOK());
  ASSERT_TRUE(insertAll({2, 7}).isOK()) << "the same _id, and the same times again";
  EXPECT_THAT(ids(), ElementsAre(1, 2, 7));
  EXPECT_THAT(operations(), ElementsAre(R"(i{ "_id" : 1 })", R"(i{ "_id" : 2 })", R"(i{ "_id" : 7 })"));
  expectCounted();
  EXPECT_EQ(countAt(common), 1) << "history is that of the new branch";
}

TEST_P(StorageRollbackTest, TheCommonPointMayBeTheStableTimeAndARollbackMayFollowAnother) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  const bson::Timestamp common = now();
  for (int i = 2; i < 5; ++i) {
    ASSERT_TRUE(insertAll({i}).isOK());
    const Status done = rollBackTo(common);
    ASSERT_TRUE(done.isOK()) << done.toString();
    EXPECT_EQ(replayed.entries, 0);
    EXPECT_THAT(ids(), ElementsAre(1));
    expectCounted();
  }
  EXPECT_THAT(operations(), ElementsAre(R"(i{ "_id" : 1 })"));
}

// DRP-004, RBK-012.
TEST_P(StorageRollbackTest, ADropIsUndoneWithAllDocuments) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  stableAt(now());
  const bson::Timestamp common = now();
  const bson::Uuid uuid = current()->uuid();
  ASSERT_TRUE(inUnit([&] { return dropCollection(*catalog, rec(), current()); }).isOK());
  ASSERT_EQ(catalog->reaper().size(), 2u) << "its table and that of its index wait";
  ASSERT_TRUE(createNew("test.c").isOK()) << "another of the name";
  ASSERT_TRUE(insertAll({9}).isOK());
  ASSERT_TRUE(rollBackTo(common).isOK());
  ASSERT_TRUE(current());
  EXPECT_EQ(current()->uuid(), uuid);
  EXPECT_THAT(ids(), ElementsAre(1, 2, 3));
  expectCounted();
  EXPECT_EQ(keys("_id_"), 3);
  catalog->onTimes({UINT32_MAX, 1}, {UINT32_MAX, 1});
  EXPECT_THAT(ids(), ElementsAre(1, 2, 3)) << "the reaper has forgotten the drop";
}

TEST_P(StorageRollbackTest, CreatesRenamesAndIndexesAreUndone) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  const bson::Timestamp common = now();
  ASSERT_TRUE(createNew("test.new").isOK());
  ASSERT_TRUE(insertOne(4, "test.new").isOK());
  ASSERT_TRUE(inUnit([&] {
                return createEmptyIndex(*catalog, rec(), current("test.new"),
                                        *parseIndexSpec(doc("key", doc("a", 1), "name", "a")))
                    .status();
              }).isOK());
  ASSERT_TRUE(inUnit([&] {
                return renameCollection(*catalog, rec(), current(), {"test", "moved"}, false).status();
              }).isOK());
  const size_t tables = harness->engine().listTables().size();
  ASSERT_TRUE(rollBackTo(common).isOK());
  EXPECT_THAT(names(), ElementsAre("test.c"));
  EXPECT_THAT(ids(), ElementsAre(1));
  unit->releaseSession();
  ASSERT_TRUE(harness->engine().checkpoint().isOK()) << "a changed table is dropped behind a checkpoint only";
  catalog->onTimes({}, {});
  EXPECT_EQ(harness->engine().listTables().size(), tables - 3) << "those of the new collection go at the next reaping";
  ASSERT_TRUE(createNew("test.new").isOK());
  ASSERT_TRUE(insertOne(5, "test.new").isOK());
  EXPECT_THAT(ids("test.new"), ElementsAre(5));
}

TEST_P(StorageRollbackTest, WhatIsOlderThanTheCommonPointIsCarriedOutAgain) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  stableAt(now());
  ASSERT_TRUE(createNew("test.new").isOK());
  ASSERT_TRUE(insertOne(4, "test.new").isOK());
  ASSERT_TRUE(removeOne(1).isOK());
  const bson::Timestamp common = now();
  ASSERT_TRUE(inUnit([&] { return dropCollection(*catalog, rec(), current("test.new")); }).isOK());
  ASSERT_TRUE(rollBackTo(common).isOK());
  EXPECT_EQ(replayed.entries, 3);
  EXPECT_THAT(ids("test.new"), ElementsAre(4));
  EXPECT_THAT(ids(), ElementsAre(2));
  expectCounted();
  expectCounted("test.new");
}

// RBK-006: only what was written is counted by scans.
TEST_P(StorageRollbackTest, CollectionsThatNoEntryTouchesKeepTheirCounters) {
  ASSERT_TRUE(createNew("test.d").isOK());
  ASSERT_TRUE(insertOne(1, "test.d").isOK());
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({2}).isOK());
  ASSERT_TRUE(rollBackTo(common).isOK());
  EXPECT_EQ(replayed.recounted, 1);
  expectCounted();
  expectCounted("test.d");
}

TEST_P(StorageRollbackTest, NothingIsChangedWhereThereIsNoStableTimeOrItIsLater) {
  ASSERT_TRUE(insertAll({1}).isOK());
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({2}).isOK());
  EXPECT_EQ(rollback(common).takeDown().code(), ErrorCode::kIllegalOperation) << "no stable time";
  begin();
  stableAt(now());
  EXPECT_EQ(rollback(common).takeDown().code(), ErrorCode::kIllegalOperation);
  begin();
  EXPECT_THAT(ids(), ElementsAre(1, 2));
  EXPECT_EQ(end->get(), bson::Timestamp());
}

TEST_P(StorageRollbackTest, IsAskedAgainWhileATransactionIsOpen) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({2}).isOK());
  StorageRollback back = rollback(common);
  {
    OperationContext open({.sessions = *pool});
    WriteUnitOfWork work(open.recoveryUnit());
    const auto table = harness->engine().openTable(TruncateAfterPoint::kIdent);
    ASSERT_TRUE(table.isOK());
    auto cursor = open.recoveryUnit().cursor(*table);
    ASSERT_TRUE(cursor.isOK());
    ASSERT_TRUE((*cursor)->put("key", "value").isOK());
    cursor->reset();
    ASSERT_TRUE(back.takeDown().isOK());
    EXPECT_EQ(back.goBack().code(), ErrorCode::kObjectIsBusy);
  }
  ASSERT_TRUE(back.goBack().isOK());
  ASSERT_TRUE(back.replay().isOK());
  begin();
  EXPECT_THAT(ids(), ElementsAre(1));
}

// A crash at each step: as before, until the end of the log is noted; then as of the common point.
TEST_P(StorageRollbackTest, ACrashAnywhereEndsInOneOfTwoStates) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  stableAt(now());
  checkpoint();
  ASSERT_TRUE(insertAll({3}).isOK());
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({4, 5}).isOK());
  ASSERT_TRUE(inUnit([&] { return dropCollection(*catalog, rec(), current()); }).isOK());
  ASSERT_TRUE(createNew("test.new").isOK());
  ASSERT_TRUE(harness->engine().flushLog().isOK());
  std::vector<std::unique_ptr<EngineHarness>> dead;
  StorageRollback back = rollback(common);
  dead.push_back(harness->afterACrash());
  ASSERT_TRUE(back.takeDown().isOK());
  dead.push_back(harness->afterACrash());
  ASSERT_TRUE(back.goBack().isOK());
  dead.push_back(harness->afterACrash());
  ASSERT_TRUE(harness->engine().flushLog().isOK());
  dead.push_back(harness->afterACrash());
  ASSERT_TRUE(back.replay().isOK());
  dead.push_back(harness->afterACrash());
  checkpoint();
  dead.push_back(harness->afterACrash());

  startEach(std::move(dead), [&](size_t step) {
    if (step == 0) {
      EXPECT_EQ(log().size(), 7u);
      EXPECT_THAT(names(), ElementsAre("test.new"));
    } else {
      EXPECT_EQ(writes->visibility.get(), common);
      EXPECT_THAT(names(), ElementsAre("test.c"));
      EXPECT_THAT(ids(), ElementsAre(1, 2, 3));
      expectCounted();
      EXPECT_THAT(log().size(), 3u);
      EXPECT_TRUE(insertAll({8}).isOK());
    }
  });
}

// What shows the log counts on with it, although the catalog has new counters.
TEST_P(StorageRollbackTest, TheLogIsCountedOnAfterIt) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({2, 3}).isOK());
  const int64_t before = current("local.oplog.rs")->records().count();
  ASSERT_TRUE(rollBackTo(common).isOK());
  EXPECT_EQ(current("local.oplog.rs")->records().count(), before - 2);
  ASSERT_TRUE(insertAll({4}).isOK());
  EXPECT_EQ(current("local.oplog.rs")->records().count(), before - 1);
  EXPECT_EQ(current("local.replset.oplogTruncateAfterPoint")->records().count(), 1);
}

TEST_P(StorageRollbackTest, WhatWasWrittenAfterItOutlivesACrash) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  checkpoint();
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({2, 3, 4}).isOK());
  ASSERT_TRUE(rollBackTo(common).isOK());
  ASSERT_TRUE(insertAll({5}).isOK());
  ASSERT_TRUE(end->set(writes->visibility.get()).isOK());
  ASSERT_TRUE(harness->engine().flushLog().isOK());
  dieAndStart();
  EXPECT_THAT(ids(), ElementsAre(1, 5));
  EXPECT_THAT(operations(), ElementsAre(R"(i{ "_id" : 1 })", R"(i{ "_id" : 5 })"));
  expectCounted();
}

// Counters are written now and then, and those on the disk include what was undone; no entry tells of it any more.
TEST_P(StorageRollbackTest, CountersAreRightWhereverACrashFollows) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  checkpoint();
  const bson::Timestamp common = now();
  ASSERT_TRUE(insertAll({2, 3, 4}).isOK());
  std::vector<std::unique_ptr<EngineHarness>> dead;
  StorageRollback back = rollback(common);
  ASSERT_TRUE(back.takeDown().isOK());
  ASSERT_TRUE(back.goBack().isOK());
  ASSERT_TRUE(harness->engine().flushLog().isOK());
  dead.push_back(harness->afterACrash());
  ASSERT_TRUE(back.replay().isOK());
  EXPECT_THAT(catalog->sizes().doubted(), IsEmpty());
  dead.push_back(harness->afterACrash());
  ASSERT_TRUE(harness->engine().flushLog().isOK());
  dead.push_back(harness->afterACrash());
  startEach(std::move(dead), [&](size_t) {
    EXPECT_THAT(ids(), ElementsAre(1));
    expectCounted();
  });
}

// REC-005: what a start cuts off was counted when it was written.
TEST_P(StorageRollbackTest, CountersAreRightAfterAStartHasCutTheLog) {
  ASSERT_TRUE(insertAll({1}).isOK());
  stableAt(now());
  checkpoint();
  ASSERT_TRUE(end->set(now()).isOK());
  ASSERT_TRUE(insertAll({2, 3}).isOK());
  ASSERT_TRUE(catalog->flush().isOK());
  ASSERT_TRUE(harness->engine().flushLog().isOK());
  dieAndStart();
  EXPECT_THAT(ids(), ElementsAre(1));
  expectCounted();
}

TROUPE_ON_BOTH_ENGINES(StorageRollbackTest);

}  // namespace troupe::storage
