// What a member's directory remembers of changes that were made without its set: REC, BOOT (bad input).
#include "storage/oplog/unlogged_changes.hpp"

#include <algorithm>

#include "storage/engine/repair_mark.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/validation/validate.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::HasSubstr;

class UnloggedChangesTest : public CatalogFixture {
 protected:
  UnloggedChangesTest() {
    create("test.c");
    create("local.c");
    EXPECT_TRUE(insert(doc("_id", 1)).isOK());
    log("an entry");
    watch();
  }
  ~UnloggedChangesTest() override { close(); }
  /// The next start, with an observer of the directory as it is now.
  void watch() {
    observers.clear();
    restart();
    auto opened = UnloggedChanges::open(harness->engine());
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    close();
    changes = std::move(opened).value();
    observers = {changes.get()};
    open();
  }
  /// Empties the log if there is nothing to write.
  void log(std::string_view entry) {
    Engine& engine = harness->engine();
    const auto tables = engine.listTables();
    if (std::ranges::find(tables, OplogStore::kIdent) == tables.end()) {
      ASSERT_TRUE(engine.createTable(OplogStore::kIdent, {.logged = true}).isOK());
    }
    const auto table = engine.openTable(OplogStore::kIdent);
    auto session = engine.openSession();
    ASSERT_TRUE((*session)->begin().isOK());
    {
      auto cursor = (*session)->cursor(*table);
      ASSERT_TRUE((entry.empty() ? (*cursor)->remove("key") : (*cursor)->put("key", entry)).isOK());
    }
    ASSERT_TRUE((*session)->commit().isOK());
  }
  /// As if nothing had been changed.
  void forgetMark() {
    const auto table = harness->engine().openTable(UnloggedChanges::kIdent);
    auto session = harness->engine().openSession();
    ASSERT_TRUE((*session)->begin().isOK());
    {
      auto cursor = (*session)->cursor(*table);
      ASSERT_TRUE(*(*cursor)->next());
      ASSERT_TRUE((*cursor)->remove(std::string((*cursor)->key())).isOK());
    }
    ASSERT_TRUE((*session)->commit().isOK());
    session->reset();
    watch();
  }
  Status found() { return UnloggedChanges::checkNone(harness->engine()); }

  std::unique_ptr<UnloggedChanges> changes;
};

TEST_P(UnloggedChangesTest, ReadingLeavesNoMark) {
  EXPECT_TRUE(findById(1));
  EXPECT_TRUE(found().isOK());
}

TEST_P(UnloggedChangesTest, WhatAMemberKeepsForItselfLeavesNone) {
  EXPECT_TRUE(insert(doc("_id", 2), "local.c").isOK());
  create("local.d");
  EXPECT_TRUE(found().isOK());
}

TEST_P(UnloggedChangesTest, AnInsertIsNamedAfterAKill) {
  EXPECT_TRUE(insert(doc("_id", 2)).isOK());
  EXPECT_TRUE(insert(doc("_id", 3)).isOK());
  EXPECT_EQ(found().code(), ErrorCode::kManualInterventionRequired);
  observers.clear();
  crash();
  EXPECT_THAT(found().reason(), HasSubstr("test.c"));
}

TEST_P(UnloggedChangesTest, AUnitThatIsRolledBackLeavesNone) {
  {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(current()->insert(*unit, doc("_id", 2)).isOK());
  }
  EXPECT_TRUE(found().isOK());
  EXPECT_TRUE(insert(doc("_id", 3)).isOK());
  EXPECT_FALSE(found().isOK());
}

TEST_P(UnloggedChangesTest, EveryKindOfChangeLeavesOne) {
  const std::vector<std::pair<const char*, std::function<void()>>> kinds = {
      {"create", [&] { create("test.new"); }},
      {"index", [&] { EXPECT_TRUE(index(doc("key", doc("a", 1), "name", "a")).isOK()); }},
      {"update",
       [&] {
         const auto id = findById(1);
         const Status updated =
             write([&] { return current()->update(*unit, *id, doc("_id", 1), doc("_id", 1, "a", 1)); });
         EXPECT_TRUE(updated.isOK()) << updated.toString();
       }},
      {"rename",
       [&] {
         const auto renamed = write(
             [&] { return renameCollection(*catalog, *unit, current("test.new"), Namespace("test", "newer"), false); });
         EXPECT_TRUE(renamed.isOK()) << renamed.status().toString();
       }},
      {"remove",
       [&] {
         const auto id = findById(1);
         const Status removed = write([&] { return current()->remove(*unit, *id, doc("_id", 1, "a", 1)); });
         EXPECT_TRUE(removed.isOK()) << removed.toString();
       }},
      {"truncate",
       [&] {
         const Status truncated = write([&] { return current()->truncate(*unit); });
         EXPECT_TRUE(truncated.isOK()) << truncated.toString();
       }},
      {"repair",
       [&] {
         const Status damaged =
             write([&] { return current()->records().insertAt(*unit, RecordId(1000), "not a document"); });
         ASSERT_TRUE(damaged.isOK()) << damaged.toString();
         ASSERT_TRUE(found().isOK()) << "of something else";
         unit->abandonSnapshot();
         const auto repaired = validateCollection(*catalog, *unit, current(), {.repair = true});
         ASSERT_TRUE(repaired.isOK()) << repaired.status().toString();
         EXPECT_EQ(repaired->corruptRecordsRemoved, 1);
       }},
      {"drop",
       [&] {
         const Status dropped = write([&] { return dropCollection(*catalog, *unit, current()); });
         EXPECT_TRUE(dropped.isOK()) << dropped.toString();
       }},
  };
  for (const auto& [kind, change] : kinds) {
    SCOPED_TRACE(kind);
    ASSERT_TRUE(found().isOK());
    change();
    EXPECT_EQ(found().code(), ErrorCode::kManualInterventionRequired);
    forgetMark();
  }
}

TEST_P(UnloggedChangesTest, ARepairThatMayHaveLostDocumentsLeavesOne) {
  ASSERT_TRUE(changes->noteRepair(harness->engine(), {"index-7", "sizeStorer"}).isOK());
  EXPECT_TRUE(found().isOK()) << "what is built again from the documents";
  ASSERT_TRUE(changes->noteRepair(harness->engine(), {"index-7", "collection-4"}).isOK());
  EXPECT_THAT(found().reason(), HasSubstr("by a repair"));
}

TEST_P(UnloggedChangesTest, ARepairThatGivesUpTheEndOfTheJournalLeavesOne) {
  ASSERT_TRUE(changes->noteRepair(harness->engine(), {std::string(RepairMark::kJournal)}).isOK());
  EXPECT_THAT(found().reason(), HasSubstr("by a repair"));
  forgetMark();
  ASSERT_TRUE(changes->noteRepair(harness->engine(), {std::string(RepairMark::kMetadata)}).isOK());
  EXPECT_THAT(found().reason(), HasSubstr("by a repair"));
}

TEST_P(UnloggedChangesTest, ARepairThatLosesTheLogLeavesOne) {
  log("");
  ASSERT_TRUE(changes->noteRepair(harness->engine(), {std::string(OplogStore::kIdent)}).isOK());
  EXPECT_TRUE(*UnloggedChanges::isMembersDirectory(harness->engine()));
  EXPECT_THAT(found().reason(), HasSubstr("by a repair"));
}

// One block of it may be what stopped the node, and the mark with it.
TEST_P(UnloggedChangesTest, ARepairOfTheMarkItselfLeavesOne) {
  ASSERT_TRUE(changes->noteRepair(harness->engine(), {std::string(UnloggedChanges::kIdent)}).isOK());
  EXPECT_THAT(found().reason(), HasSubstr("by a repair"));
}

TEST_P(UnloggedChangesTest, TheLogAloneIsNotDropped) {
  ASSERT_TRUE(showOplog(*catalog, {}).isOK());
  const Status dropped = write([&] { return dropCollection(*catalog, *unit, catalog->find(oplogName())); });
  EXPECT_EQ(dropped.code(), ErrorCode::kIllegalOperation) << "the config of the set would stay";
}

TEST_P(UnloggedChangesTest, ADropOfLocalEndsTheMembership) {
  ASSERT_TRUE(changes->noteRepair(harness->engine(), {std::string(OplogStore::kIdent)}).isOK());
  ASSERT_TRUE(showOplog(*catalog, {}).isOK());
  const Status dropped = write([&] { return dropDatabase(*catalog, *unit, "local"); });
  ASSERT_TRUE(dropped.isOK()) << dropped.toString();
  EXPECT_FALSE(catalog->find(oplogName()));
  EXPECT_TRUE(insert(doc("_id", 2)).isOK());
  EXPECT_FALSE(*UnloggedChanges::isMembersDirectory(harness->engine()));
  log("an entry of another set, which this node has founded since");
  EXPECT_TRUE(found().isOK()) << found().toString();
}

TEST_P(UnloggedChangesTest, OnlyALogWithEntriesMakesAMembersDirectory) {
  EXPECT_TRUE(*UnloggedChanges::isMembersDirectory(harness->engine()));
  EXPECT_TRUE(insert(doc("_id", 2)).isOK());
  EXPECT_FALSE(found().isOK());
  log("");
  EXPECT_FALSE(*UnloggedChanges::isMembersDirectory(harness->engine())) << "as of a node that was never initiated";
  EXPECT_TRUE(found().isOK()) << "nobody else has these data";
}

TROUPE_ON_BOTH_ENGINES(UnloggedChangesTest);

}  // namespace troupe::storage
