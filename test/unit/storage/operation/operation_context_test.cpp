#include "storage/operation/operation_context.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "storage/engine/deterministic_engine.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

class OperationContextTest : public ::testing::Test {
 protected:
  Status put(OperationContext& operation, std::string_view key, std::string_view value) {
    WriteUnitOfWork work(operation.recoveryUnit());
    {
      TROUPE_ASSIGN(auto cursor, operation.recoveryUnit().writeCursor(table));
      TROUPE_TRY(cursor->put(key, value));
    }
    return work.commit();
  }
  bool sees(OperationContext& operation, std::string_view key) {
    auto cursor = operation.recoveryUnit().cursor(table);
    return *(*cursor)->seek(key);
  }

  std::unique_ptr<DeterministicEngine> engine = DeterministicEngine::open();
  SessionPool sessions{*engine};
  Table table = *engine->createTable("t", {});
  OperationContext operation{{sessions}};
};

TEST_F(OperationContextTest, HasOneRecoveryUnitThatKnowsIt) {
  EXPECT_FALSE(operation.hasRecoveryUnit());
  RecoveryUnit& unit = operation.recoveryUnit();
  EXPECT_EQ(&unit, &operation.recoveryUnit());
  EXPECT_EQ(unit.operation(), &operation);
}

TEST_F(OperationContextTest, KnowsWhetherItHasWritten) {
  EXPECT_FALSE(sees(operation, "a"));
  operation.recoveryUnit().abandonSnapshot();
  {
    WriteUnitOfWork nothing(operation.recoveryUnit());
    ASSERT_TRUE(nothing.commit().isOK());
  }
  EXPECT_FALSE(operation.hasWritten());
  {
    WriteUnitOfWork undone(operation.recoveryUnit());
    ASSERT_TRUE((*operation.recoveryUnit().writeCursor(table))->put("a", "1").isOK());
  }
  EXPECT_FALSE(operation.hasWritten()) << "it was rolled back";
  ASSERT_TRUE(put(operation, "a", "1").isOK());
  EXPECT_TRUE(operation.hasWritten());
}

/// By which clients know that they may send the command again.
TEST_F(OperationContextTest, AnEndOfTheRoleOrOfTheNodeStaysTheReason) {
  for (const ErrorCode reason : {ErrorCode::kInterruptedDueToReplStateChange, ErrorCode::kInterruptedAtShutdown}) {
    OperationContext killed{{sessions}};
    for (const ErrorCode code : {ErrorCode::kInterrupted, reason, ErrorCode::kInterrupted}) killed.kill(code);
    EXPECT_EQ(killed.checkForInterrupt({}), reason);
  }
}

TEST_F(OperationContextTest, AnotherCommandGoesOnInTheSnapshotThatWasStashed) {
  EXPECT_FALSE(sees(operation, "a"));
  StashedOperation stashed = operation.stash();
  OperationContext writer({sessions});
  ASSERT_TRUE(put(writer, "a", "1").isOK());
  EXPECT_TRUE(sees(operation, "a")) << "its next unit is a new one";
  OperationContext next({sessions});
  ASSERT_TRUE(next.unstash(std::move(stashed)).isOK());
  EXPECT_EQ(next.recoveryUnit().operation(), &next);
  EXPECT_FALSE(sees(next, "a"));
}

TEST_F(OperationContextTest, IsNotStashedWithinAUnitOfWork) {
  const WriteUnitOfWork open(operation.recoveryUnit());
  EXPECT_THROW(operation.stash(), std::logic_error);
}

TEST_F(OperationContextTest, TakesNothingUpWhileItReads) {
  EXPECT_FALSE(sees(operation, "a"));
  EXPECT_THROW((void)operation.unstash({}), std::logic_error);
}

TEST_F(OperationContextTest, StashingLeavesNoSessionBehindOnceItIsDropped) {
  EXPECT_FALSE(sees(operation, "a"));
  { const StashedOperation dropped = operation.stash(); }
  EXPECT_EQ(sessions.statistics().lent, 0);
}

TEST_F(OperationContextTest, WithinAUnitOfWorkLocksAreHeldToItsEnd) {
  LockManager locks([] { return TimePoint(); });
  OperationContext writer({sessions, nullptr, &locks});
  WriteUnitOfWork work(writer.recoveryUnit());
  {
    HeldLock lock(writer, ResourceType::kCollection, "db.c", LockMode::kIX);
    ASSERT_TRUE(lock.tryAcquire());
  }
  EXPECT_EQ(writer.locker()->modeOf(ResourceId::collection("db.c")), LockMode::kIX);
  ASSERT_TRUE(work.commit().isOK());
  EXPECT_EQ(locks.inUse(), 0u);
}

TEST_F(OperationContextTest, HandlersOfAUnitRunWithItsLocksHeld) {
  LockManager locks([] { return TimePoint(); });
  OperationContext writer({sessions, nullptr, &locks});
  std::vector<std::string> ran;
  const auto note = [&](const char* which) {
    EXPECT_EQ(writer.locker()->modeOf(ResourceId::collection("db.c")), LockMode::kIX) << which;
    ran.emplace_back(which);
  };
  const auto begin = [&] {
    HeldLock lock(writer, ResourceType::kCollection, "db.c", LockMode::kIX);
    ASSERT_TRUE(lock.tryAcquire());  // released within the unit: kept to its end
    RecoveryUnit& unit = writer.recoveryUnit();
    unit.onPublish([&](auto) { note("publish"); }, [&] { note("withdraw"); });
    unit.onChange([&](auto) { note("commit"); }, [&] { note("rollback"); });
  };
  {
    WriteUnitOfWork work(writer.recoveryUnit());
    begin();
    ASSERT_TRUE(work.commit().isOK());
  }
  {
    WriteUnitOfWork work(writer.recoveryUnit());
    begin();
  }
  EXPECT_EQ(ran, (std::vector<std::string>{"publish", "commit", "rollback", "withdraw"}));
  EXPECT_EQ(locks.inUse(), 0u);
}

TEST_F(OperationContextTest, GivesUpItsLocksAndItsTicketTogether) {
  LockManager locks([] { return TimePoint(); });
  ExecutionAdmission admission([] { return TimePoint(); });
  OperationContext reader({sessions, nullptr, &locks, &admission});
  ASSERT_TRUE(reader.tryAdmit(false));
  HeldLock lock(reader, ResourceType::kDatabase, "db", LockMode::kIS);
  ASSERT_TRUE(lock.tryAcquire());
  reader.yieldLocks();
  EXPECT_EQ(locks.inUse(), 0u);
  EXPECT_EQ(admission.read().out(), 0);
  EXPECT_EQ(reader.takeYielded().size(), 3u);
  lock.reset();
  EXPECT_EQ(locks.inUse(), 0u) << "what did not come back is not released again";
}

}  // namespace troupe::storage
