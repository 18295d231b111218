#include "actors/machines/group_commit.hpp"

#include <gtest/gtest.h>

#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe::machines {
namespace {

using bson::operator""_json;
using Change = GroupCommit::Change;

struct GroupCommitTest : commands::CommandTest {
  std::shared_ptr<GroupCommit> writes = std::make_shared<GroupCommit>(server.assembly.storageAccess(), kLeases);

  Future<Status> put(bson::Document document, Durability durability = Durability::kLocal) {
    return writes->write(std::move(document), Change::kPut, durability);
  }
  /// The documents there, in the order of their `_id`.
  std::vector<std::string> found() {
    return batch(R"({"find": "leases", "sort": {"_id": 1}, "batchSize": 1000})", "config");
  }
};

TEST_F(GroupCommitTest, ThoseThatComeTogetherShareATransaction) {
  const auto before = server.durability.taken();
  std::vector<Future<Status>> all;
  for (int i = 0; i < 100; ++i) all.push_back(put(bson::doc("_id", i), Durability::kJournaled));
  server.node.run();
  for (auto& each : all) ASSERT_TRUE(each.isReady() && each.take().isOK());
  EXPECT_EQ(server.durability.taken() - before, 2u) << "64 and 36";
  EXPECT_EQ(server.durability.durable(), server.durability.taken());
  EXPECT_EQ(found().size(), 100u);
}

TEST_F(GroupCommitTest, TheyAreWrittenInTheOrderInWhichTheyCame) {
  auto first = put(bson::doc("_id", "a", "n", 1)), second = put(bson::doc("_id", "a", "n", 2));
  auto third = put(bson::doc("_id", "b")),
       gone = writes->write(bson::doc("_id", "b"), Change::kRemove, Durability::kLocal);
  server.node.run();
  EXPECT_TRUE(first.take().isOK() && second.take().isOK() && third.take().isOK() && gone.take().isOK());
  EXPECT_EQ(found(), std::vector<std::string>{R"({ "_id" : "a", "n" : 2 })"});
}

TEST_F(GroupCommitTest, OnlyThoseThatAskForTheJournalWaitForIt) {
  auto quick = put(bson::doc("_id", "a")), safe = put(bson::doc("_id", "b"), Durability::kJournaled);
  while (!quick.isReady()) ASSERT_TRUE(server.node.step());
  EXPECT_FALSE(safe.isReady());
  EXPECT_LT(server.durability.durable(), server.durability.taken());
  server.node.run();
  EXPECT_TRUE(quick.take().isOK() && safe.take().isOK());
}

TEST_F(GroupCommitTest, WhatNobodyWaitsForAnyMoreIsLeftOut) {
  auto stays = put(bson::doc("_id", "a"));
  { auto goes = put(bson::doc("_id", "b")); }
  server.node.run();
  EXPECT_TRUE(stays.take().isOK());
  EXPECT_EQ(found(), std::vector<std::string>{R"({ "_id" : "a" })"});
}

TEST_F(GroupCommitTest, NothingToWriteCostsNeitherCollectionNorFlush) {
  const auto before = server.durability.taken();
  { auto goes = put(bson::doc("_id", "a")); }
  auto wait = [](std::shared_ptr<GroupCommit> on, bool* over) -> Task<void> {
    co_await on->written();
    *over = true;
  };
  bool over = false;
  server.node.start(wait(writes, &over));
  EXPECT_FALSE(over) << "somebody still runs";
  server.node.run();
  EXPECT_TRUE(over);
  EXPECT_EQ(server.catalog->find(kLeases), nullptr);
  EXPECT_EQ(server.durability.taken(), before);
}

TEST_F(GroupCommitTest, OneThatCannotBeWrittenDoesNotHinderTheOthers) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "leases", "indexes": [{"key": {"x": 1}, "name": "x", "unique": true}]})",
                       "config"));
  auto first = put(bson::doc("_id", 1, "x", 1)), twice = put(bson::doc("_id", 2, "x", 1)),
       other = put(bson::doc("_id", 3, "x", 3));
  server.node.run();
  EXPECT_TRUE(first.take().isOK() && other.take().isOK());
  EXPECT_EQ(twice.take().code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(found().size(), 2u);
}

TEST_F(GroupCommitTest, OneThatMeetsAConflictComesAgainLater) {
  auto made = put(bson::doc("_id", "a", "n", 0));
  server.node.run();
  ASSERT_TRUE(made.take().isOK());
  std::optional<Future<Status>> held, free;
  {
    const auto collection = server.catalog->find(kLeases);
    storage::RecoveryUnit other(server.storageSessions);
    storage::WriteUnitOfWork work(other);
    ASSERT_TRUE(collection->put(other, bson::doc("_id", "a", "n", 1), {}).isOK());
    held.emplace(put(bson::doc("_id", "a", "n", 2)));
    free.emplace(put(bson::doc("_id", "b", "n", 2)));
    server.node.run();
    EXPECT_FALSE(held->isReady());
    EXPECT_TRUE(free->take().isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  server.node.advance(std::chrono::seconds(1));
  EXPECT_TRUE(held->take().isOK());
  EXPECT_EQ(found(), (std::vector<std::string>{R"({ "_id" : "a", "n" : 2 })", R"({ "_id" : "b", "n" : 2 })"}));
}

TEST_F(GroupCommitTest, WhatIsInTheWayOfTheCollectionIsInTheWayOfItsWrites) {
  LockHolder other(server.locks, kLeases.toString(), storage::LockMode::kX);
  auto waits = put(bson::doc("_id", "a"));
  server.node.run();
  EXPECT_FALSE(waits.isReady());
  other.release();
  server.node.run();
  EXPECT_TRUE(waits.take().isOK());
}

TEST_F(GroupCommitTest, RemovingFromWhatIsNotThereMakesNothing) {
  auto gone = writes->write(bson::doc("_id", "a"), Change::kRemove, Durability::kJournaled);
  server.node.run();
  EXPECT_TRUE(gone.take().isOK());
  EXPECT_EQ(server.catalog->find(kLeases), nullptr);
}

/// State documents on a member of a replica set, written by a service that runs in a term.
struct ReplicatedGroupCommitTest : commands::CommandTest {
  ReplicatedGroupCommitTest() {
    server.storageSessions.setMember(true);
    fence.fence.open(1);
  }
  static StorageAccess with(StorageAccess access, storage::ReplicatedWrites* replicated) {
    access.operations.replicated = replicated;
    return access;
  }
  Status put(int id, std::optional<int64_t> term) {
    auto written = writes->write(bson::doc("_id", id), Change::kPut, Durability::kLocal, term);
    server.node.run();
    return written.take();
  }

  storage::ReplicatedWrites fence{[] { return 1000u; }};
  std::shared_ptr<GroupCommit> writes =
      std::make_shared<GroupCommit>(with(server.assembly.storageAccess(), &fence), kLeases);
};

TEST_F(ReplicatedGroupCommitTest, ALateWriteOfAnEarlierTermIsRefused) {
  EXPECT_TRUE(put(1, 1).isOK());
  fence.fence.close([] {});
  EXPECT_EQ(put(2, 1), ErrorCode::kNotWritablePrimary);
  fence.fence.open(3);
  EXPECT_EQ(put(2, 1), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_TRUE(put(3, 3).isOK());
  EXPECT_TRUE(answers(R"({"count": "leases"})", R"({"n": 2})", "config"));
}

TEST_F(ReplicatedGroupCommitTest, AWriteWithoutATermIsRefused) {
  EXPECT_EQ(put(1, std::nullopt), ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(server.catalog->find(kLeases), nullptr);
}

TEST_F(ReplicatedGroupCommitTest, OneThatMetAConflictIsNotTriedAgainInALaterTerm) {
  ASSERT_TRUE(put(1, 1).isOK());
  std::optional<Future<Status>> late;
  {
    const auto collection = server.catalog->find(kLeases);
    storage::OperationContext other(with(server.assembly.storageAccess(), &fence).operations);
    storage::HeldLock lock = collectionLock(other, kLeases, storage::LockMode::kIX);
    ASSERT_TRUE(lock.tryAcquire());
    storage::WriteUnitOfWork work(other.recoveryUnit());
    ASSERT_TRUE(collection->put(other.recoveryUnit(), bson::doc("_id", 1, "by", "other"), {}).isOK());
    late.emplace(writes->write(bson::doc("_id", 1, "by", "late"), Change::kPut, Durability::kLocal, 1));
    server.node.run();
    ASSERT_FALSE(late->isReady()) << "it waits for its next attempt";
  }
  fence.fence.close([] {});
  fence.fence.open(2);
  server.node.advance(std::chrono::seconds(1));
  ASSERT_TRUE(late->isReady());
  EXPECT_EQ(late->take(), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_TRUE(answers(R"({"count": "leases", "query": {"by": {"$exists": true}}})", R"({"n": 0})", "config"));
}

TEST_F(ReplicatedGroupCommitTest, WhatIsNotReplicatedNeedsNoTerm) {
  writes = std::make_shared<GroupCommit>(with(server.assembly.storageAccess(), &fence),
                                         storage::Namespace("local", "notes"));
  EXPECT_TRUE(put(1, std::nullopt).isOK());
  fence.fence.close([] {});
  EXPECT_TRUE(put(2, std::nullopt).isOK());
}

TEST_F(ReplicatedGroupCommitTest, WritesOfTwoTermsDoNotShareATransaction) {
  auto old = writes->write(bson::doc("_id", 1), Change::kPut, Durability::kLocal, 0);
  auto present = writes->write(bson::doc("_id", 2), Change::kPut, Durability::kLocal, 1);
  server.node.run();
  EXPECT_EQ(old.take(), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_TRUE(present.take().isOK());
}

}  // namespace
}  // namespace troupe::machines
