#include "storage/transaction/recovery_unit.hpp"

#include <gtest/gtest.h>

#include "storage/catalog/node_state.hpp"
#include "storage/engine/deterministic_engine.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/newest_data.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

Timestamp timeOf(uint64_t value) { return Timestamp::fromUint64(value); }

struct FixedTimes final : ReadTimes {
  Timestamp applied, majorityPoint;
  Timestamp lastApplied() const override { return applied; }
  Timestamp majority() const override { return majorityPoint; }
};

class RecoveryUnitTest : public testing::Test {
 protected:
  RecoveryUnitTest() : engine_(DeterministicEngine::open()), pool_(*engine_) {
    table_ = *engine_->createTable("t", {.logged = false});
  }
  static Status put(RecoveryUnit& unit, const Table& table, std::string_view key, std::string_view value) {
    TROUPE_ASSIGN(auto cursor, unit.writeCursor(table));
    return cursor->put(key, value);
  }
  std::string read(RecoveryUnit& unit, std::string_view key) {
    auto cursor = unit.cursor(table_);
    if (!cursor.isOK()) return cursor.status().toString();
    return *(*cursor)->seek(key) ? std::string((*cursor)->value()) : "-";
  }
  std::string readFresh(std::string_view key) {
    RecoveryUnit unit(pool_);
    return read(unit, key);
  }
  void commit(std::string_view key, std::string_view value, std::optional<uint64_t> ts = {}) {
    RecoveryUnit unit(pool_);
    WriteUnitOfWork work(unit);
    if (ts) {
      ASSERT_TRUE(unit.setCommitTimestamp(timeOf(*ts)).isOK());
    }
    ASSERT_TRUE(put(unit, table_, key, value).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }

  std::unique_ptr<DeterministicEngine> engine_;
  SessionPool pool_;
  Table table_;
};

TEST_F(RecoveryUnitTest, BorrowsAndBeginsOnlyOnFirstAccess) {
  RecoveryUnit unit(pool_);
  EXPECT_EQ(pool_.statistics().lent, 0);
  EXPECT_FALSE(unit.isActive());
  EXPECT_EQ(read(unit, "k"), "-");
  EXPECT_TRUE(unit.isActive());
  EXPECT_EQ(pool_.statistics().lent, 1);
  unit.releaseSession();
  EXPECT_EQ(pool_.statistics().lent, 0);
}

TEST_F(RecoveryUnitTest, MayBeginBeforeTheFirstAccess) {
  RecoveryUnit unit(pool_);
  ASSERT_TRUE(unit.begin().isOK());
  commit("k", "1");
  EXPECT_EQ(read(unit, "k"), "-");
}

TEST_F(RecoveryUnitTest, KeepsItsSnapshotUntilItIsAbandoned) {
  commit("k", "1");
  RecoveryUnit unit(pool_);
  EXPECT_EQ(read(unit, "k"), "1");
  commit("k", "2");
  EXPECT_EQ(read(unit, "k"), "1");
  unit.abandonSnapshot();
  EXPECT_EQ(read(unit, "k"), "2");
}

struct Member final : NodeState {
  bool applies = true;
  uint64_t version() const override { return 1; }
  bool appliesBatches() const override { return applies; }
};

TEST_F(RecoveryUnitTest, OfAMemberSeesTheLastWholeBatchUnlessItChoosesOtherwise) {  // REP-023
  FixedTimes times;
  Member member;
  const OperationServices services{.sessions = pool_, .times = &times, .node = &member};
  commit("k", "whole", 10);
  times.applied = timeOf(10);
  commit("k", "within", 11);
  OperationContext reader(services);
  EXPECT_EQ(read(reader.recoveryUnit(), "k"), "whole");
  EXPECT_EQ(reader.recoveryUnit().readTimestamp(), timeOf(10));
  OperationContext applier(services, OperationOrigin::kApplier);
  EXPECT_EQ(read(applier.recoveryUnit(), "k"), "within");
  times.applied = timeOf(11);
  EXPECT_EQ(read(reader.recoveryUnit(), "k"), "whole") << "a snapshot stays where it is";
  reader.recoveryUnit().abandonSnapshot();
  EXPECT_EQ(read(reader.recoveryUnit(), "k"), "within");
}

TEST_F(RecoveryUnitTest, FollowsTheRoleOfItsNodeWithEachSnapshot) {
  FixedTimes times;
  Member member;
  const OperationServices services{.sessions = pool_, .times = &times, .node = &member};
  commit("k", "applied", 10);
  times.applied = timeOf(10);
  commit("k", "newest", 11);
  OperationContext reader(services);
  EXPECT_EQ(read(reader.recoveryUnit(), "k"), "applied");
  member.applies = false;
  reader.recoveryUnit().abandonSnapshot();
  EXPECT_EQ(read(reader.recoveryUnit(), "k"), "newest");
  member.applies = true;
  reader.recoveryUnit().abandonSnapshot();
  WriteUnitOfWork work(reader.recoveryUnit());
  EXPECT_EQ(read(reader.recoveryUnit(), "k"), "newest") << "a write must not miss what it would overwrite";
}

TEST_F(RecoveryUnitTest, ReadSourcesChooseTheTime) {
  commit("k", "10", 10);
  commit("k", "20", 20);
  commit("k", "30", 30);
  FixedTimes times;
  times.applied = timeOf(25);
  times.majorityPoint = timeOf(15);
  const auto readFrom = [&](ReadSource source, std::optional<Timestamp> provided = std::nullopt) {
    RecoveryUnit unit(pool_, &times);
    EXPECT_TRUE(unit.setReadSource(source, provided).isOK());
    return read(unit, "k");
  };
  EXPECT_EQ(readFrom(ReadSource::kNoTimestamp), "30");
  EXPECT_EQ(readFrom(ReadSource::kLastApplied), "20");
  EXPECT_EQ(readFrom(ReadSource::kMajority), "10");
  EXPECT_EQ(readFrom(ReadSource::kProvided, timeOf(5)), "-");
  EXPECT_EQ(readFrom(ReadSource::kAllDurable), "30");
  RecoveryUnit slow(pool_);
  WriteUnitOfWork hole(slow);
  ASSERT_TRUE(slow.setCommitTimestamp(timeOf(12)).isOK());
  EXPECT_EQ(readFrom(ReadSource::kAllDurable), "10");
}

TEST_F(RecoveryUnitTest, WithoutReplicationEverySourceReadsTheNewest) {
  commit("k", "10", 10);
  for (auto source : {ReadSource::kLastApplied, ReadSource::kMajority, ReadSource::kAllDurable}) {
    RecoveryUnit unit(pool_);
    ASSERT_TRUE(unit.setReadSource(source).isOK());
    EXPECT_EQ(read(unit, "k"), "10");
  }
}

TEST_F(RecoveryUnitTest, AMemberThatDoesNotKnowTheTimeOfASourceRefusesIt) {
  commit("k", "10", 10);
  pool_.setMember(true);
  FixedTimes times;
  for (auto source : {ReadSource::kLastApplied, ReadSource::kMajority}) {
    RecoveryUnit unaware(pool_), early(pool_, &times);
    for (RecoveryUnit* unit : {&unaware, &early}) {
      ASSERT_TRUE(unit->setReadSource(source).isOK());
      EXPECT_EQ(unit->begin().code(), ErrorCode::kReadConcernMajorityNotAvailableYet);
    }
    times.applied = times.majorityPoint = timeOf(15);
    EXPECT_EQ(read(early, "k"), "10");
    times = FixedTimes();
  }
  pool_.setMember(false);
}

TEST_F(RecoveryUnitTest, TheSourceIsFixedWhileASnapshotIsOpen) {
  RecoveryUnit unit(pool_);
  EXPECT_EQ(unit.setReadSource(ReadSource::kProvided).code(), ErrorCode::kBadValue);
  ASSERT_TRUE(unit.setReadSource(ReadSource::kProvided, timeOf(7)).isOK());
  EXPECT_FALSE(unit.readTimestamp());
  ASSERT_TRUE(unit.begin().isOK());
  EXPECT_EQ(unit.readTimestamp(), timeOf(7));
  EXPECT_EQ(unit.setReadSource(ReadSource::kNoTimestamp).code(), ErrorCode::kIllegalOperation);
}

TEST_F(RecoveryUnitTest, AReaderOfAnEarlierTimeMayLookAtTheNewestDataMeanwhile) {
  commit("k", "10", 10);
  commit("k", "20", 20);
  FixedTimes times;
  times.majorityPoint = timeOf(15);
  for (const ReadSource source : {ReadSource::kProvided, ReadSource::kMajority}) {
    RecoveryUnit unit(pool_, &times);
    ASSERT_TRUE(unit.setReadSource(source, timeOf(12)).isOK());
    EXPECT_EQ(read(unit, "k"), "10");
    {
      const NewestData newest(unit);
      EXPECT_EQ(read(unit, "k"), "20");
    }
    EXPECT_FALSE(unit.isActive());
    EXPECT_EQ(read(unit, "k"), "10");
    EXPECT_EQ(unit.readTimestamp(), source == ReadSource::kProvided ? timeOf(12) : timeOf(15));
  }
}

TEST_F(RecoveryUnitTest, ASnapshotOfTheNewestDataAndThatOfAUnitOfWorkStand) {
  commit("k", "10", 10);
  RecoveryUnit present(pool_), earlier(pool_);
  EXPECT_EQ(read(present, "k"), "10");
  ASSERT_TRUE(earlier.setReadSource(ReadSource::kProvided, timeOf(10)).isOK());
  WriteUnitOfWork work(earlier);
  commit("k", "20", 20);
  const NewestData ofPresent(present), ofEarlier(earlier);
  EXPECT_EQ(read(present, "k"), "10");
  EXPECT_EQ(read(earlier, "k"), "10");
}

TEST_F(RecoveryUnitTest, AProvidedTimeBeforeTheHistoryIsTooOld) {
  commit("k", "10", 10);
  ASSERT_TRUE(engine_->setOldestTimestamp(timeOf(10)).isOK());
  RecoveryUnit unit(pool_);
  ASSERT_TRUE(unit.setReadSource(ReadSource::kProvided, timeOf(9)).isOK());
  EXPECT_EQ(unit.begin().code(), ErrorCode::kSnapshotTooOld);
}

TEST_F(RecoveryUnitTest, WritesAreLegalOnlyInAUnitOfWork) {
  RecoveryUnit unit(pool_);
  EXPECT_EQ(unit.writeCursor(table_).status().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(unit.truncate(table_, "", "").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(unit.setCommitTimestamp(timeOf(1)).code(), ErrorCode::kIllegalOperation);
  EXPECT_THROW(unit.onCommit(nullptr), std::logic_error);
  ASSERT_TRUE((*unit.cursor(table_))->put("stray", "").isOK());
  unit.abandonSnapshot();
  EXPECT_EQ(readFresh("stray"), "-");
}

TEST_F(RecoveryUnitTest, AllWritesCommitTogetherOrNone) {
  RecoveryUnit unit(pool_);
  {
    WriteUnitOfWork work(unit);
    ASSERT_TRUE(put(unit, table_, "a", "1").isOK());
    ASSERT_TRUE(put(unit, table_, "b", "1").isOK());
  }
  EXPECT_FALSE(unit.inUnitOfWork());
  EXPECT_EQ(readFresh("a") + readFresh("b"), "--");
  WriteUnitOfWork work(unit);
  ASSERT_TRUE(put(unit, table_, "a", "1").isOK());
  ASSERT_TRUE(put(unit, table_, "b", "1").isOK());
  ASSERT_TRUE(work.commit().isOK());
  EXPECT_EQ(readFresh("a") + readFresh("b"), "11");
}

TEST_F(RecoveryUnitTest, OnlyTheOutermostUnitCommits) {
  RecoveryUnit unit(pool_);
  WriteUnitOfWork outer(unit);
  {
    WriteUnitOfWork inner(unit);
    ASSERT_TRUE(put(unit, table_, "a", "1").isOK());
    ASSERT_TRUE(inner.commit().isOK());
  }
  EXPECT_TRUE(unit.inUnitOfWork());
  EXPECT_EQ(readFresh("a"), "-");
  ASSERT_TRUE(outer.commit().isOK());
  EXPECT_EQ(readFresh("a"), "1");
}

TEST_F(RecoveryUnitTest, ARolledBackInnerUnitTakesTheOuterOnesWithIt) {
  RecoveryUnit unit(pool_);
  std::string order;
  WriteUnitOfWork outer(unit);
  unit.onRollback([&] { order += "outer "; });
  ASSERT_TRUE(put(unit, table_, "a", "1").isOK());
  { WriteUnitOfWork inner(unit); }
  EXPECT_EQ(order, "");
  EXPECT_EQ(outer.commit().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(order, "outer ");
  EXPECT_EQ(readFresh("a"), "-");
  WriteUnitOfWork next(unit);  // the unit is usable again
  ASSERT_TRUE(put(unit, table_, "a", "2").isOK());
  EXPECT_TRUE(next.commit().isOK());
}

TEST_F(RecoveryUnitTest, CommitHandlersRunInOrderWithTheTimeAndTheUnitStillHeld) {
  RecoveryUnit unit(pool_);
  std::string order;
  const auto note = [&](const std::string& name) {
    return [&, name](std::optional<Timestamp> ts) {
      order += name + "@" + (ts ? std::to_string(ts->asUint64()) : "none");
      order += unit.inUnitOfWork() ? "(held) " : "(left) ";
      EXPECT_EQ(readFresh("k"), "v");  // committed already
    };
  };
  {
    WriteUnitOfWork work(unit);
    ASSERT_TRUE(unit.setCommitTimestamp(timeOf(5)).isOK());
    ASSERT_TRUE(put(unit, table_, "k", "v").isOK());
    unit.onCommit(note("first"));
    unit.onChange(note("second"), [&] { order += "never"; });
    ASSERT_TRUE(work.commit().isOK());
  }
  EXPECT_EQ(order, "first@5(held) second@5(held) ");
  WriteUnitOfWork work(unit);
  unit.onCommit(note("empty"));
  ASSERT_TRUE(work.commit().isOK());
  EXPECT_EQ(order, "first@5(held) second@5(held) empty@none(held) ");
}

TEST_F(RecoveryUnitTest, RollbackHandlersRunInReverseWithTheUnitStillHeld) {
  RecoveryUnit unit(pool_);
  std::string order;
  {
    WriteUnitOfWork work(unit);
    unit.onRollback([&] { order += unit.inUnitOfWork() ? "1(held) " : "1(left) "; });
    unit.onCommit([&](auto) { order += "never"; });
    unit.onRollback([&] { order += "2 "; });
  }
  EXPECT_EQ(order, "2 1(held) ");
}

TEST_F(RecoveryUnitTest, ASnapshotIsNotAbandonedWithinAUnitOfWork) {
  RecoveryUnit unit(pool_);
  WriteUnitOfWork work(unit);
  EXPECT_THROW(unit.abandonSnapshot(), std::logic_error);
}

TEST_F(RecoveryUnitTest, AUnitOfWorkWritesOnTheSnapshotThatWasRead) {
  commit("k", "1");
  RecoveryUnit unit(pool_);
  EXPECT_EQ(read(unit, "k"), "1");
  commit("k", "2");
  WriteUnitOfWork work(unit);
  EXPECT_EQ(put(unit, table_, "k", "3").code(), ErrorCode::kWriteConflict);
}

TEST_F(RecoveryUnitTest, APreparedUnitIsDecidedLater) {
  RecoveryUnit unit(pool_);
  std::optional<Timestamp> committedAt;
  WriteUnitOfWork work(unit);
  ASSERT_TRUE(put(unit, table_, "k", "1").isOK());
  unit.onCommit([&](auto ts) { committedAt = ts; });
  ASSERT_TRUE(work.prepare(timeOf(20)).isOK());
  {
    RecoveryUnit reader(pool_);
    EXPECT_EQ((*reader.cursor(table_))->seek("k").status().code(), ErrorCode::kPreparedTransactionInProgress);
    reader.abandonSnapshot();
    reader.setIgnorePrepare(true);
    EXPECT_EQ(read(reader, "k"), "-");
  }
  ASSERT_TRUE(work.commitPrepared(timeOf(21), timeOf(22)).isOK());
  EXPECT_EQ(committedAt, timeOf(21));
  EXPECT_EQ(readFresh("k"), "1");
}

TEST_F(RecoveryUnitTest, PublishesBetweenTheCommitAndTheOtherHandlers) {
  RecoveryUnit unit(pool_);
  std::string order;
  {
    WriteUnitOfWork work(unit);
    ASSERT_TRUE(put(unit, table_, "k", "v").isOK());
    unit.onCommit([&](auto) { order += "commit "; });
    unit.onPublish([&](auto) { order += readFresh("k") == "v" ? "publish " : "early "; }, nullptr);
    unit.onPreCommit([&](auto) {
      order += readFresh("k") == "-" ? "before " : "late ";
      return Status::OK();
    });
    ASSERT_TRUE(work.commit().isOK());
  }
  EXPECT_EQ(order, "before publish commit ");
}

TEST_F(RecoveryUnitTest, RollsBackWhenItIsRefusedBeforeItsCommit) {
  RecoveryUnit unit(pool_);
  std::string order;
  {
    WriteUnitOfWork work(unit);
    ASSERT_TRUE(put(unit, table_, "k", "v").isOK());
    unit.onPublish(nullptr, [&] { order += "withdraw "; });
    unit.onChange([&](auto) { order += "commit "; }, [&] { order += "rollback "; });
    unit.onPreCommit([](auto) { return Status(ErrorCode::kNotWritablePrimary, "stepped down"); });
    EXPECT_EQ(work.commit().code(), ErrorCode::kNotWritablePrimary);
  }
  EXPECT_EQ(order, "rollback withdraw ");
  EXPECT_EQ(readFresh("k"), "-");
  WriteUnitOfWork next(unit);
  ASSERT_TRUE(put(unit, table_, "k", "w").isOK());
  EXPECT_TRUE(next.commit().isOK()) << "its handlers are gone";
}

TEST_F(RecoveryUnitTest, RollsBackWhatAHandlerThrowsOutOf) {
  RecoveryUnit unit(pool_);
  std::string order;
  {
    WriteUnitOfWork work(unit);
    ASSERT_TRUE(put(unit, table_, "k", "v").isOK());
    unit.onChange([&](auto) { order += "commit "; }, [&] { order += "rollback "; });
    unit.onPreCommit([](auto) -> Status { throw BrokenInvariant("what a unit cannot be"); });
    EXPECT_THROW((void)work.commit(), BrokenInvariant);
    EXPECT_EQ(order, "rollback ");
  }
  EXPECT_EQ(order, "rollback ");
  EXPECT_EQ(readFresh("k"), "-");
  WriteUnitOfWork next(unit);
  ASSERT_TRUE(put(unit, table_, "k", "w").isOK());
  EXPECT_TRUE(next.commit().isOK());
}

TEST_F(RecoveryUnitTest, EndsBoundStateWithTheSnapshotOrTheUnit) {
  struct Bound final : BoundState {
    explicit Bound(int& alive) : count(alive) { ++count; }
    ~Bound() override { --count; }
    int& count;
  };
  RecoveryUnit unit(pool_);
  int snapshots = 0, units = 0;
  EXPECT_THROW(unit.bindToSnapshot(std::make_unique<Bound>(snapshots)), std::logic_error);
  EXPECT_THROW(unit.bindToUnit(UnitPart::kCatalogChanges, std::make_unique<Bound>(units)), std::logic_error);
  EXPECT_EQ(read(unit, "k"), "-");
  unit.bindToSnapshot(std::make_unique<Bound>(snapshots));
  EXPECT_EQ(snapshots, 1);
  unit.abandonSnapshot();
  EXPECT_EQ(snapshots, 0);
  for (const bool commits : {true, false}) {
    WriteUnitOfWork work(unit);
    ASSERT_TRUE(put(unit, table_, "k", "v").isOK());
    unit.bindToSnapshot(std::make_unique<Bound>(snapshots));
    unit.bindToUnit(UnitPart::kCatalogChanges, std::make_unique<Bound>(units));
    unit.onChange([&](auto) { EXPECT_EQ(units, 1); }, [&] { EXPECT_EQ(units, 1); });
    if (commits) {
      ASSERT_TRUE(work.commit().isOK());
      EXPECT_EQ(units + snapshots, 0);
    }
  }
  EXPECT_EQ(units + snapshots, 0);
}

}  // namespace
}  // namespace troupe::storage
