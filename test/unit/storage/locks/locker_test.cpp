#include "storage/locks/locker.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "test/unit/storage/locks/locks_fixture.hpp"

namespace troupe::storage {
namespace {

using enum LockMode;
using namespace std::chrono_literals;

const ResourceId kDb = ResourceId::database("db");
const ResourceId kCollection = ResourceId::collection("db.c");

struct LockerTest : testing::Test, Locks {
  /// Intent locks from the top down to the database.
  void descend(char name, LockMode intent = kIX) {
    EXPECT_TRUE(acquire(name, ResourceId::global(), intent));
    EXPECT_TRUE(acquire(name, kDb, intent));
  }
};

// --- The hierarchy (LCK-001)

TEST_F(LockerTest, ACollectionNeedsItsDatabaseAndTheGlobalLockAbove) {
  Locker& a = (*this)['a'];
  EXPECT_THROW(a.tryAcquire(kDb, kIX), std::logic_error);
  ASSERT_TRUE(a.tryAcquire(ResourceId::global(), kIS));
  EXPECT_THROW(a.tryAcquire(kDb, kIX), std::logic_error) << "IS above does not announce writes";
  ASSERT_TRUE(a.tryAcquire(kDb, kIS));
  EXPECT_THROW(a.tryAcquire(ResourceId::collection("other.c"), kIS), std::logic_error);
  EXPECT_TRUE(a.tryAcquire(kCollection, kS));
}

TEST_F(LockerTest, GlobalResourcesComeInTheirOrder) {
  Locker& a = (*this)['a'];
  ASSERT_TRUE(a.tryAcquire(ResourceId::stateTransition(), kIX));
  EXPECT_THROW(a.tryAcquire(ResourceId::multiDocumentBarrier(), kIX), std::logic_error);
  EXPECT_TRUE(a.tryAcquire(ResourceId::global(), kIX));
  EXPECT_THROW(a.tryAcquire(ResourceId::multiDocumentBarrier(), kIX), std::logic_error);
  EXPECT_TRUE(a.tryAcquire(ResourceId::stateTransition(), kIX)) << "what is held may be acquired again";
}

TEST_F(LockerTest, MutexesStandOutsideOfTheHierarchy) {
  EXPECT_TRUE(mutex('a', kX));
  EXPECT_FALSE((*this)['b'].tryAcquire(ResourceId::mutex("m"), kS));
  EXPECT_TRUE((*this)['a'].tryAcquire(ResourceId::global(), kIX));
}

TEST_F(LockerTest, DifferentResourcesNeverExcludeEachOther) {
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(acquire('a', ResourceId::mutex("m" + std::to_string(i)), kX)) << i;
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(acquire('b', ResourceId::mutex("n" + std::to_string(i)), kX)) << i;
  EXPECT_FALSE((*this)['b'].tryAcquire(ResourceId::mutex("m4999"), kS)) << "and the same one does";
}

TEST_F(LockerTest, ATenantAndADatabaseOfTheSameNameAreTwoResources) {
  descend('a');
  ASSERT_TRUE((*this)['b'].tryAcquire(ResourceId::global(), kIX));
  EXPECT_TRUE(acquire('b', ResourceId::tenant("db"), kX));
}

// --- Queues (LCK-003)

TEST_F(LockerTest, GrantsAreFirstComeFirstServed) {
  mutex('a', kS);
  EXPECT_FALSE(mutex('b', kX));
  EXPECT_FALSE(mutex('c', kS)) << "a later shared request does not pass a waiting exclusive one";
  EXPECT_FALSE(mutex('d', kS));
  release('a');
  EXPECT_EQ(log, "b");
  release('b');
  EXPECT_EQ(log, "bcd");
  EXPECT_EQ(shown(), "Mutex m: 3 S 4 S");
}

TEST_F(LockerTest, StrongRequestsForGlobalResourcesGoToTheFront) {
  ASSERT_TRUE(acquire('a', ResourceId::global(), kX));
  EXPECT_FALSE(acquire('b', ResourceId::global(), kIX));
  EXPECT_FALSE(acquire('c', ResourceId::global(), kX));
  EXPECT_FALSE(acquire('d', ResourceId::global(), kS));
  release('a', ResourceId::global());
  EXPECT_EQ(log, "c");
  release('c', ResourceId::global());
  EXPECT_EQ(log, "cd") << "one after the other, both before those with an intent";
  release('d', ResourceId::global());
  EXPECT_EQ(log, "cdb");
}

TEST_F(LockerTest, OtherResourcesKeepTheOrderUnlessAskedOtherwise) {
  mutex('a', kX);
  mutex('b', kIX);
  mutex('c', kX, {.atFront = true});
  release('a');
  EXPECT_EQ(log, "c");
}

TEST_F(LockerTest, CompatibleFirstOvertakesWaiters) {
  mutex('a', kS);
  EXPECT_FALSE(mutex('b', kX));
  EXPECT_TRUE(mutex('c', kIS, {.compatibleFirst = true}));
  EXPECT_FALSE(mutex('d', kIS));
}

TEST_F(LockerTest, CompatibleFirstDoesNotOvertakeAnExclusiveOneAtTheFront) {
  mutex('a', kIS);
  EXPECT_FALSE(mutex('b', kX, {.atFront = true}));
  EXPECT_FALSE(mutex('c', kIS, {.compatibleFirst = true}));
  release('a');
  EXPECT_EQ(log, "b");
  release('b');
  EXPECT_EQ(log, "bc");
}

TEST_F(LockerTest, CompatibleFirstThatHadToWaitOvertakesLater) {
  mutex('a', kX);
  mutex('b', kIX);
  mutex('c', kX);
  mutex('d', kIS, {.compatibleFirst = true});
  release('a');
  EXPECT_EQ(log, "bd");
}

// --- Counts and conversion

TEST_F(LockerTest, ALockIsReleasedAsOftenAsItWasAcquired) {
  mutex('a', kIX);
  mutex('a', kIS);
  release('a');
  EXPECT_EQ((*this)['a'].modeOf(ResourceId::mutex("m")), kIX);
  release('a');
  EXPECT_FALSE((*this)['a'].holdsAny());
  EXPECT_THROW(release('a'), std::logic_error);
}

TEST_F(LockerTest, AnUpgradeWaitsForTheOtherHoldersAndComesBeforeThoseWhoWait) {
  mutex('a', kS);
  mutex('b', kS);
  EXPECT_FALSE(mutex('c', kX));
  EXPECT_FALSE(mutex('a', kX));
  EXPECT_FALSE(mutex('d', kIS)) << "queues behind the upgrade";
  release('b');
  EXPECT_EQ(log, "a");
  EXPECT_EQ((*this)['a'].modeOf(ResourceId::mutex("m")), kX);
  release('a');
  EXPECT_EQ(log, "a") << "it was acquired twice";
  release('a');
  EXPECT_EQ(log, "ac");
}

TEST_F(LockerTest, AnUncontendedUpgradeIsGrantedAtOnce) {
  mutex('a', kIS);
  EXPECT_TRUE(mutex('a', kIX));
  EXPECT_TRUE(mutex('a', kS)) << "IX and S together are X";
  EXPECT_FALSE((*this)['b'].tryAcquire(ResourceId::mutex("m"), kIS));
}

TEST_F(LockerTest, AWeakenedLockLetsWaitersIn) {
  mutex('a', kX);
  mutex('b', kIX);
  (*this)['a'].downgrade(ResourceId::mutex("m"), kIX);
  EXPECT_EQ(log, "b");
  EXPECT_THROW((*this)['a'].downgrade(ResourceId::mutex("m"), kS), std::logic_error);
}

// --- The ends of waits

TEST_F(LockerTest, AFailedWaitTellsWhyAndLetsOthersPass) {
  mutex('a', kS);
  mutex('b', kX);
  mutex('c', kS);
  EXPECT_TRUE(waits['b']->fail({ErrorCode::kMaxTimeMSExpired, "too late"}));
  EXPECT_EQ(log, "b!c");
  EXPECT_EQ(failures['b'], ErrorCode::kMaxTimeMSExpired);
  EXPECT_FALSE(waits['b']->fail({ErrorCode::kInterrupted, "again"}));
  EXPECT_TRUE(acquire('b', ResourceId::mutex("m"), kIS)) << "the locker goes on";
}

TEST_F(LockerTest, AFailedUpgradeKeepsWhatWasHeld) {
  mutex('a', kIX);
  mutex('b', kIX);
  EXPECT_FALSE(mutex('a', kX));
  waits['a']->fail({ErrorCode::kInterrupted, ""});
  EXPECT_EQ((*this)['a'].modeOf(ResourceId::mutex("m")), kIX);
  release('a');
  EXPECT_FALSE((*this)['a'].holdsAny());
}

TEST_F(LockerTest, AWaitThatIsGivenUpIsNotCalledBack) {
  mutex('a', kX);
  mutex('b', kX);
  mutex('c', kX);
  (*this)['b'].giveUp(waits['b']);
  release('a');
  EXPECT_EQ(log, "c");
}

TEST_F(LockerTest, GivingUpAGrantedWaitReleasesTheLock) {
  mutex('a', kX);
  mutex('b', kX);
  mutex('c', kX);
  release('a');
  (*this)['b'].giveUp(waits['b']);
  EXPECT_EQ(log, "bc");
}

TEST_F(LockerTest, GivingUpAGrantedConversionLeavesTheFormerMode) {
  mutex('a', kIX);
  mutex('b', kIX);
  EXPECT_FALSE(mutex('b', kX));
  release('a');
  (*this)['b'].giveUp(waits['b']);
  EXPECT_EQ((*this)['b'].modeOf(ResourceId::mutex("m")), kIX);
  EXPECT_TRUE(mutex('c', kIX));
  release('b');
  EXPECT_FALSE((*this)['b'].holdsAny());
}

TEST_F(LockerTest, AConversionIsCountedInTheModeThatWasAskedForWhetherItWaitedOrNot) {
  const auto shared = [this](char name) {
    return (*this)[name].statistics().figures[static_cast<size_t>(ResourceType::kMutex)][static_cast<size_t>(kS)];
  };
  mutex('a', kIX);
  EXPECT_TRUE(mutex('a', kS));
  EXPECT_EQ(shared('a').acquireCount, 1);
  release('a');
  release('a');
  mutex('a', kIX);
  mutex('b', kIX);
  EXPECT_FALSE(mutex('b', kS));
  release('a');
  EXPECT_TRUE(mutex('b', kIS)) << "its wait has ended";
  EXPECT_EQ(shared('b').acquireCount, 1);
  EXPECT_EQ(shared('b').acquireWaitCount, 1);
}

TEST_F(LockerTest, ALockerThatGoesAwayLeavesNothingBehind) {
  mutex('a', kX);
  mutex('b', kX);
  mutex('c', kIS);
  lockers.erase('b');
  lockers.erase('a');
  EXPECT_EQ(log, "c");
  lockers.clear();
  EXPECT_EQ(manager.inUse(), 0u);
}

TEST_F(LockerTest, OneRequestAtATime) {
  mutex('a', kX);
  mutex('b', kX);
  EXPECT_THROW(mutex('b', kIS), std::logic_error);
}

// --- Two-phase locking (LCK-004)

TEST_F(LockerTest, WithinAUnitLocksAreHeldToItsEnd) {
  descend('a');
  Locker& a = (*this)['a'];
  a.beginUnit();
  ASSERT_TRUE(a.tryAcquire(kCollection, kIX));
  a.release(kCollection);
  EXPECT_EQ(a.modeOf(kCollection), kIX);
  a.beginUnit();
  a.endUnit();
  EXPECT_EQ(a.modeOf(kCollection), kIX) << "only the outermost unit ends the holding";
  a.endUnit();
  EXPECT_EQ(a.modeOf(kCollection), kNone);
  EXPECT_EQ(a.modeOf(kDb), kIX) << "what nobody released stays";
}

TEST_F(LockerTest, ALockTakenAgainWithinTheUnitOutlivesItsPutOffRelease) {
  Locker& a = (*this)['a'];
  ASSERT_TRUE(mutex('a', kX));
  a.beginUnit();
  a.release(ResourceId::mutex("m"));
  EXPECT_THROW(a.release(ResourceId::mutex("m")), std::logic_error);
  ASSERT_TRUE(mutex('a', kX));
  a.endUnit();
  EXPECT_EQ(a.modeOf(ResourceId::mutex("m")), kX);
}

TEST_F(LockerTest, LocksAreNotGivenUpWithinAUnit) {
  Locker& a = (*this)['a'];
  mutex('a', kX);
  a.beginUnit();
  EXPECT_THROW(a.saveAndRelease(), std::logic_error);
  EXPECT_THROW(a.releaseAll(), std::logic_error);
  EXPECT_THROW(a.downgrade(ResourceId::mutex("m"), kIS), std::logic_error);
  a.endUnit();
  EXPECT_THROW(a.endUnit(), std::logic_error);
}

TEST_F(LockerTest, LocksThatAreAdoptedAreHeldInTheStrongerModeToTheEndOfTheUnit) {
  struct Modes {
    LockMode own, others, together;
  };
  constexpr Modes kCases[] = {{kIS, kIX, kIX}, {kIX, kIS, kIX}, {kIS, kS, kS},
                              {kS, kIS, kS},   {kIX, kIX, kIX}, {kNone, kX, kX}};
  for (const auto& [own, others, together] : kCases) {
    SCOPED_TRACE(std::string(nameOf(own)) + " and " + std::string(nameOf(others)));
    if (own != kNone) {
      ASSERT_TRUE(mutex('a', own));
    }
    ASSERT_TRUE(mutex('b', others));
    Locker& a = (*this)['a'];
    a.adopt((*this)['b']);
    EXPECT_EQ(a.modeOf(ResourceId::mutex("m")), together);
    EXPECT_FALSE((*this)['b'].holdsAny());
    EXPECT_EQ(manager.inUse(), 1u);
    EXPECT_EQ((*this)['c'].tryAcquire(ResourceId::mutex("m"), kIS), compatible(together, kIS));
    (*this)['c'].releaseAll();
    EXPECT_EQ((*this)['c'].tryAcquire(ResourceId::mutex("m"), kIX), compatible(together, kIX));
    (*this)['c'].releaseAll();
    if (own != kNone) a.release(ResourceId::mutex("m"));
    a.endUnit();
    EXPECT_FALSE(a.holdsAny());
    EXPECT_EQ(manager.inUse(), 0u);
    EXPECT_TRUE((*this)['c'].tryAcquire(ResourceId::mutex("m"), kX)) << "nothing of both is left in the word";
    (*this)['c'].releaseAll();
  }
}

// --- Yields

TEST_F(LockerTest, WhatIsSavedIsReleasedAndComesBackFromTheTopDown) {
  Locker& a = (*this)['a'];
  ASSERT_TRUE(a.tryAcquire(ResourceId::mutex("m"), kX));
  descend('a');
  ASSERT_TRUE(a.tryAcquire(kCollection, kIS));
  ASSERT_TRUE(a.tryAcquire(kCollection, kIX));
  const LockSnapshot saved = a.saveAndRelease();
  EXPECT_EQ(manager.inUse(), 0u);
  std::string order;
  for (const LockRequest& request : saved) {
    EXPECT_TRUE(a.tryAcquire(request.resource.id(), request.mode));
    a.addCount(request.resource.id(), request.count - 1);
    order += std::string(nameOf(request.resource.type)) + std::to_string(request.count) + " ";
  }
  EXPECT_EQ(order, "Global1 Database1 Collection2 Mutex1 ");
  a.release(kCollection);
  EXPECT_EQ(a.modeOf(kCollection), kIX);
  a.release(kCollection);
  EXPECT_EQ(a.modeOf(kCollection), kNone);
}

}  // namespace
}  // namespace troupe::storage
