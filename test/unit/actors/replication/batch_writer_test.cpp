#include "actors/replication/batch_writer.hpp"

#include "storage/locks/lock_manager.hpp"
#include "test/unit/storage/oplog/member_fixture.hpp"
#include "test/unit/storage/oplog/primary_fixture.hpp"

namespace troupe::replication {

using bson::doc;
using storage::NodeContents;
using storage::StorageUnderTest;

/// Batches that are written on the threads of a real pool. What an applier makes of them is in oplog_applier_test.cpp.
class BatchWriterTest : public storage::PrimaryFixture {
 protected:
  BatchWriterTest() {
    EXPECT_TRUE(member.make(*current()));
    auto opened = storage::OplogStore::open(member.harness->engine(), *member.pool, {}, memberWrites.visibility);
    EXPECT_TRUE(opened.isOK()) << opened.status().toString();
    memberLog = std::move(*opened);
    writer = std::make_unique<BatchWriter>(
        BatchWriter::Parts{node,
                           *member.catalog,
                           *memberLog,
                           {.sessions = *member.pool, .locks = &locks, .replicated = &memberWrites}},
        BatchWriter::Options{.writers = 4, .entriesPerWriter = 1, .unit = {.maxEntries = 3}});
  }
  ~BatchWriterTest() override { node.shutdown(); }

  Status writeAll(const std::vector<bson::Document>& entries) {
    TROUPE_ASSIGN(auto parsed, storage::OplogStretch::parse(entries));
    const auto stretch = std::make_shared<const storage::OplogStretch>(std::move(parsed));
    for (size_t at = 0; at < stretch->size();) {
      const size_t count = nextBatch(*stretch, at, {.maxEntries = 100});
      TROUPE_TRY(node.wait(writer->write({stretch, at, count})));
      at += count;
    }
    return Status::OK();
  }

  storage::Member member;
  storage::LockManager locks{[] { return std::chrono::steady_clock::time_point(); }};
  storage::ReplicatedWrites memberWrites{[] { return 1u; }};
  std::unique_ptr<storage::OplogStore> memberLog;
  /// The engine in memory is for one thread at a time.
  Node node{{.name = "n2", .threads = GetParam() == StorageUnderTest::kDeterministic ? 1u : 4u}};
  std::unique_ptr<BatchWriter> writer;
};

// REP-020.
TEST_P(BatchWriterTest, WritersSideBySideGiveTheDataOfThePrimary) {
  workOnDocuments(1000);
  workOnTheCatalog();
  const Status written = writeAll(log());
  ASSERT_TRUE(written.isOK()) << written.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
  EXPECT_EQ(locks.inUse(), 0u);
}

TEST_P(BatchWriterTest, TheFirstFailureOfAWriterIsThatOfTheBatch) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4, 5, 6, 7, 8}).isOK());
  auto entries = log();
  storage::OplogEntry update = *storage::OplogEntry::parse(entries[4]);
  const auto delta = doc("$v", 2, "diff", doc("u", doc("a", 1)));
  const auto id = doc("_id", 77);
  update.operation.kind = storage::OplogKind::kUpdate;
  update.operation.object = delta;
  update.operation.other = id;
  entries[4] = update.toDocument();
  const Status written = writeAll(entries);
  EXPECT_EQ(written.code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(locks.inUse(), 0u) << "no writer is left behind";
}

TROUPE_ON_BOTH_ENGINES(BatchWriterTest);

}  // namespace troupe::replication
