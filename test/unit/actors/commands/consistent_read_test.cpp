// Commands read one catalog and one snapshot that fit together, also while the schema changes (CAT-018, CAT-019,
// RDS-003, RDS-004, RDS-006).
#include "actors/machines/collection_store.hpp"
#include "actors/replication/replica_view.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe::commands {
using namespace server;

using storage::CatalogStep;
using storage::Namespace;

class ConsistentReadTest : public CommandTest {
 protected:
  storage::Catalog& catalog() { return server.server->catalog.unguarded(); }
  ~ConsistentReadTest() override { catalog().observeSteps(nullptr); }

  /// A schema change in the middle of a command, as another connection's thread would make it.
  template <class Body>
  void change(Body&& body) {
    storage::RecoveryUnit unit(server.storageSessions);
    storage::WriteUnitOfWork work(unit);
    const Status status = body(unit);
    ASSERT_TRUE(status.isOK()) << status.toString();
    ASSERT_TRUE(work.commit().isOK());
  }
  void drop(std::string_view name) {
    change([&](auto& unit) { return storage::dropCollection(catalog(), unit, catalog().find({"test", name})); });
  }
  void rename(std::string_view from, std::string_view to) {
    change([&](auto& unit) {
      return storage::renameCollection(catalog(), unit, catalog().find({"test", from}), {"test", to}, false).status();
    });
  }
  /// Another collection takes the name; it holds {_id: 100} alone.
  void replace(std::string_view name) {
    drop(name);
    change([&](auto& unit) -> Status {
      TROUPE_ASSIGN(const auto made, storage::createCollection(catalog(), unit, {"test", name}, {}));
      return made->insert(unit, bson::doc("_id", 100, "x", 1)).status();
    });
  }
  /// Runs `action` when the step is reached for the first time.
  void when(CatalogStep step, std::function<void()> action) {
    auto pending = std::make_shared<bool>(true);
    catalog().observeSteps([=](CatalogStep now) {
      if (now == step && std::exchange(*pending, false)) action();
    });
  }
  static bson::View documents(const bson::Document& reply) {
    const auto batch = reply.view().at("cursor.firstBatch");
    return batch.is(bson::Type::kArray) ? batch.asArray() : bson::View();
  }
};

TEST_F(ConsistentReadTest, ASchemaChangeFallsBeforeOrAfterAReadNeverIntoItsSetUp) {
  const char* reads[] = {
      R"({"find": "c", "sort": {"_id": 1}})",
      R"({"find": "c", "filter": {"_id": {"$gt": 0}}, "batchSize": 10})",
      R"({"aggregate": "c", "pipeline": [{"$match": {"_id": {"$gt": 0}}}], "cursor": {}})",
      R"({"aggregate": "v", "pipeline": [], "cursor": {}})",
  };
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  for (const char* read : reads) {
    for (const auto step : {CatalogStep::kCatalogTaken, CatalogStep::kSnapshotOpened, CatalogStep::kSetUp}) {
      SCOPED_TRACE(std::string(read) + " at step " + std::to_string(static_cast<int>(step)));
      fill("c", 3);
      bool reached = false;
      when(step, [&] {
        reached = true;
        replace("c");
      });
      const bson::Document reply = run(read);
      catalog().observeSteps(nullptr);
      ASSERT_TRUE(reached);
      ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
      EXPECT_EQ(documents(reply).count(), step == CatalogStep::kSetUp ? 3u : 1u);
      drop("c");
    }
  }
}

TEST_F(ConsistentReadTest, APointReadFitsASchemaChangeInItsSetUp) {
  for (const auto step : {CatalogStep::kCatalogTaken, CatalogStep::kSnapshotOpened, CatalogStep::kSetUp}) {
    fill("c", 3);
    when(step, [&] { replace("c"); });
    EXPECT_EQ(batch(R"({"find": "c", "filter": {"_id": 1}, "limit": 1, "singleBatch": true})").size(),
              step == CatalogStep::kSetUp ? 1u : 0u);
    catalog().observeSteps(nullptr);
    drop("c");
  }
}

TEST_F(ConsistentReadTest, CountsAndDistinctValuesFitASchemaChangeInTheirSetUp) {
  for (const auto step : {CatalogStep::kCatalogTaken, CatalogStep::kSnapshotOpened, CatalogStep::kSetUp}) {
    const int64_t documents = step == CatalogStep::kSetUp ? 3 : 1;
    fill("c", 3);
    when(step, [&] { replace("c"); });
    EXPECT_EQ(run(R"({"count": "c", "query": {"_id": {"$gt": 0}}})")["n"].toInt64(), documents);
    catalog().observeSteps(nullptr);
    drop("c");
    fill("c", 3);
    when(step, [&] { replace("c"); });
    EXPECT_EQ(run(R"({"distinct": "c", "key": "_id"})")["values"].asArray().count(), static_cast<size_t>(documents));
    catalog().observeSteps(nullptr);
    drop("c");
  }
}

/// Between the commit in storage and the publication of the catalog a reader sees what its snapshot sees.
TEST_F(ConsistentReadTest, AReadDuringAPublicationFitsItsOwnSnapshot) {
  fill("c", 3);
  const auto counts = [&] {
    return std::pair(batch(R"({"find": "c"})").size(), batch(R"({"find": "d", "filter": {"x": {"$gt": 0}}})").size());
  };
  std::vector<std::pair<size_t, size_t>> seen;
  bool reading = false;
  catalog().observeSteps([&](CatalogStep step) {
    if (reading || (step != CatalogStep::kMarked && step != CatalogStep::kCommitted)) return;
    reading = true;
    seen.push_back(counts());
    reading = false;
  });
  rename("c", "d");
  catalog().observeSteps(nullptr);
  using Seen = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(seen, (Seen{{3, 0}, {0, 3}}));
  EXPECT_EQ(counts(), std::pair(size_t{0}, size_t{3}));
}

TEST_F(ConsistentReadTest, AllPartsOfAPipelineReadOneCatalogAndOneSnapshot) {
  const char* pipelines[] = {
      R"([{"$lookup": {"from": "b", "localField": "_id", "foreignField": "_id", "as": "there"}},
          {"$match": {"there._id": {"$exists": true}}}])",
      R"([{"$lookup": {"from": "b", "let": {"i": "$_id"}, "as": "there",
                       "pipeline": [{"$match": {"$expr": {"$eq": ["$_id", "$$i"]}}}]}},
          {"$match": {"there._id": {"$exists": true}}}])",
      R"([{"$match": {"_id": 0}}, {"$unionWith": "b"}])",
      R"([{"$match": {"_id": 0}}, {"$unionWith": "view"}])",
      R"([{"$graphLookup": {"from": "b", "startWith": "$_id", "connectFromField": "none", "connectToField": "_id",
                            "as": "there"}}, {"$match": {"there._id": {"$exists": true}}}])",
  };
  fill("a", 3);
  ASSERT_TRUE(succeeds(R"({"create": "view", "viewOn": "b", "pipeline": []})"));
  for (const char* pipeline : pipelines) {
    SCOPED_TRACE(pipeline);
    fill("b", 3);
    bool reached = false;
    when(CatalogStep::kSetUp, [&] {
      reached = true;
      replace("b");
    });
    const auto found = batch(R"({"aggregate": "a", "cursor": {}, "pipeline": )" + std::string(pipeline) + "}");
    catalog().observeSteps(nullptr);
    ASSERT_TRUE(reached);
    EXPECT_EQ(found.size(), 3u) << "as it was when the pipeline began";
    drop("b");
  }
}

TEST_F(ConsistentReadTest, SourcesThatShowTheCatalogShowThatOfTheirPipeline) {
  const std::pair<const char*, const char*> reads[] = {
      {R"({"aggregate": "a", "cursor": {}, "pipeline": [{"$match": {"_id": 0}},
           {"$unionWith": {"coll": "b", "pipeline": [{"$indexStats": {}}]}}, {"$match": {"name": "x"}}]})",
       "test"},
      {R"({"aggregate": "a", "cursor": {}, "pipeline": [{"$match": {"_id": 0}},
           {"$unionWith": {"coll": "b", "pipeline": [{"$listCatalog": {}}]}}, {"$match": {"md.indexes.spec.name": "x"}}]})",
       "test"},
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listCatalog": {}}, {"$match": {"md.indexes.spec.name": "x"}}]})",
       "admin"},
  };
  fill("a", 1);
  for (const auto& [read, db] : reads) {
    SCOPED_TRACE(read);
    fill("b", 3);
    ASSERT_TRUE(succeeds(R"({"createIndexes": "b", "indexes": [{"key": {"x": 1}, "name": "x"}]})"));
    bool reached = false;
    when(CatalogStep::kSetUp, [&] {
      reached = true;
      replace("b");
    });
    EXPECT_EQ(batch(read, db).size(), 1u) << "the index was there when the pipeline began";
    catalog().observeSteps(nullptr);
    ASSERT_TRUE(reached);
    drop("b");
  }
}

TEST_F(ConsistentReadTest, AValidationBesideWritesFitsASchemaChangeInItsSetUp) {
  for (const auto step : {CatalogStep::kCatalogTaken, CatalogStep::kSnapshotOpened, CatalogStep::kSetUp}) {
    SCOPED_TRACE(static_cast<int>(step));
    fill("c", 3);
    ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})"));
    bool reached = false;
    when(step, [&] {
      reached = true;
      change([&](auto& unit) {
        return storage::dropIndexes(catalog(), unit, catalog().find({"test", "c"}), {"x"}).status();
      });
      change([&](auto& unit) {
        return catalog().find({"test", "c"})->insert(unit, bson::doc("_id", 9, "x", 9)).status();
      });
    });
    const bson::Document reply = run(R"({"validate": "c", "background": true})");
    catalog().observeSteps(nullptr);
    ASSERT_TRUE(reached);
    EXPECT_TRUE(holds(reply, R"({"ok": 1, "valid": true})"_json));
    const bool before = step == CatalogStep::kSetUp;
    EXPECT_EQ(reply["nrecords"].toInt64(), before ? 3 : 4);
    EXPECT_EQ(reply["nIndexes"].toInt64(), before ? 2 : 1);
    drop("c");
  }
}

TEST_F(ConsistentReadTest, AScanEndsWhenItsCollectionIsDroppedOrRenamedBetweenBatches) {
  for (const bool dropped : {true, false}) {
    fill("a", 3);
    fill("b", 5);
    const bson::Document first =
        run(R"({"aggregate": "a", "pipeline": [{"$unionWith": "b"}], "cursor": {"batchSize": 4}})");
    ASSERT_EQ(documents(first).count(), 4u);
    if (dropped) drop("b");
    else rename("b", "z");
    const bson::Document next =
        server.run(bson::doc("getMore", first.view().at("cursor.id").toInt64(), "collection", "a"));
    EXPECT_EQ(next["code"].toInt64(), 175) << bson::toRelaxedJson(next);
    drop("a");
  }
}

// RDS-006
TEST_F(ConsistentReadTest, ADigestIsOfTheCollectionsOfItsSnapshot) {
  fill("a", 3);
  const auto digest = [&] {
    const bson::Document reply = run(R"({"dbHash": 1})");
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return std::string(reply["md5"].toStringOr());
  };
  const std::string before = digest();
  when(CatalogStep::kSetUp, [&] { replace("a"); });
  EXPECT_EQ(digest(), before);
  catalog().observeSteps(nullptr);
  EXPECT_NE(digest(), before) << "another one has taken its place";
}

/// A long scan gives way; the schema changes before it has its next snapshot.
TEST_F(ConsistentReadTest, ALongScanThatGivesWayEndsWithADefinedErrorWhenItsCollectionGoes) {
  for (const bool dropped : {true, false}) {
    fill("c", 1000);
    int setUps = 0;
    catalog().observeSteps([&](CatalogStep step) {
      if (step == CatalogStep::kSetUp) server.time->advance(1s);  // its slice is over at its next look at the clock
      if (step != CatalogStep::kCatalogTaken || ++setUps != 2) return;
      if (dropped) drop("c");
      else rename("c", "z");
    });
    const bson::Document reply = run(R"({"find": "c", "filter": {"x": -1}})");
    catalog().observeSteps(nullptr);
    EXPECT_GE(setUps, 2) << "it has not given way";
    EXPECT_EQ(reply["code"].toInt64(), 175) << bson::toRelaxedJson(reply);
    if (!dropped) drop("z");
  }
}

class ReplicatedReadTest : public ConsistentReadTest {
 protected:
  ~ReplicatedReadTest() override { join(nullptr); }
  void join(replication::Membership* membership) {
    server.server->membership = membership;
    server.server->operations.node = membership;
  }
  void becomes(replication::Topology::Phase phase, bool rollingBack = false) {
    replication::ReplicaView view;
    view.topology.memory.phase = phase;
    view.topology.memory.rollingBack = rollingBack;
    view.topology.memory.term = ++term_;
    membership_.publish(std::move(view));
  }
  using Phase = replication::Topology::Phase;
  replication::Membership membership_{"rs", "n1:1"};
  int64_t term_ = 0;
};

TEST_F(ReplicatedReadTest, AStepDownDuringSetUpIsNotOverlooked) {
  fill("c", 3);
  join(&membership_);
  for (const auto step : {CatalogStep::kCatalogTaken, CatalogStep::kSnapshotOpened}) {
    for (const char* read :
         {R"({"find": "c"})", R"({"find": "c", "filter": {"_id": 1}})",
          R"({"aggregate": "c", "pipeline": [], "cursor": {}})", R"({"count": "c"})",
          R"({"distinct": "c", "key": "x"})", R"({"validate": "c", "background": true})", R"({"dbHash": 1})"}) {
      becomes(Phase::kPrimary);
      when(step, [&] { becomes(Phase::kFollower); });
      EXPECT_EQ(code(read), 13435) << read;
      becomes(Phase::kPrimary);
      when(step, [&] { becomes(Phase::kFollower); });
      const auto willing = with(read, R"({"$readPreference": {"mode": "secondaryPreferred"}})"_json);
      EXPECT_TRUE(server.run(willing)["ok"].truthy()) << "it reads from secondaries too";
    }
  }
  catalog().observeSteps(nullptr);
}

// RBK-002, REP-063.
TEST_F(ReplicatedReadTest, AMemberThatRollsBackAndAnArbiterReadForNobody) {
  fill("c", 3);
  join(&membership_);
  for (const bool rollsBack : {true, false}) {
    becomes(Phase::kFollower);
    const bson::Document cursor = run(R"({"find": "c", "batchSize": 1, "$readPreference": {"mode": "nearest"}})");
    ASSERT_TRUE(cursor["ok"].truthy()) << bson::toRelaxedJson(cursor);
    rollsBack ? becomes(Phase::kFollower, true) : becomes(Phase::kArbiter);
    for (const char* mode : {"primary", "nearest", "secondary", "secondaryPreferred", "primaryPreferred"}) {
      const auto asked = server.begin(with(R"({"find": "c"})", bson::doc("$readPreference", bson::doc("mode", mode))));
      ASSERT_TRUE(asked->done) << mode;
      const bson::Document reply = asked->takeReply();
      EXPECT_EQ(reply["code"].toInt64(), 13436) << mode;
      EXPECT_EQ(reply["codeName"].toStringOr(), "NotPrimaryOrSecondary");
    }
    EXPECT_EQ(
        server.run(bson::doc("getMore", cursor.view().at("cursor.id").toInt64(), "collection", "c"))["code"].toInt64(),
        13436);
    EXPECT_EQ(code(R"({"find": "l"})", "local"), 0);
  }
  join(nullptr);
  server.server->cursors.killIf([](const ClientCursor&) { return true; });
}

/// The database of the command says nothing of what it reads and writes.
TEST_F(ReplicatedReadTest, TheRoleIsCheckedForEachNamespace) {
  fill("c", 3);
  const std::string join = R"({"$lookup": {"from": {"db": "test", "coll": "c"}, "pipeline": [], "as": "all"}})";
  ASSERT_TRUE(succeeds(R"({"insert": "l", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})", "local"));
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "l", "pipeline": [)" + join + "]}", "local"));
  this->join(&membership_);
  const std::string reads[] = {R"({"aggregate": "l", "cursor": {"batchSize": 1}, "pipeline": [)" + join + "]}",
                               R"({"find": "v", "batchSize": 1})",
                               R"({"aggregate": "l", "cursor": {"batchSize": 1}, "pipeline": [
                                   {"$lookup": {"from": "v", "pipeline": [], "as": "views"}}]})"};
  for (const std::string& read : reads) {
    becomes(Phase::kFollower);
    EXPECT_EQ(code(read, "local"), 13435) << read;
    EXPECT_TRUE(server.run(with(read, R"({"$readPreference": {"mode": "nearest"}})"_json), "local")["ok"].truthy());
    becomes(Phase::kPrimary);
    const bson::Document first = run(read, "local");
    ASSERT_TRUE(first["ok"].truthy()) << bson::toRelaxedJson(first);
    becomes(Phase::kFollower);
    const auto ns = std::string(first.view().at("cursor.ns").toStringOr());
    EXPECT_EQ(server
                  .run(bson::doc("getMore", first.view().at("cursor.id").toInt64(), "collection",
                                 ns.substr(ns.find('.') + 1)),
                       "local")["code"]
                  .toInt64(),
              13435)
        << read;
  }
  EXPECT_EQ(code(R"({"dataSize": "test.c"})", "local"), 13435);
  EXPECT_EQ(code(R"({"dataSize": "local.l"})", "local"), 0);
  EXPECT_EQ(code(R"({"find": "l"})", "local"), 0);
  this->join(nullptr);
  server.server->cursors.killIf([](const ClientCursor&) { return true; });
}

TEST_F(ReplicatedReadTest, AGetMoreThatWaitedThroughAStepDownServesNoBatchInTheNewRole) {
  fill("c", 10);
  join(&membership_);
  for (const bool willing : {false, true}) {
    becomes(Phase::kPrimary);
    const auto found = run(R"({"find": "c", "batchSize": 2})");
    bson::Builder command;
    command.append("getMore", found.view().at("cursor.id").toInt64()).append("collection", "c");
    if (willing) command.append("$readPreference", bson::doc("mode", "secondaryPreferred"));
    storage::Locker transition(server.locks);
    ASSERT_TRUE(transition.tryAcquire(storage::ResourceId::stateTransition(), storage::LockMode::kX));
    const auto more = server.begin(command.finish());
    server.node.run();
    ASSERT_FALSE(more->done);
    becomes(Phase::kFollower);
    transition.releaseAll();
    server.node.run();
    ASSERT_TRUE(more->done);
    const bson::Document reply = more->takeReply();
    EXPECT_EQ(reply["code"].toInt64(), willing ? 0 : 13435) << bson::toRelaxedJson(reply);
    EXPECT_EQ(server.cursors.statistics().open, 0);
  }
}

TEST_F(ReplicatedReadTest, SetsUpAgainWhenTheRoleChangesAndNotForAnythingElse) {
  fill("c", 3);
  join(&membership_);
  becomes(Phase::kPrimary);
  const bson::Document willing = R"({"$readPreference": {"mode": "nearest"}})"_json;
  const auto countSetUps = [&](const bson::Document& command, std::function<void()> meanwhile) {
    int opened = 0;
    catalog().observeSteps([&opened, meanwhile](CatalogStep step) {
      if (step == CatalogStep::kSnapshotOpened && ++opened == 1) meanwhile();
    });
    const bson::Document reply = server.run(command);
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    catalog().observeSteps(nullptr);
    return opened;
  };
  const std::map<std::string, std::function<bson::Document()>> reads = {
      {"find", [&] { return with(R"({"find": "c"})", willing); }},
      {"validate", [&] { return with(R"({"validate": "c", "background": true})", willing); }},
      {"getMore", [&] {  // a plan that goes on
         const auto begun = server.run(with(R"({"find": "c", "batchSize": 1})", willing));
         bson::Builder more;
         more.append("getMore", begun.view().at("cursor.id").toInt64()).append("collection", "c");
         return more.appendAll(willing).finish();
       }}};
  for (const auto& [name, read] : reads) {
    becomes(Phase::kPrimary);
    EXPECT_EQ(countSetUps(read(), [&] { becomes(Phase::kFollower); }), 2) << name;
    EXPECT_EQ(countSetUps(read(), [&] { membership_.publish(*membership_.view()); }), 1) << "a heartbeat, " << name;
    EXPECT_EQ(countSetUps(read(), [&] { becomes(Phase::kFollower); }), 2) << "a later term, " << name;
  }
}

/// A member that knows its own role, as the daemon's does.
class MemberReadTest : public CommandTest {
 protected:
  MemberReadTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}
  ~MemberReadTest() override { server.catalog->observeSteps(nullptr); }
};

// RDS-004
TEST_F(MemberReadTest, AReadNoticesTheStepDownOfItsNodeDuringSetUp) {
  becomePrimary(server);
  machines::CollectionStore store(server.assembly.storageAccess(), Namespace("config", "things"));
  store.serveIn(termOf(server));
  ASSERT_TRUE(machines::done(server, store.put(bson::doc("_id", 1), machines::Durability::kLocal)).isOK());
  const auto isWritable = [&] { return server.assembly.membership()->view()->isWritable(); };
  for (const bool willing : {false, true}) {
    untilPrimary(server);
    int setUps = 0;
    bool steppingDown = false;
    server.catalog->observeSteps([&](CatalogStep step) {
      if (steppingDown || step != CatalogStep::kSnapshotOpened || ++setUps > 1) return;
      steppingDown = true;  // it reads, too
      server.begin(R"({"replSetStepDown": 10, "force": true})"_json, "admin", server.connect());
      EXPECT_FALSE(isWritable());
      steppingDown = false;
    });
    const std::string preference = willing ? R"(, "$readPreference": {"mode": "nearest"})" : "";
    const bson::Document reply = run(R"({"find": "things")" + preference + "}", "config");
    server.catalog->observeSteps(nullptr);
    EXPECT_EQ(setUps, 2);
    EXPECT_EQ(reply["code"].toInt64(), willing ? 0 : 13435) << bson::toRelaxedJson(reply);
  }
}

}  // namespace troupe::commands
