#include "storage/oplog/batch_units.hpp"

#include "storage/oplog/oplog_replay.hpp"
#include "test/unit/storage/oplog/member_fixture.hpp"
#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"

namespace troupe::storage {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A primary, whose log a member writes in units of work of its own.
class BatchUnitsTest : public OplogWriterFixture {
 protected:
  OplogStretch stretch() {
    auto parsed = OplogStretch::parse(log());
    EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
    return std::move(*parsed);
  }
  static std::vector<const OplogEntry*> all(const OplogStretch& stretch) {
    std::vector<const OplogEntry*> entries;
    for (const OplogEntry& each : stretch.entries) entries.push_back(&each);
    return entries;
  }
  Status updateAll(int round, const std::vector<int>& ids) {
    for (const int id : ids)
      TROUPE_TRY(inUnit([&]() -> Status {
        const bson::Value key(id);
        TROUPE_ASSIGN(const auto at, current()->findById(rec(), key.element()));
        bson::Document before;
        TROUPE_TRY(current()->find(rec(), *at, [&](bson::View found) { before = bson::Document(found); }).status());
        bson::Builder after;
        for (const bson::Element& each : before.view())
          if (each.name() != "n") after.append(each);
        return current()->update(rec(), *at, before, after.append("n", round).finish());
      }));
    return Status::OK();
  }
};

/// Of all entries of a log, visible or not.
std::vector<bson::Timestamp> timesOf(OplogStore& store, SessionPool& pool) {
  std::vector<bson::Timestamp> found;
  OperationContext operation({.sessions = pool});
  auto cursor = store.cursor(operation.recoveryUnit(), false);
  while (*cursor->next()) found.insert(found.begin(), cursor->time());
  return found;
}

/// Of the log that a crash has left on a disk.
std::vector<bson::Timestamp> timesOf(EngineHarness& disk) {
  SessionPool pool(disk.engine());
  OplogVisibility visibility;
  auto opened = OplogStore::open(disk.engine(), pool, {}, visibility);
  EXPECT_TRUE(opened.isOK()) << opened.status().toString();
  return timesOf(**opened, pool);
}

/// The member's own log.
class MemberLog {
 public:
  explicit MemberLog(Member& member) : member_(member) {
    auto opened = OplogStore::open(member.harness->engine(), *member.pool, {}, visibility_);
    EXPECT_TRUE(opened.isOK()) << opened.status().toString();
    store_ = std::move(*opened);
  }
  Status add(std::span<const OplogEntry> entries, std::span<const bson::Document> documents) {
    OperationContext operation({.sessions = *member_.pool}, OperationOrigin::kApplier);
    return logEntries(operation, *store_, entries, documents);
  }
  /// A unit of work that has written these rows, as a batch does, and can still be committed.
  struct Open {
    Open(MemberLog& log, std::span<const OplogEntry> entries, std::span<const bson::Document> documents)
        : operation({.sessions = *log.member_.pool}, OperationOrigin::kApplier), work(operation.recoveryUnit()) {
      std::vector<OplogRow> rows;
      for (size_t i = 0; i < entries.size(); ++i)
        rows.push_back({entries[i].opTime.timestamp, entries[i].wall.millis, documents[i]});
      status = log.store_->insert(operation.recoveryUnit(), rows);
    }
    OperationContext operation;
    WriteUnitOfWork work;
    Status status;
  };
  std::unique_ptr<Open> begin(std::span<const OplogEntry> entries, std::span<const bson::Document> documents) {
    return std::make_unique<Open>(*this, entries, documents);
  }
  std::vector<bson::Timestamp> times() { return timesOf(*store_, *member_.pool); }
  bson::Timestamp visible() const { return visibility_.get(); }

 private:
  Member& member_;
  OplogVisibility visibility_;
  std::unique_ptr<OplogStore> store_;
};

// OPL-010.
TEST_P(BatchUnitsTest, EntriesAreAddedToTheLogAsTheyCame) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  Member member;
  MemberLog own(member);
  const OplogStretch entries = stretch();
  ASSERT_TRUE(own.add(entries.entries, entries.documents).isOK());
  EXPECT_THAT(own.times(), ElementsAre(at(1), at(2), at(3)));
  EXPECT_EQ(own.visible(), bson::Timestamp()) << "the end of the log is moved by who knows the end of the batch";
}

TEST_P(BatchUnitsTest, ALogThatDoesNotGrowIsRefused) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  Member member;
  MemberLog own(member);
  OplogStretch entries = stretch();
  const std::span<const OplogEntry> every = entries.entries;
  const std::span<const bson::Document> documents = entries.documents;
  ASSERT_TRUE(own.add(every.first(2), documents.first(2)).isOK());
  EXPECT_EQ(own.add(every.subspan(1), documents.subspan(1)).code(), ErrorCode::kIllegalOperation) << "there already";
  EXPECT_EQ(own.add(every.first(1), documents.first(1)).code(), ErrorCode::kIllegalOperation) << "older";
  std::swap(entries.entries[1], entries.entries[2]);
  Member other;
  MemberLog fresh(other);
  EXPECT_EQ(fresh.add(entries.entries, entries.documents).code(), ErrorCode::kIllegalOperation) << "not in order";
  EXPECT_THAT(fresh.times(), IsEmpty());
  std::swap(entries.entries[1], entries.entries[2]);
  entries.entries[0].opTime.term = 5;
  EXPECT_EQ(fresh.add(entries.entries, entries.documents).code(), ErrorCode::kIllegalOperation) << "a term goes back";
  EXPECT_THAT(own.times(), ElementsAre(at(1), at(2)));
}

/// A member whose log has the first of these entries; the others are its next batch.
struct LogOfOneEntry {
  explicit LogOfOneEntry(OplogStretch all) : stretch(std::move(all)) {
    EXPECT_TRUE(own.add(every.first(1), documents.first(1)).isOK());
  }
  Status addRest() { return own.add(every.subspan(1), documents.subspan(1)); }

  const OplogStretch stretch;
  const std::span<const OplogEntry> every = stretch.entries;
  const std::span<const bson::Document> documents = stretch.documents;
  Member member;
  MemberLog own{member};
};

// REC-004: no point marks where a batch begins, for all of its entries enter the log together.
TEST_P(BatchUnitsTest, AFailureWithinABatchLeavesNoneOfItsEntries) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4}).isOK());
  LogOfOneEntry log(stretch());
  {
    const auto other = log.own.begin(log.every.subspan(2, 1), log.documents.subspan(2, 1));
    ASSERT_TRUE(other->status.isOK()) << other->status.toString();
    EXPECT_EQ(log.addRest().code(), ErrorCode::kWriteConflict) << "the second row";
  }
  EXPECT_THAT(log.own.times(), ElementsAre(at(1)));
  ASSERT_TRUE(log.addRest().isOK());
  EXPECT_THAT(log.own.times(), ElementsAre(at(1), at(2), at(3), at(4)));
}

TEST_P(BatchUnitsTest, ACrashWithinABatchLeavesNoneOfItsEntries) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  LogOfOneEntry log(stretch());
  const auto batch =
      log.own.begin(log.every.subspan(1), log.documents.subspan(1));  // all rows are written, and not committed
  ASSERT_TRUE(batch->status.isOK()) << batch->status.toString();
  ASSERT_TRUE(log.member.harness->engine().flushLog().isOK());
  const auto within = log.member.harness->afterACrash();
  EXPECT_THAT(timesOf(*within), ElementsAre(at(1)));
  ASSERT_TRUE(batch->work.commit().isOK());
  ASSERT_TRUE(log.member.harness->engine().flushLog().isOK());
  const auto behind = log.member.harness->afterACrash();
  EXPECT_THAT(timesOf(*behind), ElementsAre(at(1), at(2), at(3)));
}

// REP-022.
TEST_P(BatchUnitsTest, AUnitOfWorkHoldsAsManyEntriesAsFit) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4, 5}).isOK());
  Member member;
  ASSERT_TRUE(member.make(*current()));
  const OplogStretch entries = stretch();
  const auto every = all(entries);
  OperationContext operation({.sessions = *member.pool}, OperationOrigin::kApplier);
  const OperationApplier applier(*member.catalog, ApplyMode::kFollowing);
  UnitLimits limits{.maxEntries = 2};
  EXPECT_EQ(*applyInUnit(applier, operation, every, limits), 2u);
  EXPECT_EQ(member.countAt(at(2), "test.c"), 2);
  limits = {.maxBytes = 1};
  EXPECT_EQ(*applyInUnit(applier, operation, std::span(every).subspan(2), limits), 1u) << "one at least";
  limits = {};
  EXPECT_EQ(*applyInUnit(applier, operation, std::span(every).subspan(3), limits), 2u);
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

TEST_P(BatchUnitsTest, ASmallDeltaCountsAsTheDocumentThatItMakes) {
  const std::string filling(100'000, 'x');
  ASSERT_TRUE(inUnit([&] {
                return current()->insert(rec(), bson::doc("_id", 1, "filling", filling, "n", 0)).status();
              }).isOK());
  for (int round = 1; round <= 5; ++round) ASSERT_TRUE(updateAll(round, {1}).isOK());
  Member member;
  ASSERT_TRUE(member.make(*current()));
  const OplogStretch entries = stretch();
  ASSERT_LT(entries.documents.back().bytes().size(), 1000u);
  const auto every = all(entries);
  OperationContext operation({.sessions = *member.pool}, OperationOrigin::kApplier);
  UnitLimits limits{.maxBytes = 250'000};
  EXPECT_EQ(*applyInUnit(OperationApplier(*member.catalog, ApplyMode::kFollowing), operation, every, limits), 3u);
}

TEST_P(BatchUnitsTest, AFailureLeavesNothingOfItsUnit) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  ASSERT_TRUE(updateAll(7, {1, 2}).isOK());
  Member member;
  ASSERT_TRUE(member.make(*current()));
  const OplogStretch entries = stretch();
  const std::vector<const OplogEntry*> torn{&entries.entries[0],
                                            &entries.entries[3]};  // the second document is not there
  OperationContext operation({.sessions = *member.pool}, OperationOrigin::kApplier);
  UnitLimits limits;
  const auto done = applyInUnit(OperationApplier(*member.catalog, ApplyMode::kFollowing), operation, torn, limits);
  EXPECT_EQ(done.status().code(), ErrorCode::kNoSuchKey);
  EXPECT_THAT(done.status().reason(), ::testing::HasSubstr(nameOf(entries.entries[3])));
  EXPECT_EQ(member.countAt(at(9), "test.c"), 0);
}

/// Else a replay would meet the same unit again and again.
TEST(UntilItFits, HalvesAUnitThatIsTooLargeForTheCache) {
  const auto holding = [](size_t fits, std::vector<size_t>& tried, size_t available, UnitLimits& limits) {
    return untilItFits(available, limits, [&]() -> StatusWith<size_t> {
      const size_t count = std::min(available, limits.maxEntries);
      tried.push_back(count);
      if (count > fits) return Status(ErrorCode::kTransactionTooLargeForCache, "too large");
      return count;
    });
  };
  std::vector<size_t> tried;
  UnitLimits limits{.maxEntries = 100};
  EXPECT_EQ(*holding(7, tried, 50, limits), 6u);
  EXPECT_THAT(tried, ElementsAre(50, 25, 12, 6));
  EXPECT_EQ(limits.maxEntries, 6u) << "kept for the units that follow";
  tried.clear();
  EXPECT_EQ(holding(0, tried, 2, limits).status(), ErrorCode::kTransactionTooLargeForCache) << "one alone is";
  EXPECT_THAT(tried, ElementsAre(2, 1));
}

/// Else one large document at the begin of a long log would make all of its replay slow.
TEST(UntilItFits, TriesLargerUnitsAgainOnceManyHaveFitted) {
  UnitLimits limits{.maxEntries = 40};
  size_t fits = 5, attempts = 0;
  const auto write = [&](size_t available) {
    return untilItFits(available, limits, [&]() -> StatusWith<size_t> {
      ++attempts;
      const size_t count = std::min(available, limits.maxEntries);
      if (count > fits) return Status(ErrorCode::kTransactionTooLargeForCache, "too large");
      return count;
    });
  };
  EXPECT_EQ(*write(1000), 5u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*write(3), 3u);
  EXPECT_EQ(limits.maxEntries, 5u) << "units that were not full say nothing";
  attempts = 0;
  for (int i = 0; i < 320; ++i) EXPECT_EQ(*write(1000), 5u);
  EXPECT_LE(attempts, 345u) << "a larger one is seldom tried";
  EXPECT_GT(attempts, 320u);
  fits = 40;
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(write(1000).isOK());
  EXPECT_EQ(*write(1000), 40u);
  EXPECT_EQ(limits.usualEntries, 0u);
}

TROUPE_ON_BOTH_ENGINES(BatchUnitsTest);

}  // namespace troupe::storage
