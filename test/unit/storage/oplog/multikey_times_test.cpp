// Times of catalog rows: multikey flags, which are written beside the writes that need them, and what a start discards.
#include <set>

#include "messaging/errors/invariant.hpp"
#include "storage/oplog/write_slots.hpp"
#include "test/unit/storage/catalog/interleaving.hpp"
#include "test/unit/storage/oplog/replicated_fixture.hpp"

namespace troupe::storage {

using bson::Timestamp;

/// test.c with the indexes a and b. The first is partial, so that the test can come between the reservation of a slot
/// and the keys that need a flag.
class MultikeyTimesTest : public ReplicatedFixture {
 protected:
  MultikeyTimesTest() { makeIndexes(); }

  void makeIndexes() {
    const auto a = bson::doc("key", bson::doc("a", 1), "name", "a", "partialFilterExpression", bson::doc("p", 1));
    const auto b = bson::doc("key", bson::doc("b", 1), "name", "b");
    const auto specs = newIndexes(*catalog, *current(), {a.view(), b.view()});
    ASSERT_TRUE(specs.isOK());
    for (const auto& spec : *specs)
      ASSERT_TRUE(inUnit([&] { return createEmptyIndex(*catalog, rec(), current(), spec).status(); }).isOK());
  }
  static bson::Document withArray(int id, const char* field) {
    return bson::doc("_id", id, "p", 1, field, bson::array(1, 2));
  }
  void insertAs(OperationContext& writer, const bson::Document& document, const std::function<void()>& written = {}) {
    WriteUnitOfWork work(writer.recoveryUnit());
    const auto inserted = current()->insert(writer.recoveryUnit(), document);
    ASSERT_TRUE(inserted.isOK()) << inserted.status().toString();
    if (written) written();
    ASSERT_TRUE(work.commit().isOK());
  }

  /// Names of the indexes whose flag a read at that time finds.
  std::set<std::string> flagsAt(std::optional<Timestamp> time) {
    OperationContext reader({.sessions = *pool});
    if (time) {
      EXPECT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, time).isOK());
    }
    const auto row = catalog->durable().readEntry(reader.recoveryUnit(), current()->catalogId());
    EXPECT_TRUE(row.isOK() && *row);
    std::set<std::string> flags;
    for (const IndexMetadata& index : (*row)->indexes)
      if (index.multikey) flags.emplace(index.spec["name"].asString());
    return flags;
  }
  /// Names of the indexes that hold, at that time, an array of some document.
  std::set<std::string> neededAt(Timestamp time) {
    OperationContext reader({.sessions = *pool});
    EXPECT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, time).isOK());
    auto cursor = *current()->records().cursor(reader.recoveryUnit());
    std::set<std::string> needed;
    while (*cursor.next())
      for (const auto& e : cursor.document())
        if (e.is(bson::Type::kArray)) needed.emplace(e.name());
    return needed;
  }
  static bool isSubset(const std::set<std::string>& part, const std::set<std::string>& whole) {
    return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
  }
  /// At each time the row has the flags that the keys of that time need, and none goes off again.
  void checkTimesFrom(Timestamp first, const std::string& order) {
    std::set<std::string> last;
    for (Timestamp time = first; time <= writes->slots.newest(); ++time.increment) {
      const auto flags = flagsAt(time);
      EXPECT_TRUE(isSubset(neededAt(time), flags)) << order << " at " << time.increment;
      EXPECT_TRUE(isSubset(last, flags)) << order << " at " << time.increment;
      last = flags;
    }
    EXPECT_EQ(flagsAt(std::nullopt), last) << order << ": the last time has the last version";
  }
};

TEST_P(MultikeyTimesTest, AFlagIsThereWhereverAWriteNeedsItHoweverWritersMeet) {
  // Each reserves its slot, writes its keys with the flag they need, and commits.
  constexpr int kSteps = 3;
  for (const char* field : {"a", "b"}) {
    for (const std::string& order : Interleaving::orders(kSteps, kSteps)) {
      ASSERT_TRUE(inUnit([&] { return dropCollection(*catalog, rec(), current()); }).isOK());
      ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "c"}, {}).status(); }).isOK());
      makeIndexes();
      const Timestamp first = writes->slots.newest();
      Interleaving steps(order);
      onFilter = [&] { steps.stepDone(); };
      const auto writer = [&](int id, const char* array) {
        return [&, id, array] {
          OperationContext own(services());
          insertAs(own, withArray(id, array), [&] { steps.stepDone(); });
        };
      };
      steps.run(writer(1, "a"), writer(2, field));
      onFilter = nullptr;
      checkTimesFrom(first, order);
      EXPECT_EQ(writes->slots.openReservations(), 0u);
    }
  }
}

TEST_P(MultikeyTimesTest, ARecoveryToATimeBetweenTwoWritersKeepsTheFlag) {
  OperationContext one(services()), two(services());
  bool met = false;
  onFilter = [&] {
    if (std::exchange(met, true)) return;
    insertAs(two, withArray(2, "a"));  // it has the later slot, and sets the flag first
  };
  insertAs(one, withArray(1, "a"));
  const Timestamp between = one.lastOpTime().timestamp;
  ASSERT_LT(between, two.lastOpTime().timestamp);
  ASSERT_TRUE(harness->engine().setStableTimestamp(between).isOK());
  ASSERT_TRUE(harness->engine().checkpoint().isOK());
  one.recoveryUnit().releaseSession();
  two.recoveryUnit().releaseSession();
  operation.reset();
  crash();
  EXPECT_TRUE(findById(1));
  EXPECT_FALSE(findById(2));
  EXPECT_TRUE(current()->findIndex("a")->multikey());
}

/// The stable time follows the holes: one that has not yet been written must stay ahead of it.
TEST_P(MultikeyTimesTest, TheTimeOfAFlagIsAHoleUntilItIsWritten) {
  auto other = std::make_unique<OperationContext>(services());
  auto early = std::make_unique<WriteUnitOfWork>(other->recoveryUnit());
  const auto slot = reserveSlot(other->recoveryUnit(), {"test", "d"});
  ASSERT_TRUE(slot.isOK());
  WriteUnitOfWork work(rec());
  ASSERT_TRUE(reserveSlot(rec(), {"test", "c"}).isOK());
  {
    const TimeAside aside = timeAside(rec(), {});
    EXPECT_EQ(aside.time, slot->timestamp) << "the oldest open one, though it is another operation's";
    early.reset();
    EXPECT_LT(writes->slots.withoutHoles(), *aside.time);
  }
  EXPECT_EQ(writes->slots.withoutHoles(), slot->timestamp) << "the hole has closed";
  EXPECT_EQ(timeAside(rec(), at(900)).time, at(900)) << "not older than the row";
}

TEST_P(MultikeyTimesTest, AppliersGiveTheRowTimesThatGrow) {
  const Timestamp newest = writes->slots.newest();
  const auto applyAt = [&](uint32_t increment, const bson::Document& document) {
    OperationContext applier(services(), OperationOrigin::kApplier);
    applier.setWriteMode(WriteMode::kApplied);
    WriteUnitOfWork work(applier.recoveryUnit());
    ASSERT_TRUE(applier.recoveryUnit().setCommitTimestamp(at(increment)).isOK());
    ASSERT_TRUE(current()->insert(applier.recoveryUnit(), document).isOK());
    ASSERT_TRUE(work.commit().isOK());
  };
  // Two threads of a batch: the later operation comes first.
  applyAt(newest.increment + 9, withArray(1, "a"));
  applyAt(newest.increment + 4, withArray(2, "b"));
  const std::set<std::string> none, both{"a", "b"};
  EXPECT_EQ(flagsAt(at(newest.increment + 8)), none) << "readers see no time within a batch";
  EXPECT_EQ(flagsAt(at(newest.increment + 9)), both);
}

/// What a scan derives has no time of its own: the flag comes with the index.
TEST_P(MultikeyTimesTest, AnIndexBuildWritesItsFlagWithItsCommit) {
  for (const WriteMode mode : {WriteMode::kReplicated, WriteMode::kApplied}) {
    const std::string field = mode == WriteMode::kApplied ? "d" : "c";
    begin();
    insertAs(*operation, withArray(mode == WriteMode::kApplied ? 12 : 11, field.c_str()));
    const auto wanted = bson::doc("key", bson::doc(field, 1), "name", field);
    IndexBuilder builder(*catalog, current()->ns(), *newIndexes(*catalog, *current(), {wanted.view()}));
    ASSERT_TRUE(builder.start(rec()).isOK());
    {
      OperationContext scan(services());
      scan.setWriteMode(mode);
      const auto ended = builder.step(scan.recoveryUnit(), 100);
      ASSERT_TRUE(ended.isOK()) << ended.status().toString();
      ASSERT_TRUE(*ended);
    }
    EXPECT_FALSE(flagsAt(writes->slots.newest()).contains(field));
    ASSERT_TRUE(builder.commit(rec()).isOK());
    const Timestamp committed = operation->lastOpTime().timestamp;
    EXPECT_TRUE(flagsAt(committed).contains(field));
    EXPECT_FALSE(flagsAt(Timestamp{committed.seconds, committed.increment - 1}).contains(field));
    const Timestamp newest = writes->slots.newest();
    insertAs(*operation, withArray(mode == WriteMode::kApplied ? 14 : 13, field.c_str()));
    EXPECT_EQ(writes->slots.newest().increment, newest.increment + 1) << "no row is written once more";
  }
}

TEST_P(MultikeyTimesTest, TimesThatARollbackHasUndoneHoldNoFlagBack) {
  ASSERT_TRUE(insertOne(1).isOK());
  const Timestamp stable = operation->lastOpTime().timestamp;
  for (int id = 2; id < 9; ++id) ASSERT_TRUE(insertOne(id).isOK());
  insertAs(*operation, withArray(9, "a"));
  ASSERT_TRUE(harness->engine().setStableTimestamp(stable).isOK());
  rec().releaseSession();
  catalog->close();
  ASSERT_TRUE(harness->engine().rollbackToStable().isOK());
  ASSERT_TRUE(catalog->reload(true).isOK());
  writes->slots.resetTo(stable);
  EXPECT_EQ(flagsAt(stable), std::set<std::string>());
  begin();
  insertAs(*operation, withArray(2, "a"));
  EXPECT_EQ(flagsAt(operation->lastOpTime().timestamp), std::set<std::string>{"a"});
}

TEST_P(MultikeyTimesTest, ARowWithoutATimeIsABrokenInvariant) {
  const auto put = [&](OperationContext& writer) {
    WriteUnitOfWork work(writer.recoveryUnit());
    (void)catalog->durable().put(writer.recoveryUnit(), current()->toEntry());
  };
  OperationContext plain({.sessions = *pool});  // knows nothing of replication
  EXPECT_THROW(put(plain), BrokenInvariant);
  for (const WriteMode mode : {WriteMode::kUnreplicated, WriteMode::kApplied, WriteMode::kAside}) {
    OperationContext other(services());
    other.setWriteMode(mode);
    EXPECT_THROW(put(other), BrokenInvariant);
  }
}

TEST_P(MultikeyTimesTest, UnfinishedBuildsThatAStartFindsAreDiscardedAtATime) {
  const auto wanted = bson::doc("key", bson::doc("c", 1), "name", "c");
  IndexBuilder builder(*catalog, current()->ns(), *newIndexes(*catalog, *current(), {wanted.view()}));
  ASSERT_TRUE(builder.start(rec()).isOK());
  ASSERT_TRUE(insertOne(1).isOK());
  ASSERT_TRUE(harness->engine().setStableTimestamp(writes->slots.newest()).isOK());
  ASSERT_TRUE(harness->engine().checkpoint().isOK());
  const std::string ident = current()->findIndex("c")->ident;
  operation.reset();
  crash();
  EXPECT_TRUE(findById(1));
  ASSERT_TRUE(current()->findIndex("c"));
  EXPECT_FALSE(current()->findIndex("c")->ready);
  begin();
  const auto left = unfinishedBuilds(*catalog->snapshot());
  ASSERT_EQ(left.size(), 1u);
  ASSERT_TRUE(abortIndexBuild(*catalog, rec(), left[0].collection, left[0].build).isOK());
  EXPECT_GT(operation->lastOpTime().timestamp, Timestamp{}) << "a write like any other";
  EXPECT_FALSE(current()->findIndex("c"));
  unit->abandonSnapshot();
  const auto row = catalog->durable().readEntry(*unit, current()->catalogId());
  ASSERT_TRUE(row.isOK() && *row) << row.status().toString();
  for (const IndexMetadata& index : (*row)->indexes) EXPECT_NE(index.ident, ident);
  insertAs(*operation, withArray(2, "a"));
  EXPECT_TRUE(flagsAt(operation->lastOpTime().timestamp).contains("a")) << "later versions have times again";
  WriteUnitOfWork work(*unit);
  EXPECT_THROW((void)catalog->durable().discardAtStart(*unit, current()->toEntry()), BrokenInvariant)
      << "the exception ends with the start";
}

// A recovery to any time within a batch must find the flags that its keys of that time need.
TEST_P(MultikeyTimesTest, AnAppliersFlagIsAsOldAsItsBatchInWhateverOrderItIsWritten) {
  const Timestamp first = at(50), middle = at(52), last = at(55);
  const auto apply = [&](Timestamp time, int id) {
    OperationContext applier({.sessions = *pool, .replicated = writes.get()}, OperationOrigin::kApplier);
    applier.setWriteMode(WriteMode::kApplied);
    applier.setAppliedTime(time);
    applier.setBatchStart(first);
    insertAs(applier, withArray(id, "b"));
  };
  apply(last, 1);
  apply(middle, 2);
  EXPECT_EQ(flagsAt(at(49)), std::set<std::string>{});
  EXPECT_EQ(flagsAt(first), std::set<std::string>{"b"});
  EXPECT_EQ(neededAt(middle), std::set<std::string>{"b"});
}

TROUPE_ON_BOTH_ENGINES(MultikeyTimesTest);

}  // namespace troupe::storage
