#include "storage/oplog/oplog_writer.hpp"

#include <map>
#include <random>
#include <set>

#include "storage/oplog/document_delta.hpp"
#include "storage/query/update/update.hpp"
#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"
#include "test/unit/storage/oplog/random_documents.hpp"

namespace troupe::storage {

using bson::doc;
using bson::Timestamp;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OplogWriterTest : public OplogWriterFixture {
 protected:
  /// Runs an update of the document with that `_id`, as the update command does.
  Status update(int id, const char* modification) {
    const bson::Value wanted(bson::fromJson(modification)->view());
    auto parsed = query::parseUpdate(wanted.element(), {}, {});
    TROUPE_TRY(parsed.status());
    return inUnit([&]() -> Status {
      const bson::Value key(id);
      TROUPE_ASSIGN(const auto at, current()->findById(rec(), key.element()));
      bson::Document before;
      TROUPE_TRY(current()->find(rec(), *at, [&](bson::View found) { before = bson::Document(found); }).status());
      TROUPE_ASSIGN(const auto result, (*parsed)->apply({.document = before}));
      return current()->update(rec(), *at, before, result.document);
    });
  }
  Status insertDocument(const bson::Document& document) {
    return inUnit([&] { return current()->insert(rec(), document).status(); });
  }
  /// From here on all tables are logged, as on a member that does not replay its log at start-up.
  void logAllTables() {
    operation.reset();
    store.reset();
    tablesAreLogged = true;
    restart();
    openLog();
  }
  void expectUniqueGrowingTimes();
  void expectNoEntryOfWhatIsNotReplicated();
};

// OPL-003. All tables are logged here: so all that is durable is there.
TEST_P(OplogWriterTest, ACrashLeavesEveryDocumentWithItsEntryAndTheReverse) {
  logAllTables();
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  {
    WriteUnitOfWork abandoned(rec());
    ASSERT_TRUE(current()->insert(rec(), doc("_id", 4)).isOK());
  }
  ASSERT_TRUE(insertOne(5).isOK());
  std::unique_ptr<EngineHarness> survivor;
  {
    OperationContext open(services());
    WriteUnitOfWork work(open.recoveryUnit());
    ASSERT_TRUE(current()->insert(open.recoveryUnit(), doc("_id", 8)).isOK());
    ASSERT_TRUE(harness->engine().flushLog().isOK());
    ASSERT_TRUE(insertAll({6, 7}).isOK());  // may be lost, but then together with their entries
    survivor = harness->afterACrash();
  }
  operation.reset();
  store.reset();
  close();
  harness = std::move(survivor);
  open();
  openLog();
  const std::vector<int> survivors = ids();
  EXPECT_EQ(insertedIds(), survivors);
  ASSERT_GE(survivors.size(), 4u);
  EXPECT_EQ(std::count(survivors.begin(), survivors.end(), 8), 0) << "its unit was open";
  EXPECT_EQ(std::vector<int>(survivors.begin(), survivors.begin() + 4), (std::vector<int>{1, 2, 3, 5}));
  ASSERT_TRUE(insertOne(9).isOK()) << "the times go on after the log";
  EXPECT_EQ(insertedIds().back(), 9);
}

TEST_P(OplogWriterTest, AUnitThatIsUndoneLeavesNoEntry) {
  const Status failed = inUnit([&]() -> Status {
    TROUPE_TRY(current()->insert(rec(), doc("_id", 1)).status());
    return current()->insert(rec(), doc("_id", 1)).status();
  });
  EXPECT_EQ(failed, ErrorCode::kDuplicateKey);
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_EQ(store->records(), 0);
}

// OPL-004
TEST_P(OplogWriterTest, EachOperationOfAStatementHasItsOwnEntry) {
  const Status done = inUnit([&]() -> Status {
    TROUPE_ASSIGN(const auto made, createCollection(*catalog, rec(), {"test", "new"}, {}));
    const auto a = doc("_id", 1), b = doc("_id", 2);
    return made->insertMany(rec(), std::vector<bson::View>{a, b});
  });
  ASSERT_TRUE(done.isOK()) << done.toString();
  EXPECT_THAT(operations(),
              ElementsAre(R"(c{ "create" : "new", "idIndex" : { "v" : 2, "key" : { "_id" : 1 }, "name" : "_id_" } })",
                          R"(i{ "_id" : 1 })", R"(i{ "_id" : 2 })"));
}

// OPL-005
TEST_P(OplogWriterTest, OperatorsAreLoggedAsTheirResults) {
  const std::string filling(200, 'x');
  ASSERT_TRUE(insertDocument(doc("_id", 1, "n", 5, "filling", filling)).isOK());
  ASSERT_TRUE(update(1, R"({"$inc": {"n": 3}})").isOK());
  ASSERT_TRUE(update(1, R"({"$push": {"list": 1}, "$unset": {"filling": 1}})").isOK());
  const auto texts = operations();
  ASSERT_THAT(texts, SizeIs(3));
  EXPECT_EQ(texts[1], R"(u{ "$v" : 2, "diff" : { "u" : { "n" : 8 } } }{ "_id" : 1 })");
  EXPECT_EQ(texts[2], R"(u{ "_id" : 1, "n" : 8, "list" : [ 1 ] }{ "_id" : 1 })") << "a whole document that is smaller";
  bson::Document replayed(log()[0]["o"].asDocument());
  for (int i = 0; i < 2; ++i) replayed = *applyDelta(replayed, log()[1]["o"].asDocument());
  EXPECT_EQ(replayed, doc("_id", 1, "n", 8, "filling", filling));
}

// OPL-006, OPL-007
void OplogWriterTest::expectUniqueGrowingTimes() {
  ASSERT_TRUE(insertOne(1).isOK());
  seconds = 990;  // a clock that is set back
  ASSERT_TRUE(insertAll({2, 3}).isOK());
  writes->fence.close([] {});
  writes->fence.open(2);
  begin();
  ASSERT_TRUE(insertOne(4).isOK());
  OpTime last;
  std::vector<int64_t> terms;
  for (const bson::Document& document : log()) {
    const auto entry = OplogEntry::parse(document);
    ASSERT_TRUE(entry.isOK()) << entry.status().toString();
    EXPECT_GT(entry->opTime.timestamp, last.timestamp);
    EXPECT_GT(entry->opTime, last);
    last = entry->opTime;
    terms.push_back(last.term);
    EXPECT_EQ(entry->operation.uuid, current()->uuid());
    EXPECT_EQ(entry->operation.ns, "test.c");
    EXPECT_EQ(entry->wall.millis, 1'700'000'000'123);
  }
  EXPECT_THAT(terms, ElementsAre(1, 1, 1, 2));
  EXPECT_EQ(operation->lastOpTime(), last);
}

TEST_P(OplogWriterTest, EntriesHaveUniqueGrowingTimesWithTheTermOfTheirPrimary) { expectUniqueGrowingTimes(); }

TEST_P(OplogWriterTest, EntriesHaveUniqueGrowingTimesAlsoWhereTablesAreLogged) {
  logAllTables();
  expectUniqueGrowingTimes();
}

TEST_P(OplogWriterTest, DocumentsThatMoveBetweenShardsSaySo) {
  operation->setWriteMode(WriteMode::kFromMigration);
  ASSERT_TRUE(insertOne(1).isOK());
  EXPECT_TRUE(log()[0]["fromMigrate"].truthy());
}

// OPL-008
void OplogWriterTest::expectNoEntryOfWhatIsNotReplicated() {
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"local", "x"}, {}).status(); }).isOK());
  ASSERT_TRUE(insertOne(1, "local.x").isOK());
  operation->setWriteMode(WriteMode::kUnreplicated);
  ASSERT_TRUE(insertOne(2, "local.x").isOK());
  begin();
  operation->setWriteMode(WriteMode::kApplied);
  ASSERT_TRUE(inUnit([&]() -> Status {
                TROUPE_TRY(rec().setCommitTimestamp(at(900)));
                return current()->insert(rec(), doc("_id", 3)).status();
              }).isOK());
  ASSERT_TRUE(inUnit(
                  [&]() -> Status {
                    TROUPE_TRY(rec().setCommitTimestamp(at(901)));
                    return current()->insert(rec(), doc("_id", 4)).status();
                  },
                  UnitLogging::kGrouped)
                  .isOK());
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_EQ(store->records(), 0);
}

TEST_P(OplogWriterTest, WhatIsNotReplicatedIsNotLogged) { expectNoEntryOfWhatIsNotReplicated(); }

TEST_P(OplogWriterTest, WhatIsNotReplicatedIsNotLoggedAlsoWhereTablesAreLogged) {
  logAllTables();
  expectNoEntryOfWhatIsNotReplicated();
}

// OPL-009
TEST_P(OplogWriterTest, ReadersStopAtTheFirstHoleUntilItCloses) {
  ASSERT_TRUE(insertOne(1).isOK());
  {
    OperationContext slow(services());
    WriteUnitOfWork work(slow.recoveryUnit());
    ASSERT_TRUE(current()->insert(slow.recoveryUnit(), doc("_id", 2)).isOK());
    ASSERT_TRUE(insertOne(3).isOK());
    EXPECT_THAT(insertedIds(), ElementsAre(1)) << "3 has committed behind a hole";
    ASSERT_TRUE(work.commit().isOK());
  }
  EXPECT_THAT(insertedIds(), ElementsAre(1, 2, 3));
  {
    OperationContext undone(services());
    WriteUnitOfWork work(undone.recoveryUnit());
    ASSERT_TRUE(current()->insert(undone.recoveryUnit(), doc("_id", 4)).isOK());
    ASSERT_TRUE(insertOne(5).isOK());
    EXPECT_THAT(insertedIds(), ElementsAre(1, 2, 3));
  }
  EXPECT_THAT(insertedIds(), ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(ids(), (std::vector<int>{1, 2, 3, 5}));
}

// OPL-013
TEST_P(OplogWriterTest, AGroupedUnitHasOneEntry) {
  ASSERT_TRUE(insertOne(9).isOK());
  operation->session.txnNumber = 3;
  const Status done = inUnit(
      [&]() -> Status {
        TROUPE_TRY(current()->insert(rec(), doc("_id", 1)).status());
        const bson::Value key(9);
        TROUPE_ASSIGN(const auto at, current()->findById(rec(), key.element()));
        TROUPE_TRY(current()->update(rec(), *at, doc("_id", 9), doc("_id", 9, "x", 1)));
        return current()->remove(rec(), *at, doc("_id", 9, "x", 1));
      },
      UnitLogging::kGrouped);
  ASSERT_TRUE(done.isOK()) << done.toString();
  const auto entries = log();
  ASSERT_THAT(entries, SizeIs(2));
  const auto entry = OplogEntry::parse(entries[1]);
  ASSERT_TRUE(entry.isOK()) << entry.status().toString();
  EXPECT_EQ(entry->operation.ns, "admin.$cmd");
  EXPECT_FALSE(entry->session || entry->txnNumber);
  EXPECT_EQ(entry->opTime, operation->lastOpTime());
  const auto group = parseCommand(entry->operation);
  ASSERT_TRUE(group.isOK()) << group.status().toString();
  std::string kinds;
  for (const bson::Document& each : std::get<LoggedGroup>(*group).operations)
    kinds += static_cast<char>(LoggedOperation::parse(each)->kind);
  EXPECT_EQ(kinds, "iud");
  EXPECT_EQ(countAt(entry->opTime.timestamp), 1);
  const Timestamp before{entry->opTime.timestamp.seconds, entry->opTime.timestamp.increment - 1};
  EXPECT_EQ(countAt(before), 1) << "all of it at once";
}

TEST_P(OplogWriterTest, AGroupOverSixteenMebibytesIsUndone) {
  const std::string mebibyte(1 << 20, 'x');
  const Status failed = inUnit(
      [&]() -> Status {
        for (int i = 0; i < 16; ++i) TROUPE_TRY(current()->insert(rec(), doc("_id", i, "filling", mebibyte)).status());
        return Status::OK();
      },
      UnitLogging::kGrouped);
  EXPECT_EQ(failed, ErrorCode::kTransactionTooLarge);
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_THAT(ids(), IsEmpty());
  ASSERT_TRUE(insertAll({1, 2}, UnitLogging::kGrouped).isOK());
  EXPECT_THAT(log(), SizeIs(1));
  EXPECT_EQ(writes->slots.openReservations(), 0u);
}

TEST_P(OplogWriterTest, TheIndexesOfManySmallOperationsCountTowardsTheSizeOfTheirEntry) {
  ASSERT_TRUE(insertAll({-1}, UnitLogging::kGrouped).isOK());
  const auto bytesOfOne = log().at(0).view().at("o.applyOps.0").asDocument().size();
  const auto count = static_cast<int>(bson::kMaxDocumentSize / bytesOfOne) - 10;
  const Status failed = inUnit(
      [&]() -> Status {
        for (int i = 0; i < count; ++i) TROUPE_TRY(current()->insert(rec(), doc("_id", i)).status());
        return Status::OK();
      },
      UnitLogging::kGrouped);
  EXPECT_EQ(failed, ErrorCode::kTransactionTooLarge);
  EXPECT_THAT(log(), SizeIs(1));
}

TEST_P(OplogWriterTest, AChangeOfALifetimeIsLoggedAsItsCommandHasIt) {
  ASSERT_TRUE(inUnit([&] {
                CollectionOptions clustered;
                clustered.clusteredIndex = doc("key", doc("_id", 1), "unique", true);
                return createCollection(*catalog, rec(), {"test", "k"}, clustered).status();
              }).isOK());
  for (const auto& [seconds, logged] : {std::pair(std::optional<int64_t>(9), doc("expireAfterSeconds", int64_t{9})),
                                        std::pair(std::optional<int64_t>(), doc("expireAfterSeconds", "off"))}) {
    CollectionChange change;
    change.expireAfterSeconds.emplace(LifetimeChange{seconds});
    ASSERT_TRUE(inUnit([&] { return modifyCollection(*catalog, rec(), current("test.k"), change).status(); }).isOK());
    EXPECT_EQ(current("test.k")->options().expireAfterSeconds, seconds);
    const bson::Document last = log().back();
    const auto entry = OplogEntry::parse(last);
    ASSERT_TRUE(entry.isOK());
    EXPECT_EQ(std::get<LoggedModify>(*parseCommand(entry->operation)).change, logged);
  }
}

// OPL-015
TEST_P(OplogWriterTest, AReadBetweenTwoEntriesOfABulkInsertSeesAPrefix) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4, 5}).isOK());
  const auto entries = log();
  ASSERT_THAT(entries, SizeIs(5));
  const Timestamp first = entries[0]["ts"].asTimestamp();
  for (uint32_t i = 0; i < 5; ++i) {
    const Timestamp time = entries[i]["ts"].asTimestamp();
    EXPECT_EQ(time, (Timestamp{first.seconds, first.increment + i}));
    EXPECT_EQ(countAt(time), i + 1);
  }
}

TEST_P(OplogWriterTest, EveryCommandHasItsEntry) {
  const auto in = [this](auto body) {
    const Status done = inUnit(body);
    EXPECT_TRUE(done.isOK()) << done.toString();
  };
  const auto spec = [&](const char* field) {
    const auto wanted = doc("key", doc(field, 1), "name", std::string(field) + "_1");
    return (*newIndexes(*catalog, *current(), {wanted.view()}))[0];
  };
  in([&] { return createCollection(*catalog, rec(), {"test", "d"}, {}).status(); });
  in([&] { return createEmptyIndex(*catalog, rec(), current(), spec("a")).status(); });
  ASSERT_TRUE(insertOne(1).isOK());
  ASSERT_TRUE(IndexBuilder(*catalog, current()->ns(), {spec("b")}).buildAll(rec()).isOK());
  in([&] {
    CollectionChange change;
    change.index = "b_1";
    change.indexChange.hidden = true;
    change.validationLevel = "moderate";
    return modifyCollection(*catalog, rec(), current(), change).status();
  });
  in([&] { return dropIndexes(*catalog, rec(), current(), {"a_1"}).status(); });
  const bson::Uuid dropped = current("test.d")->uuid();
  in([&] { return renameCollection(*catalog, rec(), current(), {"test", "d"}, true).status(); });
  in([&] { return current("test.d")->truncate(rec()); });
  in([&] { return dropCollection(*catalog, rec(), current("test.d")); });
  in([&] {
    CollectionOptions view;
    view.viewOn = "c";
    return createCollection(*catalog, rec(), {"test", "view"}, view).status();
  });
  in([&] { return dropDatabase(*catalog, rec(), "test"); });

  std::vector<std::string> names;
  std::map<std::string, LoggedCommand> commands;
  for (const bson::Document& document : log()) {
    const auto entry = OplogEntry::parse(document);
    ASSERT_TRUE(entry.isOK()) << entry.status().toString();
    names.emplace_back(entry->operation.object.first().name());
    if (entry->operation.kind != OplogKind::kCommand) continue;
    EXPECT_EQ(entry->operation.ns, "test.$cmd");
    auto command = parseCommand(entry->operation);
    ASSERT_TRUE(command.isOK()) << command.status().toString() << bson::toRelaxedJson(document);
    commands.insert_or_assign(names.back(), std::move(*command));
  }
  EXPECT_THAT(names,
              ElementsAre("create", "createIndexes", "_id", "startIndexBuild", "commitIndexBuild", "collMod",
                          "dropIndexes", "renameCollection", "emptycapped", "drop", "create", "drop", "dropDatabase"));
  const auto& rename = std::get<LoggedRename>(commands["renameCollection"]);
  EXPECT_EQ(rename.from + " " + rename.to, "test.c test.d");
  EXPECT_EQ(rename.dropTarget, dropped);
  EXPECT_EQ(bson::toRelaxedJson(std::get<LoggedModify>(commands["collMod"]).change),
            R"({ "index" : { "name" : "b_1", "hidden" : true }, "validationLevel" : "moderate" })");
  const auto& start = std::get<LoggedIndexBuild>(commands["startIndexBuild"]);
  EXPECT_EQ(start.build, std::get<LoggedIndexBuild>(commands["commitIndexBuild"]).build);
  EXPECT_EQ(start.specs.size(), 1u);
  EXPECT_EQ(std::get<LoggedDropIndex>(commands["dropIndexes"]).index, "a_1");
}

/// Members that have begun a build hear of its end before its collection goes.
TEST_P(OplogWriterTest, ACollectionThatGoesEndsItsIndexBuilds) {
  const auto begun = [&](const char* ns, const char* name) {
    const auto wanted = doc("key", doc(name, 1), "name", name);
    IndexBuilder builder(*catalog, current(ns)->ns(), *newIndexes(*catalog, *current(ns), {wanted.view()}));
    ASSERT_TRUE(builder.start(rec()).isOK());
  };
  const auto in = [&](auto body) {
    const Status done = inUnit(body);
    ASSERT_TRUE(done.isOK()) << done.toString();
  };
  begun("test.c", "a");
  begun("test.c", "b");
  in([&] { return dropCollection(*catalog, rec(), current()); });
  for (const char* name : {"d", "e"})
    in([&] { return createCollection(*catalog, rec(), {"test", name}, {}).status(); });
  begun("test.e", "a");
  in([&] { return renameCollection(*catalog, rec(), current("test.d"), {"test", "e"}, true).status(); });
  begun("test.e", "a");
  in([&] { return dropDatabase(*catalog, rec(), "test"); });
  std::vector<std::string> names;
  std::set<bson::Uuid> open;
  for (const bson::Document& document : log()) {
    const auto entry = OplogEntry::parse(document);
    ASSERT_TRUE(entry.isOK()) << entry.status().toString();
    names.emplace_back(entry->operation.object.first().name());
    const auto command = parseCommand(entry->operation);
    ASSERT_TRUE(command.isOK()) << command.status().toString();
    const auto* build = std::get_if<LoggedIndexBuild>(&*command);
    if (!build) continue;
    if (build->step == LoggedIndexBuild::Step::kStart) open.insert(build->build);
    else EXPECT_EQ(open.erase(build->build), 1u);
  }
  EXPECT_THAT(open, IsEmpty());
  EXPECT_THAT(names, ElementsAre("startIndexBuild", "startIndexBuild", "abortIndexBuild", "abortIndexBuild", "drop",
                                 "create", "create", "startIndexBuild", "abortIndexBuild", "renameCollection",
                                 "startIndexBuild", "abortIndexBuild", "drop", "dropDatabase"));
}

// OPL-001
TEST_P(OplogWriterTest, TheLogIsACappedCollectionThatOnlyTheServerWrites) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const CollectionPtr shown = current("local.oplog.rs");
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->isCapped());
  EXPECT_THAT(shown->indexes(), IsEmpty());
  EXPECT_EQ(shown->records().count(), 2);
  OperationContext slow(services());
  WriteUnitOfWork work(slow.recoveryUnit());
  ASSERT_TRUE(current()->insert(slow.recoveryUnit(), doc("_id", 3)).isOK());
  ASSERT_TRUE(insertOne(4).isOK());
  OperationContext reader({.sessions = *pool});
  auto scan = shown->records().cursor(reader.recoveryUnit());
  std::vector<int> seen;
  while (*scan->next()) seen.push_back(scan->document()["o"].asDocument()["_id"].asInt32());
  EXPECT_THAT(seen, ElementsAre(1, 2)) << "a scan ends at the hole";

  OperationContext writer(services());
  RecoveryUnit& unit = writer.recoveryUnit();
  WriteUnitOfWork refused(unit);
  const bson::Document entry = log()[0];
  const RecordId id(std::string(OplogKey(entry["ts"].asTimestamp())));
  EXPECT_EQ(shown->insert(unit, doc("x", 1)).status(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(shown->update(unit, id, entry, doc("x", 1)), ErrorCode::kIllegalOperation);
  EXPECT_EQ(shown->remove(unit, id, entry), ErrorCode::kIllegalOperation);
  EXPECT_EQ(shown->truncate(unit), ErrorCode::kIllegalOperation);
  EXPECT_EQ(dropCollection(*catalog, unit, shown), ErrorCode::kIllegalOperation);
  EXPECT_EQ(renameCollection(*catalog, unit, shown, {"local", "x"}, false).status(), ErrorCode::kIllegalOperation);
}

// A member that replays the log relies on this: it holds every operation once, and nothing else.
TEST_P(OplogWriterTest, ReplayingTheLogGivesTheCollection) {
  RandomDocuments random(11);
  std::mt19937_64 chance(5);
  std::vector<bson::Document> documents;  // by `_id`, an empty one when it is gone
  for (int round = 0; round < 300; ++round) {
    const size_t chosen = chance() % (documents.size() + 1);
    const Status done = inUnit([&]() -> Status {
      if (chosen == documents.size() || documents[chosen].empty()) {
        documents.push_back(random.document());
        return current()->insert(rec(), documents.back()).status();
      }
      bson::Document& document = documents[chosen];
      TROUPE_ASSIGN(const auto at, current()->findById(rec(), document["_id"]));
      const bson::Document before = document;
      document = chance() % 4 == 0 ? bson::Document() : random.changed(before);
      return document.empty() ? current()->remove(rec(), *at, before) : current()->update(rec(), *at, before, document);
    });
    ASSERT_TRUE(done.isOK()) << done.toString();
  }
  std::map<int64_t, bson::Document> replayed;
  int deltas = 0;
  for (const bson::Document& document : log()) {
    const LoggedOperation operation = OplogEntry::parse(document)->operation;
    const bson::View id = operation.other ? *operation.other : operation.object;
    bson::Document& target = replayed[id["_id"].asInt64()];
    if (operation.kind == OplogKind::kRemove) target = {};
    else if (!isDelta(operation.object)) target = bson::Document(operation.object);
    else target = *applyDelta(target, operation.object), ++deltas;
  }
  EXPECT_GT(deltas, 50);
  ASSERT_EQ(replayed.size(), documents.size());
  for (const bson::Document& document : documents) {
    if (document.empty()) continue;
    EXPECT_EQ(replayed[document["_id"].asInt64()], document);
  }
  int64_t left = 0;
  for (const auto& [id, document] : replayed) left += !document.empty();
  EXPECT_EQ(countAt(writes->slots.newest()), left);
}

TROUPE_ON_BOTH_ENGINES(OplogWriterTest);

}  // namespace troupe::storage
