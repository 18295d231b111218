#include "storage/oplog/write_slots.hpp"

#include <map>

#include "messaging/bson/json.hpp"
#include "messaging/errors/invariant.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/validation/validate.hpp"
#include "test/unit/storage/oplog/replicated_fixture.hpp"

namespace troupe::storage {

using bson::Timestamp;
using ::testing::ElementsAre;

class WriteSlotsTest : public ReplicatedFixture {
 protected:
  /// Every kind of write to what is replicated, by name.
  std::map<std::string, std::function<Status()>> everyWrite() {
    const auto in = [this](auto body) { return [this, body] { return inUnit(body); }; };
    return {
        {"insert", in([this] { return current()->insert(rec(), bson::doc("_id", 50)).status(); })},
        {"insertMany", in([this] {
           const auto a = bson::doc("_id", 51), b = bson::doc("_id", 52);
           const std::vector<bson::View> both{a, b};
           return current()->insertMany(rec(), both);
         })},
        {"update", in([this] {
           const auto before = bson::doc("_id", 1), after = bson::doc("_id", 1, "x", 1);
           return current()->update(rec(), RecordId(1), before, after);
         })},
        {"put", in([this] { return current()->put(rec(), bson::doc("_id", 1, "y", 1), RecordId(1)).status(); })},
        {"remove", in([this] { return current()->remove(rec(), RecordId(1), bson::doc("_id", 1)); })},
        {"truncate", in([this] { return current()->truncate(rec()); })},
        {"create", in([this] {
           return createCollection(*catalog, rec(), {"test", "d"}, {}).status();
         })},
        {"rename", in([this] {
           return renameCollection(*catalog, rec(), current(), {"test", "e"}, false).status();
         })},
        {"collMod", in([this] {
           CollectionChange change;
           change.validationLevel = "moderate";
           return modifyCollection(*catalog, rec(), current(), change).status();
         })},
        {"create index", in([this] { return createEmptyIndex(*catalog, rec(), current(), spec("a")).status(); })},
        {"build index", [this] { return IndexBuilder(*catalog, current()->ns(), {spec("b")}).buildAll(rec()); }},
        {"drop", in([this] { return dropCollection(*catalog, rec(), current()); })},
        {"drop database", in([this] { return dropDatabase(*catalog, rec(), "test"); })},
    };
  }
  /// All that lies in the tables of a version of test.c, and all rows of the catalog, as a read at that time finds it.
  std::string stateAt(Timestamp time, const Collection& collection) {
    OperationContext reader({.sessions = *pool});
    RecoveryUnit& unit = reader.recoveryUnit();
    EXPECT_TRUE(unit.setReadSource(ReadSource::kProvided, time).isOK());
    std::string state;
    auto records = *collection.records().cursor(unit);
    while (*records.next()) state += bson::toRelaxedJson(records.document()) + "\n";
    for (const auto& index : collection.indexes())
      state += std::to_string(*index->access->countKeys(unit)) + " keys of " + index->spec.name + "\n";
    const auto rows = catalog->durable().entries(unit);
    EXPECT_TRUE(rows.isOK()) << rows.status().toString();
    for (const auto& entry : *rows) state += bson::toRelaxedJson(entry.toDocument()) + "\n";
    return state;
  }
  IndexSpec spec(const std::string& field) {
    const auto wanted = bson::doc("key", bson::doc(field, 1), "name", field + "_1");
    return (*newIndexes(*catalog, *current(), {wanted.view()}))[0];
  }
};

TEST_P(WriteSlotsTest, EachDocumentOfAnInsertHasItsOwnTimeWithAllItsKeys) {
  const Timestamp before = writes->slots.newest();
  const auto a = bson::doc("_id", 1), b = bson::doc("_id", 2), c = bson::doc("_id", 3);
  const std::vector<bson::View> documents{a, b, c};
  ASSERT_TRUE(inUnit([&] { return current()->insertMany(rec(), documents); }).isOK());
  for (uint32_t i = 0; i <= 3; ++i) {
    const Timestamp time{before.seconds, before.increment + i};
    EXPECT_EQ(countAt(time), i);
    OperationContext reader({.sessions = *pool});
    ASSERT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, time).isOK());
    EXPECT_EQ(*current()->idIndex()->access->countKeys(reader.recoveryUnit()), i);
  }
}

/// Before its time nothing of a write is there, at its time all of it: documents, index rows and rows of the catalog.
TEST_P(WriteSlotsTest, EveryKindOfWriteIsThereFromItsTimeOn) {
  for (const auto& [name, attempt] : everyWrite()) {
    ASSERT_TRUE(inUnit([&] { return dropDatabase(*catalog, rec(), "test"); }).isOK());
    ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "c"}, {}).status(); }).isOK());
    ASSERT_TRUE(inUnit([&] { return current()->put(rec(), bson::doc("_id", 1), RecordId(1)).status(); }).isOK());
    const CollectionPtr before = current();
    const Timestamp past = writes->slots.newest();
    const std::string was = stateAt(past, *before);
    ASSERT_TRUE(attempt().isOK()) << name;
    EXPECT_EQ(stateAt(past, *before), was) << name << " is seen before its time";
    EXPECT_NE(stateAt(operation->lastOpTime().timestamp, *before), was) << name;
    EXPECT_EQ(operation->lastOpTime().timestamp, writes->slots.newest()) << name;
    EXPECT_EQ(writes->slots.openReservations(), 0u) << name;
    begin();
  }
}

TEST_P(WriteSlotsTest, NoKindOfWritePassesAClosedFence) {
  ASSERT_TRUE(insertOne(1).isOK());
  writes->fence.close([] {});
  for (const auto& [name, attempt] : everyWrite()) {
    begin();
    EXPECT_EQ(attempt(), ErrorCode::kNotWritablePrimary) << name;
  }
  EXPECT_EQ(countAt(at(1000)), 1);
  EXPECT_TRUE(current());
}

TEST_P(WriteSlotsTest, ALateRetryOfAnEarlierTermIsRefused) {
  ASSERT_TRUE(insertOne(1).isOK());
  writes->fence.close([] {});
  writes->fence.open(2);
  for (const auto& [name, attempt] : everyWrite())
    EXPECT_EQ(attempt(), ErrorCode::kInterruptedDueToReplStateChange) << name;
  begin();
  EXPECT_TRUE(insertOne(2).isOK());
  EXPECT_EQ(operation->lastOpTime().term, 2);
}

TEST_P(WriteSlotsTest, AnIndexBuildThatScansWhenTheNodeStepsDownWritesNoMoreKeys) {
  ASSERT_TRUE(insertOne(1).isOK());
  IndexBuilder builder(*catalog, current()->ns(), {spec("a")});
  ASSERT_TRUE(builder.start(rec()).isOK());
  writes->fence.close([] {});
  EXPECT_EQ(builder.step(rec(), 10).status(), ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(builder.commit(rec()), ErrorCode::kNotWritablePrimary);
}

TEST_P(WriteSlotsTest, AMemberRepairsOnlyItsOwnCollections) {
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"local", "c"}, {}).status(); }).isOK());
  for (const char* ns : {"test.c", "local.c"}) {
    ASSERT_TRUE(insertOne(1, ns).isOK());
    {  // with a time, as a replicated table demands, and without its key
      OperationContext damage({.sessions = *pool});
      damage.setWriteMode(WriteMode::kApplied);
      WriteUnitOfWork work(damage.recoveryUnit());
      ASSERT_TRUE(damage.recoveryUnit().setCommitTimestamp(at(900)).isOK());
      const IndexAccess& ids = *current(ns)->idIndex()->access;
      auto cursor = *ids.cursor(damage.recoveryUnit());
      ASSERT_TRUE(*cursor.next());
      const std::string key(cursor.key());
      ASSERT_TRUE(*ids.removeRow(damage.recoveryUnit(), key, cursor.id()));
      ASSERT_TRUE(work.commit().isOK());
    }
    begin();
    ValidateSettings settings;
    settings.full = settings.repair = true;
    const auto mended = validateCollection(*catalog, rec(), current(ns), settings);
    if (ns == std::string("test.c")) {
      EXPECT_EQ(mended.status(), ErrorCode::kIllegalOperation);
    } else {
      ASSERT_TRUE(mended.isOK()) << mended.status().toString();
      EXPECT_EQ(mended->missingEntriesInserted, 1);
    }
  }
}

TEST_P(WriteSlotsTest, AReplicatedWriteWithoutTheTimeOfItsSlotIsABrokenInvariant) {
  WriteUnitOfWork work(rec());
  ASSERT_TRUE(reserveSlots(rec(), {"test", "c"}, 1).isOK());  // and not stamped
  EXPECT_THROW((void)current()->records().insert(rec(), bson::doc("_id", 1).bytes()), BrokenInvariant);
}

TEST_P(WriteSlotsTest, AReplicatedWriteWithoutTheStateTransitionLockIsABrokenInvariant) {
  LockManager locks([] { return TimePoint(); });
  for (const LockMode held : {LockMode::kNone, LockMode::kIS, LockMode::kIX}) {
    OperationContext writer({.sessions = *pool, .locks = &locks, .replicated = writes.get()});
    if (held != LockMode::kNone) {
      ASSERT_TRUE(writer.locker()->tryAcquire(ResourceId::stateTransition(), held));
    }
    WriteUnitOfWork work(writer.recoveryUnit());
    const auto insert = [&] { return current()->insert(writer.recoveryUnit(), bson::doc("_id", 1)).status(); };
    if (held == LockMode::kIX) {
      EXPECT_EQ(insert(), ErrorCode::kOK);
    } else {
      EXPECT_THROW((void)insert(), BrokenInvariant) << "holds " << nameOf(held);
    }
  }
}

TEST_P(WriteSlotsTest, WhatANodeKeepsForItselfIsNeitherFencedNorStamped) {
  writes->fence.close([] {});
  begin();
  const Timestamp before = writes->slots.newest();
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"local", "c"}, {}).status(); }).isOK());
  EXPECT_TRUE(insertOne(1, "local.c").isOK());
  EXPECT_EQ(writes->slots.newest(), before);
  EXPECT_EQ(operation->lastOpTime(), OpTime{});
}

TEST_P(WriteSlotsTest, AppliedWritesTakeNoSlotsButNeedATime) {
  begin();
  operation->setWriteMode(WriteMode::kApplied);
  const Timestamp before = writes->slots.newest();
  const auto applied = inUnit([&]() -> Status {
    TROUPE_TRY(rec().setCommitTimestamp(at(900)));
    return current()->insert(rec(), bson::doc("_id", 1)).status();
  });
  EXPECT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(writes->slots.newest(), before);
  EXPECT_EQ(countAt(at(899)), 0);
  EXPECT_EQ(countAt(at(900)), 1);
}

/// The guard belongs to the table: no kind of operation goes past it.
TEST_P(WriteSlotsTest, NoOperationWritesWhatIsReplicatedWithoutASlotOrATime) {
  ASSERT_TRUE(insertOne(1).isOK());
  const auto inMode = [this](WriteMode mode) {
    begin();
    operation->setWriteMode(mode);
  };
  const std::map<std::string, std::function<void()>> operations = {
      {"without the node's services",
       [this] { operation = std::make_unique<OperationContext>(OperationServices{.sessions = *pool}); }},
      {"unreplicated", [&] { inMode(WriteMode::kUnreplicated); }},
      {"applied without a time", [&] { inMode(WriteMode::kApplied); }},
      {"aside without a time", [&] { inMode(WriteMode::kAside); }},
  };
  const std::string was = stateAt(at(1000), *current());
  for (const auto& [kind, make] : operations) {
    for (const auto& [name, attempt] : everyWrite()) {
      make();
      EXPECT_THROW((void)attempt(), BrokenInvariant) << name << ", " << kind;
    }
  }
  RecoveryUnit alone(*pool);
  WriteUnitOfWork work(alone);
  EXPECT_THROW((void)current()->insert(alone, bson::doc("_id", 2)), BrokenInvariant) << "a unit of no operation";
  begin();
  EXPECT_EQ(stateAt(at(1000), *current()), was);
}

/// It would miss what is newer, and wait for conflicts that never end. A transaction writes in the snapshot it reads.
TEST_P(WriteSlotsTest, AWriteInAnEarlierSnapshotIsABrokenInvariant) {
  ASSERT_TRUE(insertOne(1).isOK());
  const Timestamp past = writes->slots.newest();
  const std::string was = stateAt(at(1000), *current());
  const auto readEarlier = [&] {
    begin();
    EXPECT_TRUE(rec().setReadSource(ReadSource::kProvided, past).isOK());
  };
  for (const auto& [name, attempt] : everyWrite()) {
    readEarlier();
    EXPECT_THROW((void)attempt(), BrokenInvariant) << name;
    operation.reset();
    EXPECT_EQ(writes->slots.openReservations(), 0u) << name;
  }
  EXPECT_EQ(stateAt(at(1000), *current()), was);
  readEarlier();
  const auto insert = [this] { return current()->insert(rec(), bson::doc("_id", 2)).status(); };
  EXPECT_TRUE(inUnit(insert, UnitLogging::kGrouped).isOK());
}

TEST_P(WriteSlotsTest, WhatIsDerivedFromDocumentsWritesToItsTablesOnly) {
  for (const char* field : {"a", "b"})
    ASSERT_TRUE(inUnit([&] { return createEmptyIndex(*catalog, rec(), current(), spec(field)).status(); }).isOK());
  const IndexAccess& a = *current()->findIndex("a_1")->access;
  const IndexAccess& b = *current()->findIndex("b_1")->access;
  KeySet keys;
  ASSERT_TRUE(a.generator().generate(bson::doc("_id", 1, "a", 1), keys).isOK());
  for (const WriteMode mode : {WriteMode::kReplicated, WriteMode::kApplied}) {
    begin();
    operation->setWriteMode(mode);
    WriteUnitOfWork work(rec());
    ASSERT_TRUE(admitDerived(rec(), {"test", "c"}, {a.table().id}).isOK());
    EXPECT_TRUE(*a.insertForBuild(rec(), keys.keys.at(0), RecordId(1)));
    EXPECT_THROW((void)b.insertForBuild(rec(), keys.keys.at(0), RecordId(1)), BrokenInvariant);
    EXPECT_THROW((void)current()->records().insert(rec(), bson::doc("_id", 1).bytes()), BrokenInvariant);
    EXPECT_THROW((void)catalog->durable().put(rec(), current()->toEntry()), BrokenInvariant);
  }
  begin();
  operation->setWriteMode(WriteMode::kUnreplicated);
  WriteUnitOfWork work(rec());
  EXPECT_THROW((void)admitDerived(rec(), {"test", "c"}, {a.table().id}), BrokenInvariant);
}

TEST_P(WriteSlotsTest, AWriteThatGoesPastTheReserverIsABrokenInvariant) {
  WriteUnitOfWork work(rec());
  EXPECT_THROW((void)current()->records().insert(rec(), bson::doc("_id", 1).bytes()), BrokenInvariant);
  EXPECT_THROW((void)catalog->durable().put(rec(), current()->toEntry()), BrokenInvariant);
}

TEST_P(WriteSlotsTest, AFenceThatClosesIsEmptyWhenTheLastUnitHasEnded) {
  bool drained = false;
  {
    WriteUnitOfWork work(rec());
    ASSERT_TRUE(current()->insert(rec(), bson::doc("_id", 1)).isOK());
    writes->fence.close([&] { drained = true; });
    EXPECT_FALSE(drained);
    EXPECT_TRUE(work.commit().isOK());
    EXPECT_TRUE(drained);
  }
  EXPECT_EQ(countAt(at(1000)), 1);
}

TEST_P(WriteSlotsTest, ASlotIsAHoleUntilItsUnitHasCommittedOrRolledBack) {
  OperationContext other(services());
  WriteUnitOfWork early(other.recoveryUnit());
  ASSERT_TRUE(current()->insert(other.recoveryUnit(), bson::doc("_id", 1)).isOK());
  const Timestamp hole = ReplicatedUnit::in(other.recoveryUnit())->last().timestamp;
  ASSERT_TRUE(insertOne(2).isOK());
  EXPECT_LT(writes->visibility.get(), hole);
  EXPECT_LT(hole, operation->lastOpTime().timestamp);
  ASSERT_TRUE(early.commit().isOK());
  EXPECT_EQ(writes->visibility.get(), operation->lastOpTime().timestamp);
  {
    WriteUnitOfWork late(rec());
    ASSERT_TRUE(current()->insert(rec(), bson::doc("_id", 3)).isOK());
    EXPECT_LT(writes->visibility.get(), writes->slots.newest());
  }
  EXPECT_EQ(writes->visibility.get(), writes->slots.newest());
  EXPECT_LT(operation->lastOpTime().timestamp, writes->slots.newest()) << "nothing was written at that time";
}

/// The engine has not heard of a slot that is reserved and not stamped yet.
TEST_P(WriteSlotsTest, AReadOfWhatIsDurableStopsBeforeASlotThatIsOnlyReserved) {
  pool->setOplogVisibility(&writes->visibility);
  const auto ids = [this] {
    OperationContext reader({.sessions = *pool});
    EXPECT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kAllDurable).isOK());
    auto cursor = *current()->records().cursor(reader.recoveryUnit());
    std::vector<int64_t> found;
    while (*cursor.next()) found.push_back(cursor.document()["_id"].toInt64());
    return found;
  };
  ASSERT_TRUE(insertOne(1).isOK());
  EXPECT_THAT(ids(), ElementsAre(1));
  {
    OperationContext other(services());
    WriteUnitOfWork work(other.recoveryUnit());
    ASSERT_TRUE(reserveSlots(other.recoveryUnit(), {"test", "c"}, 1).isOK());
    ASSERT_TRUE(insertOne(2).isOK());
    EXPECT_THAT(ids(), ElementsAre(1)) << "2 has committed behind a hole";
  }
  EXPECT_THAT(ids(), ElementsAre(1, 2));
}

TEST_P(WriteSlotsTest, TheSnapshotIsOpenWhenASlotIsReserved) {
  WriteUnitOfWork work(rec());
  ASSERT_TRUE(reserveSlots(rec(), {"test", "c"}, 1).isOK());
  EXPECT_TRUE(rec().isActive());
  ASSERT_TRUE(insertOneElsewhere(9).isOK());
  EXPECT_EQ(current()->insert(rec(), bson::doc("_id", 9)).status(), ErrorCode::kWriteConflict)
      << "what committed after the reservation is not seen, so the later slot cannot overwrite it";
}

TEST_P(WriteSlotsTest, AGroupedUnitSharesTheTimeOfItsCommit) {
  ASSERT_TRUE(insertOne(1).isOK());
  const Timestamp before = writes->slots.newest();
  OpTime known;
  ASSERT_TRUE(inUnit(
                  [&]() -> Status {
                    TROUPE_TRY(current()->remove(rec(), RecordId(1), bson::doc("_id", 1)));
                    TROUPE_TRY(current()->insert(rec(), bson::doc("_id", 2)).status());
                    EXPECT_EQ(writes->slots.newest(), before) << "nothing is reserved before the commit";
                    rec().onPreCommit([&](auto) {
                      known = ReplicatedUnit::in(rec())->last();
                      return Status::OK();
                    });
                    return current()->insert(rec(), bson::doc("_id", 3)).status();
                  },
                  UnitLogging::kGrouped)
                  .isOK());
  const Timestamp time{before.seconds, before.increment + 1};
  EXPECT_EQ(known, (OpTime{1, time}));
  EXPECT_EQ(operation->lastOpTime(), known);
  EXPECT_EQ(writes->slots.newest(), time);
  EXPECT_EQ(countAt(before), 1);
  EXPECT_EQ(countAt(time), 2);
}

TEST_P(WriteSlotsTest, AMultikeyFlagIsNotLaterThanTheWriteThatNeedsIt) {
  ASSERT_TRUE(inUnit([&] { return createEmptyIndex(*catalog, rec(), current(), spec("a")).status(); }).isOK());
  const auto flagAt = [&](Timestamp time) {
    OperationContext reader({.sessions = *pool});
    EXPECT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, time).isOK());
    const auto row = catalog->durable().readEntry(reader.recoveryUnit(), current()->catalogId());
    return row.isOK() && *row && (*row)->indexes.back().multikey;
  };
  for (const UnitLogging logging : {UnitLogging::kEach, UnitLogging::kGrouped}) {
    const std::string field = logging == UnitLogging::kEach ? "a" : "b";
    if (field == "b") {
      ASSERT_TRUE(inUnit([&] { return createEmptyIndex(*catalog, rec(), current(), spec("b")).status(); }).isOK());
    }
    const Timestamp before = writes->slots.newest();
    const auto document = bson::doc("_id", field, field, bson::array(1, 2));
    ASSERT_TRUE(inUnit([&] { return current()->insert(rec(), document).status(); }, logging).isOK());
    EXPECT_FALSE(flagAt(before));
    EXPECT_TRUE(flagAt(operation->lastOpTime().timestamp));
  }
}

TROUPE_ON_BOTH_ENGINES(WriteSlotsTest);

}  // namespace troupe::storage
