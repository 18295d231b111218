#include "actors/replication/batch_writer.hpp"

#include <functional>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "storage/locks/lock_manager.hpp"
#include "storage/sessions/retryable_writes.hpp"
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
    makeWriter({.writers = 4, .entriesPerWriter = 1, .unit = {.maxEntries = 3}});
  }
  ~BatchWriterTest() override { node.shutdown(); }

  void makeWriter(const BatchWriter::Options& options,
                  std::function<void(const BatchWriter::AppliedUnit&)> applied = nullptr) {
    BatchWriter::Parts parts{
        node, *member.catalog, *memberLog, {.sessions = *member.pool, .locks = &locks, .replicated = &memberWrites}};
    parts.applied = std::move(applied);
    writer = std::make_unique<BatchWriter>(parts, options);
  }
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

  /// A session with number 1, which `inSession` writes in, and the collections for its record.
  void makeSession() {
    for (const storage::Namespace* ns : {&storage::transactionsNamespace(), &storage::imagesNamespace()})
      make(ns->toString().c_str());
    tables.emplace(*catalog);
    session.emplace(doc("id", 1), *tables);
    ASSERT_TRUE(session->begin(1).isOK());
  }
  void inSession(const std::function<void()>& write) {
    operation->session.txnNumber = 1;
    operation->retryable = &*session;
    write();
    operation->retryable = nullptr;
    operation->session.txnNumber.reset();
  }
  /// As a findAndModify does that answers with the new document.
  Status changeKeepingImage(int id) {
    operation->retryImage = storage::RetryImage::kAfter;
    const Status changed = inUnit([&]() -> Status {
      const bson::Document before = doc("_id", id);
      TROUPE_ASSIGN(const auto at, current()->findById(rec(), before["_id"]));
      return current()->update(rec(), *at, before, doc("_id", id, "n", 1));
    });
    operation->retryImage = storage::RetryImage::kNone;
    return changed;
  }
  /// From now on batches of up to 32 entries are small ones.
  void writeSmallBatches(std::function<void(const BatchWriter::AppliedUnit&)> applied = nullptr) {
    makeWriter({.writers = 4, .entriesPerWriter = 32}, std::move(applied));
  }

  storage::Member member;
  storage::LockManager locks{[] { return std::chrono::steady_clock::time_point(); }};
  storage::ReplicatedWrites memberWrites{[] { return 1u; }};
  std::unique_ptr<storage::OplogStore> memberLog;
  std::optional<storage::SessionTables> tables;
  std::optional<storage::RetryableWrites> session;
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

/// SES-021: images are read when the documents are there, by the one writer of their session.
TEST_P(BatchWriterTest, ABatchHoldsAnyNumberOfImagesOfASession) {
  for (const storage::Namespace* ns : {&storage::transactionsNamespace(), &storage::imagesNamespace()})
    make(ns->toString().c_str());
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  const storage::SessionTables tables(*catalog);
  std::map<int64_t, bson::Document> documents;
  for (int64_t number = 1; number <= 30; ++number) {
    storage::RetryableWrites session(doc("id", number % 2), tables);
    ASSERT_TRUE(session.begin(number).isOK());
    operation->session.txnNumber = number;
    operation->retryable = &session;
    operation->retryImage = number % 3 == 0 ? storage::RetryImage::kBefore : storage::RetryImage::kAfter;
    const auto id = static_cast<int>(number % 3) + 1;
    bson::Document& document = documents.try_emplace(id, doc("_id", id)).first->second;
    const bson::Document before = document;
    document = doc("_id", id, "n", number);
    const Status changed = inUnit([&]() -> Status {
      TROUPE_ASSIGN(const auto at, current()->findById(rec(), before["_id"]));
      return current()->update(rec(), *at, before, document);
    });
    ASSERT_TRUE(changed.isOK()) << changed.toString();
    operation->retryable = nullptr;
    operation->retryImage = storage::RetryImage::kNone;
    operation->session.txnNumber.reset();
  }
  const Status written = writeAll(log());
  ASSERT_TRUE(written.isOK()) << written.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
  EXPECT_EQ(locks.inUse(), 0u);
}

/// The writer of the session has one image to read, that of the document much to write before.
TEST_P(BatchWriterTest, AnImageIsReadWhenTheDocumentsOfItsBatchAreThere) {  // SES-021
  makeSession();
  std::vector<int> ids(90);
  std::iota(ids.begin(), ids.end(), 1);
  ASSERT_TRUE(insertAll(ids).isOK());
  inSession([&] { ASSERT_TRUE(changeKeepingImage(90).isOK()); });
  makeWriter({.writers = 2, .entriesPerWriter = 1, .unit = {.maxEntries = 1}});  // who gives way after each document
  const Status written = writeAll(log());
  ASSERT_TRUE(written.isOK()) << written.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

/// Within one unit of work for both the document would not be committed yet.
TEST_P(BatchWriterTest, AnImageOfASmallBatchIsReadWhenItsDocumentIsThere) {
  makeSession();
  inSession([&] {
    ASSERT_TRUE(insertAll({1}).isOK());
    ASSERT_TRUE(changeKeepingImage(1).isOK());
  });
  writeSmallBatches();
  const Status written = writeAll(log());
  ASSERT_TRUE(written.isOK()) << written.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

/// It is written where it is begun: no other thread is woken for a handful of entries.
TEST_P(BatchWriterTest, ASmallBatchIsWrittenByTheThreadThatBeginsIt) {
  makeSession();
  inSession([&] {
    ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
    ASSERT_TRUE(insertAll({4}).isOK());
  });
  std::set<std::thread::id> threads;
  writeSmallBatches([&](const BatchWriter::AppliedUnit&) { threads.insert(std::this_thread::get_id()); });
  const Status written = writeAll(log());
  ASSERT_TRUE(written.isOK()) << written.toString();
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
  EXPECT_EQ(locks.inUse(), 0u);
}

/// Whichever collection comes first among the writers' shares: the engine takes no time older than a unit's first one.
TEST_P(BatchWriterTest, ASmallBatchOfTwoCollectionsAndItsSessionIsOneUnit) {
  makeSession();
  make("test.d");
  const auto add = [&](std::initializer_list<const char*> collections, int id) {
    for (const char* ns : collections) EXPECT_TRUE(addDocument(ns, doc("_id", id)).isOK());
  };
  inSession([&] { add({"test.c", "test.d"}, 1); });
  make("test.e");  // a command is a batch of its own
  inSession([&] { add({"test.d", "test.c"}, 2); });
  int ofTwo = 0;
  writeSmallBatches([&](const BatchWriter::AppliedUnit& unit) { ofTwo += unit.count == 2; });
  const Status written = writeAll(log());
  ASSERT_TRUE(written.isOK()) << written.toString();
  EXPECT_EQ(ofTwo, 2);
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

/// What stands in the way of the one unit of work for documents and records is met again by the writers of each.
TEST_P(BatchWriterTest, ASmallBatchThatFailsIsWrittenByNobody) {
  makeSession();
  inSession([&] { ASSERT_TRUE(insertAll({1, 2}).isOK()); });
  writeSmallBatches();
  auto entries = log();
  storage::OplogEntry last = *storage::OplogEntry::parse(entries.back());
  const auto delta = doc("$v", 2, "diff", doc("u", doc("a", 1))), id = doc("_id", 77);
  last.operation.kind = storage::OplogKind::kUpdate;
  last.operation.object = delta;
  last.operation.other = id;
  entries.back() = last.toDocument();
  const Status written = writeAll(entries);
  EXPECT_EQ(written.code(), ErrorCode::kNoSuchKey) << written.toString();
  EXPECT_EQ(member.countAt({UINT32_MAX, 1}, "test.c"), 0);
  EXPECT_EQ(locks.inUse(), 0u);
}

TROUPE_ON_BOTH_ENGINES(BatchWriterTest);

}  // namespace troupe::replication
