#include "storage/sessions/retryable_writes.hpp"

#include <set>

#include "test/unit/storage/oplog/member_fixture.hpp"
#include "test/unit/storage/oplog/primary_fixture.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

/// A primary with a session that an operation has checked out.
class RetryableWritesTest : public PrimaryFixture {
 protected:
  void SetUp() override {
    PrimaryFixture::SetUp();
    for (const Namespace* ns : {&transactionsNamespace(), &imagesNamespace()}) make(ns->toString().c_str());
    begin(7);
  }
  void TearDown() override {
    if (operation) operation->retryable = nullptr;
    PrimaryFixture::TearDown();
  }
  static bson::Document sessionNamed(int n) {
    return doc("id", doc("number", n), "uid", "nobody");  // what is in it does not matter here
  }
  void begin(int64_t number, int session = 1) {
    tables.emplace(*catalog);
    writes.emplace(sessionNamed(session), *tables);
    ASSERT_TRUE(writes->load(*operation, number).isOK());
    while (!writes->isLoaded()) ASSERT_TRUE(writes->loadMore(*operation, *store).isOK());
    rec().abandonSnapshot();
    ASSERT_TRUE(writes->begin(number).isOK());
    operation->session.txnNumber = number;
    operation->retryable = &*writes;
  }
  /// Entries of sessions.
  std::vector<bson::Document> entries() {
    std::vector<bson::Document> found = log();
    std::erase_if(found, [](const bson::Document& entry) { return !entry.view().has("lsid"); });
    return found;
  }
  Status change(int id, const bson::Document& before, const bson::Document& after, int32_t statement = 0) {
    operation->setStatements({&statement, 1});
    const Status done = inUnit([&]() -> Status {
      const bson::Value key(id);
      TROUPE_ASSIGN(const auto at, current()->findById(rec(), key.element()));
      return after.empty() ? current()->remove(rec(), *at, before) : current()->update(rec(), *at, before, after);
    });
    operation->setStatements({});
    return done;
  }
  std::string recordText() {
    const auto found = tables->find(rec(), sessionNamed(1));
    rec().abandonSnapshot();
    if (!found.isOK() || found->empty()) return "none";
    const auto record = SessionRecord::parse(*found);
    return std::to_string(record->txnNumber) + "@" + std::to_string(record->lastWrite.timestamp.asUint64());
  }
  static std::string recordText(int64_t number, const bson::Document& last) {
    return std::to_string(number) + "@" + std::to_string(last["ts"].asTimestamp().asUint64());
  }

  std::optional<SessionTables> tables;
  std::optional<RetryableWrites> writes;
};

TEST_P(RetryableWritesTest, EntriesNameTheirSessionAndStatementAndAreChained) {  // SES-015
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  ASSERT_TRUE(change(1, doc("_id", 1), doc("_id", 1, "x", 1), 2).isOK());
  const auto found = entries();
  ASSERT_THAT(found, SizeIs(3));
  for (const bson::Document& entry : found) {
    EXPECT_EQ(entry["lsid"].asDocument(), sessionNamed(1).view());
    EXPECT_EQ(entry["txnNumber"].asInt64(), 7);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(found[static_cast<size_t>(i)]["stmtId"].asInt32(), i);
  EXPECT_EQ(found[0]["prevOpTime"].asDocument(), doc("ts", bson::Timestamp{}, "t", int64_t{-1}).view());
  for (size_t i = 1; i < 3; ++i)
    EXPECT_EQ(found[i]["prevOpTime"].asDocument()["ts"].asTimestamp(), found[i - 1]["ts"].asTimestamp());
  begin(8);
  ASSERT_TRUE(insertAll({3}).isOK());
  EXPECT_EQ(entries().back()["prevOpTime"].asDocument()["t"].asInt64(), -1) << "each number has a chain of its own";
}

TEST_P(RetryableWritesTest, TheRecordTellsOfTheLastEntryAndIsWrittenWithIt) {  // SES-016
  EXPECT_EQ(recordText(), "none");
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const std::string first = recordText(7, entries().back());
  EXPECT_EQ(recordText(), first);
  constexpr int32_t kNext = 2;
  operation->setStatements({&kNext, 1});
  const Status undone = inUnit([&]() -> Status {
    TROUPE_TRY(current()->insert(rec(), doc("_id", 3)).status());
    return current()->insert(rec(), doc("_id", 3)).status();
  });
  EXPECT_EQ(undone, ErrorCode::kDuplicateKey);
  EXPECT_EQ(recordText(), first);
  EXPECT_TRUE(writes->executed(1)->has_value());
  EXPECT_FALSE(writes->executed(kNext)->has_value()) << "what was undone is not remembered either";
  ASSERT_TRUE(change(1, doc("_id", 1), {}, kNext).isOK());
  EXPECT_EQ(recordText(), recordText(7, entries().back()));
  EXPECT_EQ(*writes->executed(kNext), writes->lastWrite());
}

/// Whatever time a recovery or a rollback goes back to, the record says what the log says.
TEST_P(RetryableWritesTest, AtEachTimeEveryMemberHasTheRecordOfThatTime) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  begin(8);
  ASSERT_TRUE(change(1, doc("_id", 1), doc("_id", 1, "x", 1)).isOK());
  begin(4, 2);
  ASSERT_TRUE(insertAll({9}).isOK());
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
  const SessionTables theirs(*member.catalog);
  const auto expectAt = [](const SessionTables& kept, SessionPool& sessions, const bson::Document& entry) {
    OperationContext reader({.sessions = sessions});
    ASSERT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, entry["ts"].asTimestamp()).isOK());
    const auto found = kept.find(reader.recoveryUnit(), entry["lsid"].asDocument());
    ASSERT_TRUE(found.isOK() && !found->empty()) << bson::toRelaxedJson(entry);
    EXPECT_EQ(SessionRecord::parse(*found)->lastWrite.timestamp, entry["ts"].asTimestamp());
  };
  for (const bson::Document& entry : entries()) {
    expectAt(theirs, *member.pool, entry);
    expectAt(*tables, *pool, entry);
  }
}

/// A record with all versions of a long history would be dear to change.
TEST_P(RetryableWritesTest, NowAndThenAVersionOfASessionIsARecordOfItsOwn) {
  std::set<RecordId> records;
  for (int id = 0; id < 600; ++id) {
    ASSERT_TRUE(insertAll({id}).isOK());
    const bson::Document key = doc("_id", sessionNamed(1));
    records.insert(current("config.transactions")->findById(rec(), key["_id"])->value());
    rec().abandonSnapshot();
  }
  EXPECT_THAT(records, SizeIs(AllOf(Gt(3u), Lt(30u))));
  EXPECT_EQ(current("config.transactions")->records().count(), 1);
  EXPECT_EQ(recordText(), recordText(7, entries().back()));
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

/// Times of the entries of one session may lie evenly apart.
TEST(SessionTablesTest, RecordsBeginAtEvenDistances) {
  for (uint32_t apart = 1; apart <= 200; ++apart) {
    size_t begun = 0;
    for (uint32_t i = 0; i < 100 * SessionTables::kVersionsOfARecord; ++i)
      begun += SessionTables::startsRecord({1'700'000'000, 1 + i * apart}) ? 1 : 0;
    EXPECT_THAT(begun, AllOf(Gt(50u), Lt(200u))) << apart;
  }
}

/// Where the record was put last is a guess only: nothing may be there any more.
TEST_P(RetryableWritesTest, ARecordThatSomebodyHasRemovedIsMadeAnew) {
  ASSERT_TRUE(insertAll({1}).isOK());
  operation->retryable = nullptr;
  operation->session.txnNumber.reset();
  const bson::Document key = doc("_id", sessionNamed(1));
  const Status removed = inUnit([&]() -> Status {
    const CollectionPtr kept = current("config.transactions");
    TROUPE_ASSIGN(const auto at, kept->findById(rec(), key["_id"]));
    TROUPE_ASSIGN(const bson::Document record, tables->find(rec(), sessionNamed(1)));
    return kept->remove(rec(), *at, record);
  });
  ASSERT_TRUE(removed.isOK()) << removed.toString();
  EXPECT_EQ(recordText(), "none");
  operation->retryable = &*writes;
  operation->session.txnNumber = 7;
  ASSERT_TRUE(insertAll({2}).isOK());
  EXPECT_EQ(recordText(), recordText(7, entries().back()));
  const NodeContents valid(*catalog, *pool);  // looks whether records and indexes agree
}

/// Likewise the record of another session may be there.
TEST_P(RetryableWritesTest, ARecordOfAnotherSessionIsLeftAlone) {
  ASSERT_TRUE(insertAll({1}).isOK());
  const std::string first = recordText(7, entries().back());
  const RecordId itsPlace = writes->place();
  begin(4, 2);
  writes->notePlace(itsPlace);
  ASSERT_TRUE(insertAll({2}).isOK());
  EXPECT_EQ(recordText(), first);
  EXPECT_NE(writes->place(), itsPlace);
  EXPECT_EQ(current("config.transactions")->records().count(), 2);
  const NodeContents valid(*catalog, *pool);
}

TEST_P(RetryableWritesTest, WhatWasExecutedIsFoundInTheLogAgain) {  // SES-018
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  ASSERT_TRUE(change(2, doc("_id", 2), doc("_id", 2, "x", 1), 5).isOK());
  const auto found = entries();
  begin(7);
  for (const int32_t statement : {0, 1, 2})
    EXPECT_EQ((*writes->executed(statement))->timestamp, found[static_cast<size_t>(statement)]["ts"].asTimestamp());
  EXPECT_EQ((*writes->executed(5))->timestamp, found[3]["ts"].asTimestamp());
  EXPECT_FALSE(writes->executed(3)->has_value());
  ASSERT_TRUE(writes->begin(8).isOK());
  EXPECT_TRUE(writes->isEmpty()) << "a newer number begins anew";
  EXPECT_EQ(writes->begin(7), ErrorCode::kTransactionTooOld);
  begin(8);
  EXPECT_TRUE(writes->isEmpty()) << "also where an older one is loaded";
  begin(7);
  EXPECT_FALSE(writes->isEmpty()) << "nothing was written under 8";
}

TEST_P(RetryableWritesTest, WhereTheLogIsTruncatedNobodyKnows) {
  ASSERT_TRUE(insertAll({1}).isOK());
  ASSERT_TRUE(change(1, doc("_id", 1), doc("_id", 1, "x", 1), 1).isOK());
  const bson::Timestamp first = entries()[0]["ts"].asTimestamp();
  const bson::Timestamp next{first.seconds, first.increment + 1};
  ASSERT_TRUE(inUnit([&] { return rec().truncate(store->table(), OplogKey(first), OplogKey(next)); }).isOK());
  begin(7);
  EXPECT_TRUE(writes->executed(1)->has_value()) << "its entry is there";
  EXPECT_EQ(writes->executed(0).status(), ErrorCode::kIncompleteTransactionHistory);
  EXPECT_FALSE(writes->isEmpty());
}

TEST_P(RetryableWritesTest, AFindAndModifyKeepsTheDocumentThatItAnswersWith) {  // SES-021, SES-023
  ASSERT_TRUE(insertAll({1}).isOK());
  const bson::Document before = doc("_id", 1), changed = doc("_id", 1, "x", 1);
  const auto image = [&] {
    const auto found = tables->findImage(rec(), sessionNamed(1));
    rec().abandonSnapshot();
    return found.isOK() ? bson::toRelaxedJson(bson::Document((*found)["image"].asDocument())) : "none";
  };
  begin(8);
  operation->retryImage = RetryImage::kAfter;
  const bson::Timestamp last = entries().back()["ts"].asTimestamp();
  ASSERT_TRUE(change(1, before, changed).isOK());
  EXPECT_EQ(image(), bson::toRelaxedJson(changed));
  EXPECT_EQ(entries().back()["needsRetryImage"].asString(), "postImage");
  EXPECT_EQ(entries().back()["ts"].asTimestamp().increment, last.increment + 2) << "the time before it stays free";
  begin(9);
  operation->retryImage = RetryImage::kBefore;
  ASSERT_TRUE(change(1, changed, {}).isOK());
  EXPECT_EQ(image(), bson::toRelaxedJson(changed));
  EXPECT_EQ(entries().back()["needsRetryImage"].asString(), "preImage");
  operation->retryImage = RetryImage::kNone;
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  ASSERT_TRUE(member.applyAll(log()).isOK());
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool)) << "members keep it as well";
}

/// The note that an entry refers to, as text; "none".
std::string noteText(const std::vector<bson::Document>& log, const bson::Document& entry, const char* field) {
  const bson::Element place = entry[field];
  if (!place) return "none";
  for (const bson::Document& each : log)
    if (each["ts"].asTimestamp() == place.asDocument()["ts"].asTimestamp() && each["op"].asString() == "n")
      return bson::toRelaxedJson(bson::Document(each["o"].asDocument()));
  return "missing";
}

TEST_P(RetryableWritesTest, InTheClassicWayAnImageIsANoteAheadOfItsEntry) {  // SES-020
  ASSERT_TRUE(insertAll({1}).isOK());
  const bson::Document before = doc("_id", 1), changed = doc("_id", 1, "x", 1);
  begin(8);
  writes->keepImagesAside(false);
  operation->retryImage = RetryImage::kAfter;
  ASSERT_TRUE(change(1, before, changed).isOK());
  EXPECT_EQ(noteText(log(), entries().back(), "postImageOpTime"), bson::toRelaxedJson(changed));
  EXPECT_EQ(noteText(log(), entries().back(), "preImageOpTime"), "none");
  operation->retryImage = RetryImage::kBefore;
  ASSERT_TRUE(change(1, changed, {}, 1).isOK());
  EXPECT_EQ(noteText(log(), entries().back(), "preImageOpTime"), bson::toRelaxedJson(changed));
  EXPECT_FALSE(entries().back().view().has("needsRetryImage"));
  operation->retryImage = RetryImage::kNone;
  EXPECT_EQ(entries().back()["prevOpTime"].asDocument()["ts"].asTimestamp(),
            entries()[entries().size() - 2]["ts"].asTimestamp())
      << "the chain passes the notes by";
  EXPECT_TRUE(tables->findImage(rec(), sessionNamed(1))->empty());
  rec().abandonSnapshot();
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  ASSERT_TRUE(member.applyAll(log()).isOK());
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool)) << "notes change nothing";
}

TEST_P(RetryableWritesTest, ACollectionRecordsTheDocumentBeforeEachChange) {  // SES-023, SES-025
  CollectionChange records;
  records.recordPreImages = true;
  ASSERT_TRUE(modify("test.c", records).isOK());
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const bson::Document before = doc("_id", 1), changed = doc("_id", 1, "x", 1);
  begin(8);
  operation->retryImage = RetryImage::kAfter;
  const uint32_t last = entries().back()["ts"].asTimestamp().increment;
  ASSERT_TRUE(change(1, before, changed).isOK());
  const bson::Document update = entries().back();
  EXPECT_EQ(noteText(log(), update, "preImageOpTime"), bson::toRelaxedJson(before));
  EXPECT_EQ(update["needsRetryImage"].asString(), "postImage");
  EXPECT_EQ(update["preImageOpTime"].asDocument()["ts"].asTimestamp().increment, last + 1);
  EXPECT_EQ(update["ts"].asTimestamp().increment, last + 3) << "the time between stays free";
  operation->retryImage = RetryImage::kBefore;
  ASSERT_TRUE(change(1, changed, {}, 1).isOK());
  const bson::Document removal = entries().back();
  EXPECT_EQ(noteText(log(), removal, "preImageOpTime"), bson::toRelaxedJson(changed));
  EXPECT_FALSE(removal.view().has("needsRetryImage")) << "a retry is answered from the note";
  EXPECT_EQ(removal["ts"].asTimestamp().increment, last + 5);
  operation->retryImage = RetryImage::kNone;
  operation->retryable = nullptr;
  operation->session.txnNumber.reset();
  ASSERT_TRUE(change(2, doc("_id", 2), {}).isOK());
  EXPECT_EQ(noteText(log(), log().back(), "preImageOpTime"), bson::toRelaxedJson(doc("_id", 2)))
      << "also without a session";
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  ASSERT_TRUE(member.applyAll(log()).isOK());
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

/// A rollback goes back to the time of any entry, and finds the image of that time.
TEST_P(RetryableWritesTest, AMemberKeepsEachImageOfABatch) {  // SES-021
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  bson::Document document = doc("_id", 1);
  for (int64_t number = 8; number < 14; ++number) {
    begin(number);
    operation->retryImage = number % 2 == 0 ? RetryImage::kAfter : RetryImage::kBefore;
    const bson::Document next = number == 13 ? bson::Document() : doc("_id", 1, "n", number);
    ASSERT_TRUE(change(1, document, next).isOK());
    document = next;
  }
  operation->retryImage = RetryImage::kNone;
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  std::vector<bson::Document> own = log();
  std::erase_if(own, [](const bson::Document& each) { return each["op"].asString() == "c"; });
  for (const bson::Document& each : log())
    if (each["op"].asString() == "c") ASSERT_TRUE(member.apply(each).isOK());
  const auto stretch = OplogStretch::parse(own).value();
  std::vector<const OplogEntry*> all;
  for (const OplogEntry& each : stretch.entries) all.push_back(&each);
  OperationContext applier({.sessions = *member.pool}, OperationOrigin::kApplier);
  UnitLimits limits;
  ASSERT_EQ(*applyInUnit(OperationApplier(*member.catalog, ApplyMode::kFollowing), applier, all, limits), all.size());
  const AppliedSessions sessions(*member.catalog, ApplyMode::kFollowing);
  EXPECT_TRUE(sessions.readsDocuments(stretch.entries));
  limits = {.maxEntries = 3};
  for (std::span<const OplogEntry* const> left = all; !left.empty();) {
    const auto done = sessions.putInUnit(applier, left, limits);
    ASSERT_TRUE(done.isOK()) << done.status().toString();
    EXPECT_LE(*done, 3u);
    left = left.subspan(*done);
  }
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
  for (const bson::Document& entry : entries()) {
    if (!entry.view().has("needsRetryImage")) continue;
    const auto imageAt = [&](const SessionTables& kept, SessionPool& of) {
      OperationContext reader({.sessions = of});
      EXPECT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, entry["ts"].asTimestamp()).isOK());
      return bson::toRelaxedJson(kept.findImage(reader.recoveryUnit(), sessionNamed(1)).value());
    };
    EXPECT_EQ(imageAt(SessionTables(*member.catalog), *member.pool), imageAt(*tables, *pool));
  }
}

TEST_P(RetryableWritesTest, AnImageThatAReplayMakesIsNoAnswer) {
  ASSERT_TRUE(insertAll({1}).isOK());
  begin(8);
  operation->retryImage = RetryImage::kAfter;
  ASSERT_TRUE(change(1, doc("_id", 1), doc("_id", 1, "x", 1)).isOK());
  operation->retryImage = RetryImage::kNone;
  Member member(ApplyMode::kReplaying);
  ASSERT_TRUE(member.make(*current("test.c")));
  ASSERT_TRUE(member.applyAll(log()).isOK());
  OperationContext reader({.sessions = *member.pool});
  const auto found = SessionTables(*member.catalog).findImage(reader.recoveryUnit(), sessionNamed(1));
  ASSERT_TRUE(found.isOK() && !found->empty());
  EXPECT_TRUE(ImageRecord::parse(*found)->invalidated) << "the document may have been of a later time";
}

/// Who follows is told that its data are not those of the log; a replay may be behind the drop.
TEST_P(RetryableWritesTest, OnlyAReplayMayMissTheCollectionsOfSessions) {
  ASSERT_TRUE(insertAll({1}).isOK());
  begin(8);
  operation->retryImage = RetryImage::kAfter;
  ASSERT_TRUE(change(1, doc("_id", 1), doc("_id", 1, "x", 1)).isOK());
  operation->retryImage = RetryImage::kNone;
  for (const char* missing : {"transactions", "image_collection"}) {
    std::vector<bson::Document> entries = log();
    std::erase_if(entries,
                  [&](const bson::Document& each) { return each.view().at("o.create").toStringOr() == missing; });
    for (const ApplyMode mode : {ApplyMode::kFollowing, ApplyMode::kReplaying}) {
      Member member(mode);
      ASSERT_TRUE(member.make(*current("test.c")));
      const Status applied = member.applyAll(entries);
      EXPECT_EQ(applied.code(), mode == ApplyMode::kReplaying ? ErrorCode::kOK : ErrorCode::kNamespaceNotFound)
          << missing << ": " << applied.toString();
    }
  }
}

TEST_P(RetryableWritesTest, WithoutItsCollectionNothingIsWritten) {
  ASSERT_TRUE(drop("config.transactions").isOK());
  EXPECT_EQ(insertAll({1}), ErrorCode::kNamespaceNotFound);
  EXPECT_THAT(ids(), IsEmpty());
}

TROUPE_ON_BOTH_ENGINES(RetryableWritesTest);

}  // namespace troupe::storage
