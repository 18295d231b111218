#include "actors/server/observed_documents.hpp"

#include <utility>

#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

namespace {

const storage::Namespace kSmall("test", "small");

/// Set before the node is opened, whose catalog keeps it to its end.
struct Watching {
  ObservedDocuments documents{kSmall};
};

}  // namespace

class ObservedDocumentsTest : private Watching, public CommandTest {
 protected:
  ObservedDocumentsTest() : CommandTest({.observers = {&documents}}) {
    EXPECT_TRUE(succeeds(R"({"insert": "small", "documents": [{"_id": "before", "n": 1}]})"));
    attach();
  }
  void attach() { documents.attach({*server.catalog, server.server->operations, kSmall}); }
  /// "<_id>=<n>" of each that is known.
  std::set<std::string> known() {
    std::set<std::string> all;
    const auto now = documents.all();
    EXPECT_TRUE(now.isOK()) << now.status().toString();
    if (!now.isOK()) return all;
    for (const auto& [_, one] : **now)
      all.insert(std::string(one.document["_id"].toStringOr()) + "=" + std::to_string(one.document["n"].toInt64()));
    return all;
  }
  using Names = std::set<std::string>;
  ObservedDocuments& observed() { return documents; }
};

TEST_F(ObservedDocumentsTest, KnowsWhatWasThereAndWhatIsWrittenSince) {
  EXPECT_EQ(known(), Names({"before=1"}));
  const uint64_t version = observed().version();
  EXPECT_TRUE(succeeds(R"({"insert": "small", "documents": [{"_id": "a", "n": 1}, {"_id": "b", "n": 2}]})"));
  EXPECT_GT(observed().version(), version);
  EXPECT_EQ(known(), Names({"a=1", "b=2", "before=1"}));
  EXPECT_TRUE(succeeds(R"({"update": "small", "updates": [{"q": {"_id": "a"}, "u": {"$set": {"n": 5}}}]})"));
  EXPECT_TRUE(succeeds(R"({"delete": "small", "deletes": [{"q": {"_id": "before"}, "limit": 1}]})"));
  EXPECT_EQ(known(), Names({"a=5", "b=2"}));
  EXPECT_TRUE(succeeds(R"({"insert": "other", "documents": [{"_id": "c"}]})"));
  EXPECT_EQ(known(), Names({"a=5", "b=2"}));
}

/// Two commits side by side: the handlers of the later one may run first.
TEST_F(ObservedDocumentsTest, OfTwoChangesTheLaterOneStaysWhicheverIsToldFirst) {
  const bson::Document document = bson::doc("_id", "late", "n", 1);
  const auto told = [&](uint32_t seconds, auto change) {
    storage::OperationContext operation(server.server->operations);
    storage::RecoveryUnit& unit = operation.recoveryUnit();
    operation.setWriteMode(storage::WriteMode::kApplied);
    storage::WriteUnitOfWork work(unit);
    ASSERT_TRUE(unit.setCommitTimestamp({seconds, 1}).isOK());
    change(unit);
    ASSERT_TRUE(work.commit().isOK());
  };
  const storage::CollectionPtr collection = server.catalog->find(kSmall);
  const storage::RecordId id;
  told(20, [&](auto& unit) { (void)observed().onRemove(unit, *collection, {.id = id, .document = document}); });
  told(10, [&](auto& unit) {
    (void)observed().onUpdate(unit, *collection, {.id = id, .before = document, .after = document});
  });
  EXPECT_EQ(known(), Names({"before=1"}));
  told(30, [&](auto& unit) {
    (void)observed().onUpdate(unit, *collection, {.id = id, .before = document, .after = document});
  });
  EXPECT_EQ(known(), Names({"before=1", "late=1"}));
}

TEST_F(ObservedDocumentsTest, FollowsTheCollection) {
  EXPECT_EQ(known(), Names({"before=1"}));
  EXPECT_TRUE(succeeds(R"({"drop": "small"})"));
  EXPECT_EQ(known(), Names());
  EXPECT_TRUE(succeeds(R"({"insert": "other", "documents": [{"_id": "x", "n": 7}]})"));
  EXPECT_TRUE(succeeds(R"({"renameCollection": "test.other", "to": "test.small"})", "admin"));
  EXPECT_EQ(known(), Names({"x=7"}));
  EXPECT_TRUE(succeeds(R"({"renameCollection": "test.small", "to": "test.elsewhere"})", "admin"));
  EXPECT_EQ(known(), Names());
}

TEST_F(ObservedDocumentsTest, WhatIsRolledBackWasNeverThere) {
  EXPECT_EQ(known(), Names({"before=1"}));
  const uint64_t version = observed().version();
  storage::OperationContext operation(server.server->operations);
  {
    const storage::WriteUnitOfWork unit(operation.recoveryUnit());
    const bson::Document document = bson::doc("_id", "gone", "n", 1);
    ASSERT_TRUE(server.catalog->find(kSmall)->insert(operation.recoveryUnit(), document).isOK());
  }
  EXPECT_EQ(known(), Names({"before=1"}));
  EXPECT_EQ(observed().version(), version);
}

TEST_F(ObservedDocumentsTest, IsReadAnewWhenEverythingMayHaveChanged) {
  EXPECT_EQ(known(), Names({"before=1"}));
  const uint64_t version = observed().version();
  observed().forgetAll();
  EXPECT_GT(observed().version(), version);
  storage::Locker closing(server.locks);
  ASSERT_TRUE(closing.tryAcquire(storage::ResourceId::global(), storage::LockMode::kX));
  EXPECT_EQ(observed().all().status(), ErrorCode::kLockTimeout) << "and cannot be read while the data are closed";
  closing.releaseAll();
  EXPECT_EQ(known(), Names({"before=1"}));
}

}  // namespace troupe::server
