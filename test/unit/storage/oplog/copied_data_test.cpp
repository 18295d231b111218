#include "storage/oplog/copied_data.hpp"

#include <gtest/gtest.h>

#include "storage/operation/operation_context.hpp"
#include "test/unit/storage/oplog/member_fixture.hpp"
#include "test/unit/storage/oplog/primary_fixture.hpp"

namespace troupe::storage {
namespace {

constexpr Timestamp kBegin{100, 1};

/// The test is the source; a member beside it copies.
class CopiedDataTest : public PrimaryFixture {
 protected:
  RecoveryUnit& copying(Timestamp at) {
    copier_ =
        std::make_unique<OperationContext>(OperationServices{.sessions = *member.pool}, OperationOrigin::kApplier);
    copier_->setWriteMode(WriteMode::kApplied);
    copier_->setAppliedTime(at);
    return copier_->recoveryUnit();
  }
  void endCopying() { copier_.reset(); }
  void crashMember() {
    endCopying();
    member.crash();
  }
  bool isTable(const std::string& ident) {
    const auto tables = member.catalog->engine().listTables();
    return std::ranges::find(tables, ident) != tables.end();
  }
  /// Gives the name of its table; a stable checkpoint holds it.
  std::string copyAndCheckpoint(const Collection& source) {
    EXPECT_TRUE(createCopied(*member.catalog, copying(kBegin), source.ns(), source.options()).isOK());
    EXPECT_TRUE(put(kBegin, source, {bson::doc("_id", 1)}).isOK());
    endCopying();
    Engine& engine = member.catalog->engine();
    EXPECT_TRUE(engine.setStableTimestamp(kBegin).isOK());
    EXPECT_TRUE(engine.setOldestTimestamp(kBegin).isOK());
    EXPECT_TRUE(member.catalog->checkpoint({.stable = true}).isOK());
    return member.current("test.a")->ident();
  }
  void dropCopyAt(Timestamp time) {
    EXPECT_TRUE(dropCopied(*member.catalog, copying(time), Namespace("test", "a")).isOK());
    endCopying();
  }
  Status put(Timestamp at, const Collection& like, const std::vector<bson::Document>& documents) {
    const std::vector<bson::View> views(documents.begin(), documents.end());
    return putCopied(*member.catalog, copying(at), like.uuid(), views);
  }
  std::vector<std::string> documentsOf(const char* ns) {
    std::vector<std::string> all;
    OperationContext reader({.sessions = *member.pool});
    auto cursor = member.current(ns)->records().cursor(reader.recoveryUnit());
    while (*cursor->next()) all.push_back(bson::toRelaxedJson(bson::Document(cursor->document())));
    return all;
  }

  Member member{ApplyMode::kReplaying};

 private:
  std::unique_ptr<OperationContext> copier_;
};
using Strings = std::vector<std::string>;

TEST_P(CopiedDataTest, KeepsTheUuidAndTheOptions) {
  const CollectionPtr source = make("test.a", bson::doc("validator", bson::doc("a", 1)));
  ASSERT_TRUE(createCopied(*member.catalog, copying(kBegin), source->ns(), source->options()).isOK());
  ASSERT_TRUE(createCopied(*member.catalog, copying(kBegin), Namespace("other", "b"), source->options()).isOK());
  EXPECT_EQ(member.current("test.a")->uuid(), source->uuid());
  EXPECT_TRUE(member.current("test.a")->options().sameAs(source->options()));
  EXPECT_FALSE(member.catalog->find(Namespace("other", "b"))) << "it is listed twice";
}

TEST_P(CopiedDataTest, ADocumentThatIsMetTwiceIsThereOnce) {
  const CollectionPtr source = make("test.a");
  ASSERT_TRUE(createCopied(*member.catalog, copying(kBegin), source->ns(), source->options()).isOK());
  ASSERT_TRUE(put(kBegin, *source, {bson::doc("_id", 1, "a", 1), bson::doc("_id", 2)}).isOK());
  ASSERT_TRUE(put(kBegin, *source, {bson::doc("_id", 2), bson::doc("_id", 1, "a", 2), bson::doc("_id", 3)}).isOK());
  EXPECT_EQ(documentsOf("test.a"), (Strings{R"({ "_id" : 1, "a" : 2 })", R"({ "_id" : 2 })", R"({ "_id" : 3 })"}));
  EXPECT_EQ(member.current("test.a")->records().count(), 3);
}

TEST_P(CopiedDataTest, DuplicatesInUniqueIndexesAreOfDifferentTimes) {
  const CollectionPtr source = make("test.a");
  ASSERT_TRUE(buildIndex("test.a", bson::doc("key", bson::doc("u", 1), "name", "u_1", "unique", true)).isOK());
  ASSERT_TRUE(createCopied(*member.catalog, copying(kBegin), source->ns(), source->options()).isOK());
  IndexBuilder builder(*member.catalog, source->ns(), {current("test.a")->findIndex("u_1")->spec});
  ASSERT_TRUE(put(kBegin, *source, {bson::doc("_id", 1, "u", 7), bson::doc("_id", 2, "u", 7)}).isOK());
  ASSERT_TRUE(builder.start(copying(kBegin)).isOK());
  builder.takeUp(source->uuid());
  ASSERT_TRUE(builder.finish(copying(kBegin)).isOK());
  ASSERT_TRUE(put({101, 1}, *source, {bson::doc("_id", 1, "u", 8)}).isOK());
  OperationContext reader({.sessions = *member.pool});
  const auto valid =
      validateCollection(*member.catalog, reader.recoveryUnit(), member.current("test.a"), {.fixCount = false});
  ASSERT_TRUE(valid.isOK());
  EXPECT_TRUE(valid->valid);
}

TEST_P(CopiedDataTest, ASecondCopyMayHaveTheTimeAtWhichTheFirstWasDropped) {
  const CollectionPtr source = make("test.a");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_TRUE(createCopied(*member.catalog, copying(kBegin), source->ns(), source->options()).isOK());
    ASSERT_TRUE(put(kBegin, *source, {bson::doc("_id", 1, "attempt", attempt)}).isOK());
    EXPECT_EQ(documentsOf("test.a"), (Strings{R"({ "_id" : 1, "attempt" : )" + std::to_string(attempt) + " }"}));
    ASSERT_TRUE(dropCopied(*member.catalog, copying(kBegin), source->ns()).isOK());
    EXPECT_FALSE(member.catalog->find(source->ns()));
  }
}

TEST_P(CopiedDataTest, WhatIsCopiedIsThereAfterACheckpointAtALaterTime) {
  const CollectionPtr source = make("test.a");
  ASSERT_TRUE(createCopied(*member.catalog, copying(kBegin), source->ns(), source->options()).isOK());
  ASSERT_TRUE(put(kBegin, *source, {bson::doc("_id", 1)}).isOK());
  ASSERT_TRUE(put({105, 1}, *source, {bson::doc("_id", 2)}).isOK());
  Engine& engine = member.catalog->engine();
  ASSERT_TRUE(engine.checkpoint({.stable = false}).isOK()) << "as one during the sync";
  ASSERT_TRUE(engine.setStableTimestamp({105, 1}).isOK());
  ASSERT_TRUE(engine.setOldestTimestamp({105, 1}).isOK());
  ASSERT_TRUE(member.catalog->flush().isOK());
  const auto held = engine.checkpoint({.stable = true});
  ASSERT_TRUE(held.isOK());
  EXPECT_EQ(*held, (Timestamp{105, 1}));
  crashMember();
  EXPECT_EQ(member.catalog->engine().recoveryTimestamp(), (Timestamp{105, 1}));
  EXPECT_EQ(member.current("test.a")->uuid(), source->uuid());
  EXPECT_EQ(documentsOf("test.a"), (Strings{R"({ "_id" : 1 })", R"({ "_id" : 2 })"}));
}

// Nobody reads a copy that is not whole at an earlier time: the next one has the space of what was dropped.
TEST_P(CopiedDataTest, ACheckpointOfAllFreesTheTablesThatWereDroppedBefore) {
  const CollectionPtr source = make("test.a");
  const std::string ident = copyAndCheckpoint(*source);
  member.catalog->engine().beginCopy();
  dropCopyAt({100, 2});
  member.catalog->onTimes(kBegin, kBegin);
  EXPECT_TRUE(isTable(ident)) << "no checkpoint holds the drop";
  ASSERT_TRUE(member.catalog->checkpoint({.stable = false}).isOK());
  EXPECT_TRUE(isTable(ident));
  member.catalog->onTimes({}, kBegin);
  EXPECT_FALSE(isTable(ident));
  crashMember();
  EXPECT_FALSE(member.current("test.a"));
}

TEST_P(CopiedDataTest, AKillBeforeThatCheckpointFindsTheCollectionAndOneAfterItNone) {
  const CollectionPtr source = make("test.a");
  const std::string ident = copyAndCheckpoint(*source);
  member.catalog->engine().beginCopy();
  dropCopyAt({100, 2});
  member.catalog->onTimes({}, kBegin);
  crashMember();
  ASSERT_TRUE(member.current("test.a"));
  EXPECT_EQ(documentsOf("test.a"), (Strings{R"({ "_id" : 1 })"}));
  member.catalog->engine().beginCopy();
  dropCopyAt({100, 3});
  ASSERT_TRUE(member.catalog->checkpoint({.stable = false}).isOK());
  crashMember();
  EXPECT_FALSE(member.current("test.a"));
  EXPECT_FALSE(isTable(ident)) << "the start drops what belongs to no collection";
}

// As of the time of the data before, their rows would come back without their tables.
TEST_P(CopiedDataTest, AnOrderlyStopWithinACopyLeavesNoRowWithoutItsTable) {
  const CollectionPtr source = make("test.a");
  const std::string ident = copyAndCheckpoint(*source);
  member.catalog->engine().beginCopy();
  dropCopyAt({100, 2});
  ASSERT_TRUE(member.catalog->checkpoint({.stable = false}).isOK());
  member.catalog->onTimes({}, kBegin);
  ASSERT_FALSE(isTable(ident));
  ASSERT_TRUE(member.catalog->checkpoint({.stable = true}).isOK()) << "of a validation, say";
  member.restart();
  EXPECT_FALSE(member.current("test.a"));
}

TEST_P(CopiedDataTest, ACheckpointOfDataThatHaveATimeFreesNothing) {
  const CollectionPtr source = make("test.a");
  const std::string ident = copyAndCheckpoint(*source);
  member.catalog->engine().beginCopy();
  member.catalog->engine().setInitialDataTimestamp(kBegin);
  dropCopyAt({100, 2});
  for (const bool stable : {true, false}) ASSERT_TRUE(member.catalog->checkpoint({.stable = stable}).isOK());
  member.catalog->onTimes(kBegin, kBegin);
  EXPECT_TRUE(isTable(ident)) << "a rollback may bring it back";
}

TROUPE_ON_BOTH_ENGINES(CopiedDataTest);

}  // namespace
}  // namespace troupe::storage
