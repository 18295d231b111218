// reIndex: the same indexes in new tables.
#include <algorithm>

#include "storage/catalog/collection.hpp"
#include "storage/index/index_access.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
using namespace server;

class ReindexTest : public CommandTest {
 protected:
  storage::CollectionPtr collection() { return server.catalog->find({"test", "c"}); }
  std::vector<std::string> idents() {
    std::vector<std::string> all;
    for (const auto& index : collection()->indexes()) all.push_back(index->ident);
    return all;
  }
  size_t tables() {
    EXPECT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
    server.node.advance(1s);  // dropped ones go
    return server.engine->listTables().size();
  }
  /// Removes all keys of an index, as damage would.
  void emptyIndex(std::string_view name) {
    storage::OperationContext operation({.sessions = server.storageSessions});
    storage::WriteUnitOfWork work(operation.recoveryUnit());
    ASSERT_TRUE(operation.recoveryUnit().truncate(collection()->findIndex(name)->access->table(), {}, {}).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  static constexpr const char* kIndexes = R"({"createIndexes": "c", "indexes": [
      {"key": {"x": 1}, "name": "x_1"}, {"key": {"a": 1}, "name": "a_1"},
      {"key": {"u": 1}, "name": "u_1", "unique": true, "partialFilterExpression": {"u": {"$gt": 0}}}]})";
};

TEST_F(ReindexTest, IndexesAreMadeAnewFromTheDocuments) {
  fill("c", 700);
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1000, "a": [1, 2, 3], "u": 7}]})"));
  ASSERT_TRUE(succeeds(kIndexes));
  const auto before = idents();
  const size_t tablesBefore = tables();
  emptyIndex("x_1");
  ASSERT_TRUE(answers(R"({"count": "c", "query": {"x": 3}, "hint": "x_1"})", R"({"n": 0})"));
  EXPECT_TRUE(answers(R"({"reIndex": "c"})", R"({"ok": 1, "nIndexesWas": 4, "nIndexes": 4, "indexes": [
      {"name": "_id_"}, {"name": "x_1"}, {"name": "a_1"}, {"name": "u_1", "unique": true}]})"));
  for (const auto& ident : idents()) EXPECT_EQ(std::ranges::count(before, ident), 0) << ident;
  EXPECT_EQ(tables(), tablesBefore) << "the old tables go";
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"x": 3}, "hint": "x_1"})", R"({"n": 70})"));
  EXPECT_TRUE(answers(R"({"validate": "c", "full": true})", R"({"valid": true})"));
  EXPECT_TRUE(answers(R"({"find": "c", "filter": {"a": {"$gt": 0}}, "hint": "a_1", "projection": {"_id": 1}})",
                      R"({"cursor": {"firstBatch": [{"_id": 1000}]}})"))
      << "one document for all its keys";
  EXPECT_TRUE(collection()->findIndex("a_1")->multikey());
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"u": 7}]})", R"({"writeErrors": [{"code": 11000}]})"));
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 5}]})", R"({"writeErrors": [{"code": 11000}]})"));
}

TEST_F(ReindexTest, AFailureLeavesTheOldIndexes) {
  fill("c", 300);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"u": 1}, "name": "u_1", "unique": true,
      "partialFilterExpression": {"u": {"$gt": 0}}}]})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1000, "u": 7}]})"));
  emptyIndex("u_1");
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1001, "u": 7}]})"));
  const auto before = idents();
  const size_t tablesBefore = tables();
  EXPECT_EQ(code(R"({"reIndex": "c"})"), 11000);
  EXPECT_EQ(idents(), before);
  EXPECT_EQ(tables(), tablesBefore) << "the new tables go";
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 302})"));
}

TEST_F(ReindexTest, AKilledOneLeavesTheOldIndexes) {
  fill("c", 300);
  ASSERT_TRUE(succeeds(kIndexes));
  const auto before = idents();
  const size_t tablesBefore = tables();
  LockHolder other(server.locks, "test.c", storage::LockMode::kIX);
  const auto waiting = server.begin(parse(R"({"reIndex": "c"})"), "test", server.connect());
  ASSERT_FALSE(waiting->done);
  waiting->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 11601);
  other.release();
  EXPECT_EQ(idents(), before);
  EXPECT_EQ(tables(), tablesBefore);
  EXPECT_TRUE(succeeds(R"({"reIndex": "c"})"));
}

TEST_F(ReindexTest, ItEndsBeforeItTakesTheReserveOfTheDisk) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  server.parameters.diskSpaceReserveMB = 100;
  fill("c", 300);
  ASSERT_TRUE(succeeds(kIndexes));
  const auto before = idents();
  LockHolder other(server.locks, "test.c", storage::LockMode::kIX);
  const auto waiting = server.begin(parse(R"({"reIndex": "c"})"), "test", server.connect());
  ASSERT_FALSE(waiting->done);
  server.time->setDiskSpace(DiskSpace{99 * kMiB, 10'000 * kMiB});  // after the command looked at it
  other.release();
  server.node.advance(1s);
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 14031);
  EXPECT_EQ(idents(), before);
  server.time->setDiskSpace(DiskSpace{1'000 * kMiB, 10'000 * kMiB});
  server.disk.look();
  EXPECT_TRUE(succeeds(R"({"reIndex": "c"})"));
}

TEST_F(ReindexTest, ItIsOfCollectionsThatExist) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c"})"));
  EXPECT_EQ(code(R"({"reIndex": "missing"})"), 26);
  EXPECT_EQ(code(R"({"reIndex": "v"})"), 166);
}

class ReindexOfMemberTest : public CommandTest {
 protected:
  ReindexOfMemberTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}
};

TEST_F(ReindexOfMemberTest, MembersRefuseIt) {
  becomePrimary(server);
  EXPECT_EQ(code(R"({"reIndex": "c"})"), 20);
}

}  // namespace troupe::commands
