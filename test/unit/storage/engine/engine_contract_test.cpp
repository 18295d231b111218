// The contract of storage/engine/engine.hpp, sentence by sentence, on every implementation.
#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {
namespace {

INSTANTIATE_TEST_SUITE_P(Engines, EngineContract, engineKinds(), engineKindName);

TEST_P(EngineContract, SeekPositionsExactlyOrNotAtAll) {
  fill({"b", "d"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  EXPECT_FALSE(*cursor->seek("c"));
  EXPECT_TRUE(*cursor->next());  // unpositioned: starts at the first row
  EXPECT_EQ(cursor->key(), "b");
  EXPECT_TRUE(*cursor->seek("d"));
  EXPECT_EQ(cursor->value(), "d!");
}

TEST_P(EngineContract, SeekAtOrAfterAndAtOrBefore) {
  fill({"b", "d"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  const auto after = [&](std::string_view key) {
    return *cursor->seekAtOrAfter(key) ? std::string(cursor->key()) : "end";
  };
  const auto before = [&](std::string_view key) {
    return *cursor->seekAtOrBefore(key) ? std::string(cursor->key()) : "begin";
  };
  EXPECT_EQ(after("a"), "b");
  EXPECT_EQ(after("b"), "b");
  EXPECT_EQ(after("c"), "d");
  EXPECT_EQ(after("e"), "end");
  EXPECT_EQ(before("a"), "begin");
  EXPECT_EQ(before("b"), "b");
  EXPECT_EQ(before("c"), "b");
  EXPECT_EQ(before("e"), "d");
}

TEST_P(EngineContract, NextAndPreviousWalkInByteOrder) {
  fill({"b", std::string("a\0", 2), "a", "\xff", "ab"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  std::vector<std::string> forward, backward;
  while (*cursor->next()) forward.emplace_back(cursor->key());
  while (*cursor->previous()) backward.emplace_back(cursor->key());
  EXPECT_EQ(forward, (std::vector<std::string>{"a", std::string("a\0", 2), "ab", "b", "\xff"}));
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
}

TEST_P(EngineContract, InsertUpdateRemoveAndPutSayWhatIsThere) {
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  EXPECT_TRUE(cursor->insert("k", "1").isOK());
  EXPECT_EQ(cursor->insert("k", "2").code(), ErrorCode::kDuplicateKey);
  EXPECT_TRUE(cursor->update("k", "3").isOK());
  EXPECT_EQ(cursor->update("x", "3").code(), ErrorCode::kNoSuchKey);
  EXPECT_TRUE(cursor->put("k", "4").isOK());
  EXPECT_TRUE(cursor->put("l", "5").isOK());
  EXPECT_TRUE(cursor->remove("k").isOK());
  EXPECT_EQ(cursor->remove("k").code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(cursor->insert("l", "6").code(), ErrorCode::kDuplicateKey);
  EXPECT_TRUE(cursor->insert("k", "7").isOK());
  cursor.reset();
  EXPECT_EQ(t.rows(), "k=7 l=5");
}

TEST_P(EngineContract, RemovingTheRowUnderTheCursorKeepsThePlace) {
  fill({"a", "b", "c", "d"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  ASSERT_TRUE(*cursor->seek("b"));
  ASSERT_TRUE(cursor->remove(cursor->key()).isOK());
  ASSERT_TRUE(*cursor->next());
  EXPECT_EQ(cursor->key(), "c");
  ASSERT_TRUE(cursor->remove(std::string(cursor->key())).isOK());
  ASSERT_TRUE(*cursor->previous());
  EXPECT_EQ(cursor->key(), "a");
  cursor.reset();
  EXPECT_EQ(t.rows(), "a=a! d=d!");
}

TEST_P(EngineContract, UpdatingTheRowUnderTheCursorKeepsThePlace) {
  fill({"a", "b", "c"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  while (*cursor->next()) ASSERT_TRUE(cursor->update(cursor->key(), std::string(cursor->value()) + "!").isOK());
  EXPECT_EQ(t.rows(), "a=a!! b=b!! c=c!!");
}

TEST_P(EngineContract, OtherWritesUnpositionTheCursor) {
  fill({"a", "b", "c"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  const auto firstAfter = [&](auto&& write) {
    EXPECT_TRUE(*cursor->seek("b"));
    EXPECT_TRUE(write().isOK());
    EXPECT_TRUE(cursor->key().empty());
    EXPECT_TRUE(*cursor->next());
    return std::string(cursor->key());
  };
  EXPECT_EQ(firstAfter([&] { return cursor->insert("z", ""); }), "a");
  EXPECT_EQ(firstAfter([&] { return cursor->put("y", ""); }), "a");
  EXPECT_EQ(firstAfter([&] { return cursor->update("c", ""); }), "a");
  EXPECT_EQ(firstAfter([&] { return cursor->remove("c"); }), "a");
}

TEST_P(EngineContract, ArgumentsMayPointIntoTheCursor) {
  fill({"row-1"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  ASSERT_TRUE(*cursor->seek("row-1"));
  ASSERT_TRUE(cursor->insert(cursor->key().substr(0, 3), cursor->value()).isOK());
  ASSERT_TRUE(*cursor->seek("row-1"));
  ASSERT_TRUE(cursor->put(cursor->key().substr(0, 2), cursor->value()).isOK());
  ASSERT_TRUE(*cursor->seek("row-1"));
  ASSERT_TRUE(*cursor->seek(cursor->key().substr(0, 3)));
  cursor.reset();
  EXPECT_EQ(t.rows(), "ro=row-1! row=row-1! row-1=row-1!");
}

TEST_P(EngineContract, ValuesMayBeEmptyKeysMayNot) {
  fill({"a"});
  Transaction t(engine(), table());
  t.put("k", "");
  auto cursor = t.cursor();
  EXPECT_TRUE(*cursor->seek("k"));
  EXPECT_EQ(cursor->value(), "");
  EXPECT_EQ(cursor->put("", "v").code(), ErrorCode::kBadValue);
  EXPECT_EQ(cursor->insert("", "v").code(), ErrorCode::kBadValue);
  EXPECT_FALSE(*cursor->seek(""));
  EXPECT_FALSE(*cursor->seekAtOrBefore(""));
  EXPECT_TRUE(*cursor->seekAtOrAfter(""));
  EXPECT_EQ(cursor->key(), "a");
}

TEST_P(EngineContract, AnEndedLeaseForgetsItsPosition) {
  fill({"a", "b"});
  Transaction t(engine(), table());
  ASSERT_TRUE(*t.cursor()->seek("b"));
  auto cursor = t.cursor();
  EXPECT_TRUE(cursor->key().empty());
  EXPECT_TRUE(*cursor->next());
  EXPECT_EQ(cursor->key(), "a");
}

TEST_P(EngineContract, TwoCursorsOfOneSessionAreIndependentAndSeeItsWrites) {
  fill({"a", "b"});
  Transaction t(engine(), table());
  auto one = t.cursor();
  auto other = t.cursor();
  ASSERT_TRUE(*one->seek("a"));
  ASSERT_TRUE(*other->seek("b"));
  ASSERT_TRUE(other->remove("b").isOK());
  EXPECT_EQ(one->key(), "a");
  EXPECT_FALSE(*one->next());
}

TEST_P(EngineContract, TheEndOfTheTransactionUnpositionsCursors) {
  fill({"a", "b"});
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  ASSERT_TRUE(*cursor->seek("b"));
  ASSERT_TRUE(t.commit().isOK());
  ASSERT_TRUE(t.session().begin().isOK());
  EXPECT_TRUE(cursor->key().empty());
  ASSERT_TRUE(*cursor->next());
  EXPECT_EQ(cursor->key(), "a");
}

TEST_P(EngineContract, WritesNeedATransaction) {
  Transaction t(engine(), table());
  auto cursor = t.cursor();
  t.session().rollback();
  EXPECT_FALSE(t.session().inTransaction());
  EXPECT_EQ(cursor->put("k", "v").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(cursor->insert("k", "v").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(cursor->update("k", "v").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(cursor->remove("k").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().truncate(table(), "", "").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().commit().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().setCommitTimestamp(at(3)).code(), ErrorCode::kIllegalOperation);
}

TEST_P(EngineContract, OneTransactionAtATimePerSession) {
  Transaction t(engine(), table());
  EXPECT_TRUE(t.session().inTransaction());
  EXPECT_EQ(t.session().begin().code(), ErrorCode::kIllegalOperation);
}

TEST_P(EngineContract, RollbackAndClosingTheSessionUndoEverything) {
  fill({"a"});
  {
    Transaction t(engine(), table());
    t.put("a", "x").put("b", "x");
    t.session().rollback();
  }
  { Transaction(engine(), table()).put("c", "x"); }
  EXPECT_EQ(Transaction(engine(), table()).rows(), "a=a!");
}

TEST_P(EngineContract, ASnapshotDoesNotMove) {
  fill({"a"});
  Transaction reader(engine(), table());
  EXPECT_EQ(reader.rows(), "a=a!");
  fill({"b"});
  EXPECT_EQ(reader.rows(), "a=a!");
  EXPECT_EQ(Transaction(engine(), table()).rows(), "a=a! b=b!");
}

TEST_P(EngineContract, UncommittedWritesAreInvisibleToOthers) {
  Transaction writer(engine(), table());
  writer.put("a", "1");
  EXPECT_EQ(writer.read("a"), "1");
  EXPECT_EQ(Transaction(engine(), table()).read("a"), "-");
}

TEST_P(EngineContract, TheSecondWriterOfARowConflictsAtOnce) {
  fill({"a"});
  Transaction first(engine(), table());
  Transaction second(engine(), table());
  first.put("a", "1");
  EXPECT_EQ(second.cursor()->put("a", "2").code(), ErrorCode::kWriteConflict);
  second.session().rollback();
  EXPECT_TRUE(first.commit().isOK());
  EXPECT_EQ(Transaction(engine(), table()).read("a"), "1");
}

TEST_P(EngineContract, AWriterConflictsWithACommitAfterItsSnapshot) {
  fill({"a"});
  Transaction late(engine(), table());
  EXPECT_EQ(late.read("a"), "a!");
  ASSERT_TRUE(Transaction(engine(), table()).put("a", "1").commit().isOK());
  EXPECT_EQ(late.cursor()->remove("a").code(), ErrorCode::kWriteConflict);
}

TEST_P(EngineContract, TwoInsertersOfOneKeyConflict) {
  Transaction first(engine(), table());
  Transaction second(engine(), table());
  ASSERT_TRUE(first.cursor()->insert("k", "1").isOK());
  EXPECT_EQ(second.cursor()->insert("k", "2").code(), ErrorCode::kWriteConflict);
}

TEST_P(EngineContract, TruncateRemovesAHalfOpenRange) {
  const auto left = [&](std::string_view from, std::string_view to) {
    Transaction t(engine(), table());
    for (const char* key : {"b", "d", "f", "h"}) t.put(key, "");
    EXPECT_TRUE(t.session().truncate(table(), from, to).isOK());
    std::string keys;
    auto cursor = t.cursor();
    while (*cursor->next()) keys += cursor->key();
    return keys;
  };
  EXPECT_EQ(left("d", "h"), "bh");
  EXPECT_EQ(left("c", "g"), "bh");
  EXPECT_EQ(left("", "f"), "fh");
  EXPECT_EQ(left("f", ""), "bd");
  EXPECT_EQ(left("", ""), "");
  EXPECT_EQ(left("c", "d"), "bdfh");
  EXPECT_EQ(left("d", "d"), "bdfh");
  EXPECT_EQ(left("h", "b"), "bdfh");
  EXPECT_EQ(left("x", ""), "bdfh");
}

TEST_P(EngineContract, TruncateIsPartOfItsTransaction) {
  fill({"a", "b", "c"});
  Transaction before(engine(), table());
  {
    Transaction t(engine(), table());
    ASSERT_TRUE(t.session().truncate(table(), "a", "c").isOK());
  }
  EXPECT_EQ(Transaction(engine(), table()).rows(), "a=a! b=b! c=c!");
  Transaction t(engine(), table());
  ASSERT_TRUE(t.session().truncate(table(), "a", "c").isOK());
  ASSERT_TRUE(t.commit().isOK());
  EXPECT_EQ(before.rows(), "a=a! b=b! c=c!");
  EXPECT_EQ(Transaction(engine(), table()).rows(), "c=c!");
}

TEST_P(EngineContract, TablesAreCreatedOnceFoundAndListed) {
  ASSERT_TRUE(engine().createTable("index-1", {.appMetadata = "formatVersion=8"}).isOK());
  EXPECT_EQ(engine().createTable("index-1", {}).status().code(), ErrorCode::kNamespaceExists);
  EXPECT_EQ(engine().createTable("../evil", {}).status().code(), ErrorCode::kBadValue);
  EXPECT_EQ(engine().createTable("x", {.blockCompressor = "lz5"}).status().code(), ErrorCode::kBadValue);
  EXPECT_EQ(engine().openTable("index-2").status().code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(engine().tableMetadata("index-2").status().code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(*engine().tableMetadata("index-1"), "formatVersion=8");
  EXPECT_EQ(*engine().tableMetadata("t"), "");
  EXPECT_EQ(engine().openTable("t")->id, table().id);
  EXPECT_NE(engine().openTable("index-1")->id, table().id);
  EXPECT_EQ(engine().listTables(), (std::vector<std::string>{"index-1", "t"}));
  Transaction t(engine(), table());
  EXPECT_EQ(t.session().cursor({"nowhere", 999}).status().code(), ErrorCode::kNoSuchKey);
}

TEST_P(EngineContract, DropIsBusyUntilReadersAreGoneAndCursorsForgotten) {
  fill({"a"});
  ASSERT_TRUE(engine().checkpoint().isOK());
  {
    Transaction t(engine(), table());
    (void)t.read("a");
    EXPECT_EQ(engine().dropTable("t").code(), ErrorCode::kObjectIsBusy);  // a cached cursor and a reader
    t.session().rollback();
    EXPECT_EQ(engine().dropTable("t").code(), ErrorCode::kObjectIsBusy);  // the cached cursor
    t.session().forgetTable(table());
    EXPECT_EQ(engine().dropTable("t").toString(), Status::OK().toString());
  }
  EXPECT_EQ(engine().dropTable("t").code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(engine().openTable("t").status().code(), ErrorCode::kNoSuchKey);
  const uint32_t old = table().id;
  EXPECT_NE(engine().createTable("t", {})->id, old);
}

TEST_P(EngineContract, VerifyAndSalvageLeaveAHealthyTableAsItIs) {
  fill({"a", "b"});
  ASSERT_TRUE(engine().checkpoint().isOK());
  EXPECT_EQ(engine().verifyTable("t").toString(), Status::OK().toString());
  EXPECT_EQ(engine().salvageTable("t").toString(), Status::OK().toString());
  EXPECT_TRUE(*engine().checkBlocks("t")->step(1 << 20));
  EXPECT_EQ(engine().verifyTable("nowhere").code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(engine().salvageTable("nowhere").code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(Transaction(engine(), table()).rows(), "a=a! b=b!");
}

TEST_P(EngineContract, TableBytesGrow) {
  Transaction t(engine(), table());
  for (int i = 0; i < 200; ++i) t.put("key" + std::to_string(i), std::string(1000, static_cast<char>('a' + i % 26)));
  ASSERT_TRUE(t.commit().isOK());
  ASSERT_TRUE(engine().checkpoint().isOK());
  EXPECT_GT(engine().tableBytes(table()), 2000);
}

TEST_P(EngineContract, StatisticsCount) {
  const EngineStatistics before = engine().statistics();
  fill({"a"});
  { Transaction(engine(), table()).put("b", ""); }
  ASSERT_TRUE(engine().flushLog().isOK());
  ASSERT_TRUE(engine().checkpoint().isOK());
  const EngineStatistics after = engine().statistics();
  EXPECT_GT(after.transactionsBegun, before.transactionsBegun);
  EXPECT_GT(after.transactionsCommitted, before.transactionsCommitted);
  EXPECT_GT(after.transactionsRolledBack, before.transactionsRolledBack);
  EXPECT_GT(after.checkpoints, before.checkpoints);
  EXPECT_GT(after.logSyncs, before.logSyncs);
  EXPECT_GT(after.cacheBytesMax, 0);
  EXPECT_FALSE(engine().version().empty());
}

TEST_P(EngineContract, AnEmptyTableIsFilledInTheOrderOfKeys) {
  const Table filled = create("filled", false);
  {
    auto load = engine().bulkLoad(filled);
    ASSERT_TRUE(load.isOK()) << load.status().toString();
    EXPECT_TRUE((*load)->add("a", "1").isOK());
    EXPECT_TRUE((*load)->add("b", "").isOK());
    EXPECT_EQ((*load)->add("b", "2"), ErrorCode::kBadValue);
    EXPECT_EQ((*load)->add("a", "2"), ErrorCode::kBadValue);
    EXPECT_TRUE((*load)->add("c", std::string(100'000, 'x')).isOK());
    EXPECT_EQ(engine().dropTable("filled"), ErrorCode::kObjectIsBusy);
    ASSERT_TRUE((*load)->finish().isOK());
  }
  EXPECT_EQ(rows(filled), "a=1 b= c=" + std::string(100'000, 'x'));
  commit(filled, "b", "later", 20);
  EXPECT_EQ(rowsAt(filled, 10), "a=1 b= c=" + std::string(100'000, 'x')) << "rows that were filled have no time";
  const ErrorCode refusal = engine().bulkLoad(filled).status().code();
  EXPECT_TRUE(refusal == ErrorCode::kIllegalOperation || refusal == ErrorCode::kObjectIsBusy) << "it is not empty";
}

TEST_P(EngineContract, ALoggedTableIsNotFilled) {
  EXPECT_EQ(engine().bulkLoad(table()).status(), ErrorCode::kIllegalOperation);
}

TEST_P(EngineContract, ATableInUseIsNotFilled) {
  const Table used = create("used", false);
  {
    Transaction t(engine(), used);
    auto cursor = t.cursor();
    EXPECT_FALSE(*cursor->next());
    EXPECT_EQ(engine().bulkLoad(used).status(), ErrorCode::kObjectIsBusy);
  }
  auto load = engine().bulkLoad(used);
  ASSERT_TRUE(load.isOK()) << load.status().toString();
  ASSERT_TRUE((*load)->add("a", "1").isOK());
  EXPECT_TRUE(engine().checkpoint().isOK()) << "it passes the table by";
  load->reset();
  EXPECT_TRUE(engine().checkpoint().isOK());
  EXPECT_TRUE(engine().dropTable("used").isOK());
}

TEST_P(EngineContract, WhatWasFilledIsInTheNextCheckpoint) {
  const Table filled = create("filled", false);
  for (const bool stable : {false, true}) {
    if (stable) {
      commit(create("other", false), "k", "v", 30);
      ASSERT_TRUE(engine().setStableTimestamp(at(30)).isOK());
    }
    const Table each = stable ? create("again", false) : filled;
    {
      auto load = engine().bulkLoad(each);
      ASSERT_TRUE(load.isOK()) << load.status().toString();
      ASSERT_TRUE((*load)->add("a", "1").isOK());
      ASSERT_TRUE((*load)->finish().isOK());
    }
    ASSERT_TRUE(engine().checkpoint({.stable = stable}).isOK());
  }
  harness().crash();
  EXPECT_EQ(rows(open("filled")), "a=1");
  EXPECT_EQ(rows(open("again")), "a=1");
}

}  // namespace
}  // namespace troupe::storage
