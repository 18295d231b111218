// What a node keeps of sessions: who may put it, and where children are found.
#include "storage/sessions/retryable_writes.hpp"
#include "test/unit/storage/oplog/primary_fixture.hpp"

namespace troupe::storage {

using bson::doc;

/// A primary with an operation that need not have a session.
class SessionTablesTest : public PrimaryFixture {
 protected:
  void SetUp() override {
    PrimaryFixture::SetUp();
    for (const Namespace* ns : {&transactionsNamespace(), &imagesNamespace()}) make(ns->toString().c_str());
    tables.emplace(*catalog);
    writes.emplace(session, *tables);
  }
  void TearDown() override {
    if (operation) operation->retryable = nullptr;
    PrimaryFixture::TearDown();
  }
  Status putRecord(const bson::Document& of) {
    SessionTables::Place place;
    return inUnit([&] { return tables->put(rec(), SessionRecord{of, 7, OpTime{1, {9, 1}}, bson::Date{}}, place); });
  }
  Status putImage(const bson::Document& of) {
    SessionTables::Place place;
    return inUnit([&] { return tables->put(rec(), ImageRecord{of, 7, {9, 1}, RetryImage::kBefore, {}}, place); });
  }

  const bson::Document session = doc("id", 1), another = doc("id", 2);
  std::optional<SessionTables> tables;
  std::optional<RetryableWrites> writes;
};

TEST_P(SessionTablesTest, AnOperationPutsDocumentsOfTheSessionThatItHasOnly) {
  EXPECT_THROW(static_cast<void>(putRecord(session)), BrokenInvariant);
  EXPECT_THROW(static_cast<void>(putImage(session)), BrokenInvariant);
  operation->retryable = &*writes;
  EXPECT_THROW(static_cast<void>(putRecord(another)), BrokenInvariant);
  EXPECT_THROW(static_cast<void>(putImage(another)), BrokenInvariant);
}

TEST_P(SessionTablesTest, AGroupTakesNoNumberedWrite) {
  make("test.c");
  operation->session.txnNumber = 7;
  operation->retryable = &*writes;
  const auto insert = [&](UnitLogging logging) {
    WriteUnitOfWork unit(rec(), logging);
    TROUPE_TRY(current("test.c")->insert(rec(), doc("_id", 1)).status());
    return unit.commit();
  };
  const auto before = log().size();
  EXPECT_EQ(insert(UnitLogging::kGrouped), ErrorCode::kIllegalOperation);
  rec().abandonSnapshot();
  EXPECT_EQ(log().size(), before);
  operation->retryable = nullptr;
  operation->session.txnNumber.reset();
  EXPECT_TRUE(insert(UnitLogging::kGrouped).isOK()) << "one without a number";
}

/// SES-002: in the index of `_id` they lie behind their parent, by their numbers.
TEST_P(SessionTablesTest, ChildrenAreFoundByTheirParent) {
  const auto parent = [](const char* uid) { return doc("id", 1, "uid", uid); };
  const auto child = [](const char* uid, int64_t number, const char* uuid) {
    return doc("id", 1, "uid", uid, "txnNumber", number, "txnUUID", uuid);
  };
  const auto of = [&](int64_t number) { return tables->childrenOf(rec(), parent("u"), number).value(); };
  EXPECT_TRUE(of(4).empty());
  for (const bson::Document& id :
       {child("t", 4, "a"), parent("u"), child("u", 3, "z"), child("u", 4, "a"), child("u", 4, "b"), child("u", 5, "a"),
        doc("id", 1, "uid", "u", "txnUUID", "a"), parent("v"), child("v", 4, "a")})
    ASSERT_TRUE(addDocument("config.transactions", doc("_id", id)).isOK());
  EXPECT_EQ(of(4), (std::vector<bson::Document>{child("u", 4, "a"), child("u", 4, "b")}));
  EXPECT_EQ(of(5), std::vector<bson::Document>{child("u", 5, "a")});
  EXPECT_TRUE(of(6).empty());
  rec().abandonSnapshot();
}

TROUPE_ON_BOTH_ENGINES(SessionTablesTest);

}  // namespace troupe::storage
