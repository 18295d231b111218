#include "actors/machines/collection_store.hpp"

#include <gtest/gtest.h>

#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe::machines {
namespace {

using commands::CommandNode;
using bson::operator""_json;

TEST(CollectionStore, KeepsDocumentsWhereFindShowsThem) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  EXPECT_TRUE(done(server, store.put(bson::doc("_id", "a", "phase", "offering"), Durability::kJournaled)).isOK());
  EXPECT_TRUE(done(server, store.put(bson::doc("_id", "a", "phase", "draining"), Durability::kMajority)).isOK());
  const auto reply = server.run(R"({"find": "leases"})"_json, "config");
  EXPECT_EQ(bson::toRelaxedJson(reply["cursor"].asDocument()["firstBatch"].asArray()["0"]),
            R"({ "_id" : "a", "phase" : "draining" })");
}

TEST(CollectionStore, WaitsForTheJournalOnlyIfAskedTo) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  ASSERT_TRUE(done(server, store.put(bson::doc("_id", "a"), Durability::kLocal)).isOK());
  EXPECT_LT(server.durability.durable(), server.durability.taken());
  ASSERT_TRUE(done(server, store.put(bson::doc("_id", "b"), Durability::kJournaled)).isOK());
  EXPECT_EQ(server.durability.durable(), server.durability.taken());
}

TEST(CollectionStore, WhatWasJournaledSurvivesACrash) {
  auto server = std::make_unique<CommandNode>();
  auto store = std::make_unique<CollectionStore>(server->assembly.storageAccess(), kLeases);
  ASSERT_TRUE(done(*server, store->put(bson::doc("_id", "a", "n", 1), Durability::kJournaled)).isOK());
  ASSERT_TRUE(done(*server, store->put(bson::doc("_id", "a", "n", 2), Durability::kLocal)).isOK());
  const auto disk = server->engine->disk();  // as a crash would leave it
  store.reset();
  CommandNode again({.disk = disk});
  CollectionStore after(again.assembly.storageAccess(), kLeases);
  const auto found = done(again, after.find(bson::doc("_id", "a")));
  ASSERT_TRUE(found.isOK() && *found);
  EXPECT_EQ((**found)["n"].toInt64(), 1);
}

TEST(CollectionStore, RemovesAndDoesNotMindWhatIsNotThere) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  EXPECT_TRUE(done(server, store.remove(bson::doc("_id", "a"), Durability::kJournaled)).isOK()) << "no collection yet";
  ASSERT_TRUE(done(server, store.put(bson::doc("_id", "a"), Durability::kLocal)).isOK());
  EXPECT_TRUE(done(server, store.remove(bson::doc("_id", "a"), Durability::kJournaled)).isOK());
  EXPECT_TRUE(done(server, store.remove(bson::doc("_id", "a"), Durability::kJournaled)).isOK());
  EXPECT_FALSE(*done(server, store.find(bson::doc("_id", "a"))));
}

TEST(CollectionStore, LoadsInBatchesUntilTheLast) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(done(server, store.put(bson::doc("_id", i), Durability::kLocal)).isOK());
  std::vector<int64_t> seen;
  for (int64_t from = 0;;) {
    const auto batch = done(server, store.load(from, 4));
    ASSERT_TRUE(batch.isOK());
    for (const auto& document : batch->documents) seen.push_back(document["_id"].toInt64());
    if (batch->last) break;
    from = batch->next;
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const auto none =
      done(server, CollectionStore(server.assembly.storageAccess(), storage::Namespace("config", "none")).load(0, 4));
  ASSERT_TRUE(none.isOK());
  EXPECT_TRUE(none->last && none->documents.empty());
}

/// Well framed, so that only the full check finds it: a string within is longer than the document.
TEST(CollectionStore, ADamagedDocumentIsAnError) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  ASSERT_TRUE(done(server, store.put(bson::doc("_id", "a", "phase", "offering"), Durability::kLocal)).isOK());
  {
    storage::OperationContext operation(server.server->operations);
    storage::RecoveryUnit& unit = operation.recoveryUnit();
    const auto collection = server.catalog->find(kLeases);
    auto cursor = std::move(collection->records().cursor(unit)).value();
    ASSERT_TRUE(*cursor.next());
    std::string bytes(cursor.bytes());
    bytes[bytes.find("phase") + 6] = 127;
    storage::WriteUnitOfWork work(unit);
    ASSERT_TRUE(collection->records().update(unit, cursor.id(), bytes, static_cast<int64_t>(bytes.size())).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  EXPECT_EQ(done(server, store.find(bson::doc("_id", "a"))).status().code(), ErrorCode::kDataCorruptionDetected);
  EXPECT_EQ(done(server, store.load(0, 4)).status().code(), ErrorCode::kDataCorruptionDetected);
}

TEST(CollectionStore, ReadingWaitsForWhatWasHandedOverBefore) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  auto put = [](CollectionStore* at, const char* id) -> Task<void> {
    (void)co_await at->put(bson::doc("_id", id), Durability::kLocal);
  };
  server.node.start(put(&store, "a"));  // has not had its turn when it is looked for
  const auto found = done(server, store.find(bson::doc("_id", "a")));
  EXPECT_TRUE(found.isOK() && found->has_value());
  for (const char* id : {"b", "c", "d"}) server.node.start(put(&store, id));
  EXPECT_EQ(done(server, store.load(0, 9))->documents.size(), 4u);
}

TEST(CollectionStore, DoesNotTakeAClosedCatalogForAnEmptyCollection) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  ASSERT_TRUE(done(server, store.put(bson::doc("_id", "a"), Durability::kJournaled)).isOK());
  storage::Catalog& catalog = server.server->catalog.unguarded();
  catalog.close();
  EXPECT_EQ(done(server, store.load(0, 10)).status().code(), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_EQ(done(server, store.find(bson::doc("_id", "a"))).status().code(),
            ErrorCode::kInterruptedDueToReplStateChange);
  ASSERT_TRUE(catalog.reload(false).isOK());
  EXPECT_EQ(done(server, store.load(0, 10))->documents.size(), 1u);
}

TEST(CollectionStore, FailsWhereAFaultSiteIsArmed) {
  CommandNode server;
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  const auto put = [&] { return done(server, store.put(bson::doc("_id", "a"), Durability::kJournaled)); };
  ASSERT_TRUE(put().isOK());
  for (const char* site : {"machines.store.write-fails", "machines.store.no-session", "machines.store.flush-fails"}) {
    const auto armed = server.run(bson::doc("configureFailPoint", site, "mode", bson::doc("times", 1)), "admin");
    ASSERT_TRUE(armed["ok"].truthy()) << bson::toRelaxedJson(armed);
    EXPECT_FALSE(put().isOK()) << site;
    EXPECT_TRUE(put().isOK()) << site << " fires once";
  }
  server.run(R"({"configureFailPoint": "machines.store.read-fails", "mode": {"times": 1}})"_json, "admin");
  EXPECT_FALSE(done(server, store.load(0, 4)).isOK());
  EXPECT_TRUE(done(server, store.load(0, 4)).isOK());
  server.run(R"({"configureFailPoint": "machines.store.settling-fails", "mode": {"times": 1}})"_json, "admin");
  EXPECT_FALSE(done(server, store.settle()).isOK());
  EXPECT_TRUE(done(server, store.settle()).isOK());
}

TEST(CollectionStore, HasNoFaultsOnAServerWithoutTestCommands) {
  CommandNode server(CommandNode::Options{.testCommands = false});
  CollectionStore store(server.assembly.storageAccess(), kLeases);
  EXPECT_FALSE(
      server.run(R"({"configureFailPoint": "machines.store.write-fails", "mode": "alwaysOn"})"_json, "admin")["ok"]
          .truthy());
  EXPECT_TRUE(done(server, store.put(bson::doc("_id", "a"), Durability::kJournaled)).isOK());
}

}  // namespace
}  // namespace troupe::machines
