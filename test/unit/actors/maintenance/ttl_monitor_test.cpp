#include "actors/maintenance/ttl_monitor.hpp"

#include "actors/machines/collection_store.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using commands::CommandNode;

class TtlMonitorTest : public commands::CommandTest {
 protected:
  TtlMonitorTest() = default;
  explicit TtlMonitorTest(CommandNode::Options options) : CommandTest(std::move(options)) {}

  /// Documents {_id: 1..count, at: `secondsAgo`, other: `secondsAgo`}.
  void fillAt(std::string_view collection, int count, int64_t secondsAgo) {
    bson::Builder b;
    b.append("insert", collection).openArray("documents");
    const bson::Date at{server.wallMillis() - secondsAgo * 1000};
    for (int i = 1; i <= count; ++i) b.push(bson::doc("_id", i, "at", at, "other", at));
    b.close();
    ASSERT_TRUE(server.run(b.finish())["ok"].truthy());
  }
  void add(std::string_view collection, const bson::Document& document) {
    const bson::Document command =
        bson::Builder().append("insert", collection).openArray("documents").push(document).close().finish();
    ASSERT_TRUE(server.run(command)["ok"].truthy());
  }
  void index(std::string_view collection, std::string_view key, int64_t seconds, std::string_view more = "{}") {
    const bson::Document spec = bson::Builder()
                                    .append("key", parse(key))
                                    .append("name", "ttl")
                                    .append("expireAfterSeconds", seconds)
                                    .appendAll(parse(more))
                                    .finish();
    const bson::Document command =
        bson::Builder().append("createIndexes", collection).openArray("indexes").push(spec).close().finish();
    const bson::Document reply = server.run(command);
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
  bson::Date ago(int64_t seconds) const { return {server.wallMillis() - seconds * 1000}; }
  int64_t count(std::string_view collection) { return server.run(bson::doc("count", collection))["n"].toInt64(); }
  std::vector<std::string> ids(std::string_view collection) {
    return batch(R"({"find": ")" + std::string(collection) + R"(", "projection": {"_id": 1}, "sort": {"_id": 1}})");
  }
  bson::Document metrics() {
    return bson::Document(run(R"({"serverStatus": 1})", "admin").view().at("metrics.ttl").asDocument());
  }
  void set(std::string_view parameter, const bson::Value& value) {
    ASSERT_TRUE(server.run(bson::doc("setParameter", 1, parameter, value), "admin")["ok"].truthy());
  }
  int64_t left(std::string_view collection) {
    return server.catalog->find(storage::Namespace("test", collection))->records().count();
  }
  struct Pace {
    int64_t lead = 0;  ///< how far the removal from one collection was ahead of that from the other
    int64_t step = 0;  ///< documents removed at once
    bool operator==(const Pace&) const = default;
  };
  friend std::ostream& operator<<(std::ostream& out, const Pace& pace) {
    return out << "lead " << pace.lead << ", step " << pace.step;
  }
  /// The largest of both while 35 expired documents are removed from each of two collections.
  Pace paceOfTwo() {
    for (const char* collection : {"c", "d"}) {
      fillAt(collection, 35, 100);
      index(collection, R"({"at": 1})", 0);
    }
    server.node.advance(59s);
    Pace largest;
    for (int turns = 0; left("c") + left("d") > 0 && turns < 10'000; ++turns) {
      const int64_t before = left("c") + left("d");
      if (!server.node.step()) server.time->advance(10ms);
      largest.lead = std::max(largest.lead, std::abs(left("c") - left("d")));
      largest.step = std::max(largest.step, before - left("c") - left("d"));
    }
    EXPECT_EQ(left("c") + left("d"), 0);
    server.node.run();
    return largest;
  }
  /// What currentOp shows of the turn that runs.
  bson::Document shownTurn() {
    const bson::Document seen = run(R"({"currentOp": 1, "desc": "TTLMonitor"})", "admin");
    EXPECT_EQ(seen["inprog"].asArray().count(), 1u) << bson::toRelaxedJson(seen);
    const auto row = seen.view().at("inprog.0");
    return row.ok() ? bson::Document(row.asDocument()) : bson::Document();
  }
  int64_t admitted(storage::AdmissionPriority priority) {
    return server.admission.write().statistics(priority).startedProcessing;
  }
  /// Waits for the end of the next pass; the wall clock by then, in milliseconds, at most 100 late.
  int64_t endOfNextPass() {
    const int64_t passes = metrics()["passes"].toInt64();
    for (int steps = 0; metrics()["passes"].toInt64() == passes && steps < 700; ++steps) server.node.advance(100ms);
    return server.wallMillis();
  }
  /// Until the next pass has ended.
  void nextPass() {
    const int64_t passes = metrics()["passes"].toInt64();
    for (int seconds = 0; metrics()["passes"].toInt64() == passes; ++seconds) {
      ASSERT_LT(seconds, 62);
      server.node.advance(1s);
    }
  }
};

TEST_F(TtlMonitorTest, RemovesWhatHasExpiredEachMinute) {
  index("c", R"({"at": 1})", 100);
  add("c", bson::doc("_id", 1, "at", ago(200)));
  add("c", bson::doc("_id", 2, "at", ago(100)));
  add("c", bson::doc("_id", 3, "at", ago(10)));
  server.node.advance(58s);
  EXPECT_EQ(count("c"), 3) << "the first pass begins after a minute";
  server.node.advance(4s);
  EXPECT_EQ(ids("c"), (std::vector<std::string>{R"({ "_id" : 3 })"}));
  server.node.advance(60s);
  EXPECT_EQ(count("c"), 0);
  EXPECT_TRUE(commands::holds(metrics(), parse(R"({"deletedDocuments": 3, "passes": 2, "subPasses": 2})")));
  EXPECT_TRUE(answers(R"({"validate": "c", "full": true})", R"({"valid": true})"));
}

TEST_F(TtlMonitorTest, WhatIsASecondPastItsLifetimeGoesAndWhatIsASecondShortOfItStays) {
  index("c", R"({"at": 1})", 100);
  index("d", R"({"at": -1})", 100);
  ASSERT_TRUE(
      succeeds(R"({"create": "k", "clusteredIndex": {"key": {"_id": 1}, "unique": true}, "expireAfterSeconds": 100})"));
  const int64_t pass = endOfNextPass() + 60'000;  // on virtual time a pass takes none
  const bson::Date gone{pass - 101'000}, stays{pass - 99'000};
  for (const bson::Date& at : {gone, stays}) {
    add("c", bson::doc("_id", at, "at", at));
    add("d", bson::doc("_id", at, "at", at));
    add("k", bson::doc("_id", at));
  }
  EXPECT_NEAR(static_cast<double>(endOfNextPass()), static_cast<double>(pass), 300);
  for (const char* collection : {"c", "d", "k"}) {
    EXPECT_EQ(left(collection), 1) << collection;
    const auto kept = server.run(bson::doc("count", collection, "query", bson::doc("_id", stays)));
    EXPECT_EQ(kept["n"].toInt64(), 1) << collection;
  }
}

TEST_F(TtlMonitorTest, OfArraysTheEarliestDateCountsAndWhatIsNoDateStays) {
  for (const std::string_view key : {R"({"at": 1})", R"({"at": -1})"}) {
    index("c", key, 100);
    add("c", bson::doc("_id", 1, "at", bson::array(ago(10), ago(200), ago(300))));
    add("c", bson::doc("_id", 2, "at", bson::array("x", ago(10))));
    add("c", bson::doc("_id", 3, "at", "1970-01-01"));
    add("c", bson::doc("_id", 4, "at", 0));
    add("c", bson::doc("_id", 5, "at", bson::Timestamp{1, 1}));
    add("c", bson::doc("_id", 6));
    add("c", bson::doc("_id", 7, "at", ago(-1'000'000)));
    add("c", bson::doc("_id", 8, "at", bson::Date{std::numeric_limits<int64_t>::min()}));
    nextPass();
    EXPECT_EQ(ids("c").size(), 6u) << key;
    EXPECT_EQ(ids("c").front(), R"({ "_id" : 2 })") << key;
    ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  }
}

TEST_F(TtlMonitorTest, SparsePartialAndHiddenIndexesExpireWhatTheyHold) {
  index("partial", R"({"at": 1})", 0, R"({"partialFilterExpression": {"gone": true}, "hidden": true})");
  index("sparse", R"({"at": 1})", 0, R"({"sparse": true})");
  for (const char* collection : {"partial", "sparse"}) {
    add(collection, bson::doc("_id", 1, "at", ago(5), "gone", true));
    add(collection, bson::doc("_id", 2, "at", ago(5), "gone", false));
    add(collection, bson::doc("_id", 3, "gone", true));
  }
  nextPass();
  EXPECT_EQ(ids("partial"), (std::vector<std::string>{R"({ "_id" : 2 })", R"({ "_id" : 3 })"}));
  EXPECT_EQ(ids("sparse"), (std::vector<std::string>{R"({ "_id" : 3 })"}));
}

/// Its keys are hashes, which are no dates.
TEST_F(TtlMonitorTest, AHashedIndexExpiresNothing) {
  index("c", R"({"at": "hashed"})", 0);
  fillAt("c", 3, 100);
  nextPass();
  EXPECT_EQ(count("c"), 3);
}

TEST_F(TtlMonitorTest, ClusteredCollectionsExpireByTheirKey) {
  ASSERT_TRUE(
      succeeds(R"({"create": "k", "clusteredIndex": {"key": {"_id": 1}, "unique": true}, "expireAfterSeconds": 100})"));
  add("k", bson::doc("_id", ago(200)));
  add("k", bson::doc("_id", ago(300)));
  add("k", bson::doc("_id", ago(-1000)));
  add("k", bson::doc("_id", 1));
  add("k", bson::doc("_id", "late"));
  ASSERT_TRUE(succeeds(R"({"collMod": "k", "expireAfterSeconds": "off"})"));
  nextPass();
  EXPECT_EQ(count("k"), 5);
  ASSERT_TRUE(succeeds(R"({"collMod": "k", "expireAfterSeconds": 100})"));
  nextPass();
  EXPECT_EQ(count("k"), 3);
}

TEST_F(TtlMonitorTest, ACollModTakesEffectInTheNextPass) {
  fillAt("c", 3, 50);
  index("c", R"({"at": 1})", 100'000);
  nextPass();
  EXPECT_EQ(count("c"), 3);
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "ttl", "expireAfterSeconds": 10}})"));
  nextPass();
  EXPECT_EQ(count("c"), 0);
  EXPECT_EQ(code(R"({"collMod": "c", "index": {"name": "ttl", "expireAfterSeconds": {"$numberDouble": "NaN"}}})"), 72);
}

TEST_F(TtlMonitorTest, CanBeSwitchedOffAndItsPauseChanged) {
  index("c", R"({"at": 1})", 0);
  fillAt("c", 3, 5);
  set("ttlMonitorEnabled", bson::Value(false));
  server.node.advance(300s);
  EXPECT_EQ(count("c"), 3);
  set("ttlMonitorSleepSecs", bson::Value(1000));
  set("ttlMonitorEnabled", bson::Value(true));
  server.node.advance(600s);
  EXPECT_EQ(count("c"), 3);
  set("ttlMonitorSleepSecs", bson::Value(1));
  server.node.advance(2s);
  EXPECT_EQ(count("c"), 0);
}

TEST_F(TtlMonitorTest, TwoIndexesTakeTurns) {
  set("ttlIndexDeleteTargetDocs", bson::Value(10));
  EXPECT_EQ(paceOfTwo(), (Pace{.lead = 10, .step = 10}));
  EXPECT_TRUE(commands::holds(metrics(), parse(R"({"deletedDocuments": 70, "passes": 1, "subPasses": 1})")));
}

TEST_F(TtlMonitorTest, ATurnThatHasTakenItsTimeEnds) {
  for (const char* collection : {"c", "d"}) {
    fillAt(collection, 300, 100);
    index(collection, R"({"at": 1})", 0);
  }
  LockHolder first(server.locks, "test.c", storage::LockMode::kX),
      second(server.locks, "test.d", storage::LockMode::kX);
  server.node.advance(63s);
  first.release();
  second.release();
  int64_t lead = 0;
  for (int turns = 0; left("c") + left("d") > 0 && turns < 10'000; ++turns) {
    if (!server.node.step()) server.time->advance(10ms);
    lead = std::max(lead, std::abs(left("c") - left("d")));
  }
  EXPECT_EQ(left("c") + left("d"), 0);
  EXPECT_LT(lead, 300) << "the turn that waited for its lock ended with its first batch";
  server.node.run();
}

TEST_F(TtlMonitorTest, LargeDocumentsAndLongArraysOfDatesAreRemovedInPieces) {
  index("c", R"({"at": 1})", 0);
  const std::string text(1024 * 1024, 'x');
  for (int i = 0; i < 10; ++i) add("c", bson::doc("_id", i, "at", ago(100), "text", text));
  bson::Builder many;
  many.append("_id", "many").openArray("at");
  for (int i = 0; i < 20'000; ++i) many.push(ago(1000 + i));
  add("c", many.close().finish());
  const auto collection = server.server->catalog.unguarded().find(storage::Namespace("test", "c"));
  const auto rule = query::expiryRules(*server.server->catalog.unguarded().snapshot()).at(0);
  storage::RecoveryUnit unit(server.storageSessions);
  std::vector<size_t> pieces;
  for (query::Expired removed{.documents = 0, .areMore = true}; removed.areMore;) {
    storage::WriteUnitOfWork work(unit);
    const auto outcome =
        query::removeExpired(unit, *query::findExpiry(*server.server->catalog.unguarded().snapshot(), rule),
                             bson::Date{server.wallMillis()}, 100);
    ASSERT_TRUE(outcome.isOK()) << outcome.status().toString();
    removed = *outcome;
    ASSERT_TRUE(work.commit().isOK());
    pieces.push_back(removed.documents);
  }
  EXPECT_EQ(pieces, (std::vector<size_t>{1, 4, 4, 2}));
  EXPECT_EQ(left("c"), 0);
}

TEST_F(TtlMonitorTest, WithoutBatchesOneIndexIsBroughtToItsEndBeforeTheNext) {
  set("ttlMonitorBatchDeletes", bson::Value(false));
  set("ttlIndexDeleteTargetDocs", bson::Value(10));
  EXPECT_EQ(paceOfTwo(), (Pace{.lead = 35, .step = 1}));
  EXPECT_EQ(metrics()["deletedDocuments"].toInt64(), 70);
}

TEST_F(TtlMonitorTest, AnIndexThatIsMadeDuringAPassBelongsToItsNextSubpass) {
  set("ttlIndexDeleteTargetDocs", bson::Value(1));
  set("ttlMonitorSubPassTargetSecs", bson::Value(1));
  fillAt("c", 1000, 100);
  fillAt("d", 10, 100);
  index("c", R"({"at": 1})", 0);
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  server.node.advance(62s);
  index("d", R"({"at": 1})", 0);
  holder.release();
  server.node.advance(5s);
  EXPECT_EQ(left("c") + left("d"), 0);
  EXPECT_TRUE(commands::holds(metrics(), parse(R"({"deletedDocuments": 1010, "passes": 1, "subPasses": 2})")));
}

TEST_F(TtlMonitorTest, AnOperatorSeesATurnAndEndsItAndTheRestWaitsForTheNextPass) {
  fillAt("c", 300, 100);
  index("c", R"({"at": 1})", 0);
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  server.node.advance(62s);
  const bson::Document seen = shownTurn();
  EXPECT_TRUE(commands::holds(seen, parse(R"({"ns": "test.c", "waitingForLock": true, "admissionPriority": "low"})")));
  ASSERT_TRUE(server.run(bson::doc("killOp", 1, "op", seen["opid"].toInt64()), "admin")["ok"].truthy());
  server.node.advance(1s);
  EXPECT_EQ(metrics()["passes"].toInt64(), 1);
  holder.release();
  EXPECT_EQ(left("c"), 300);
  nextPass();
  EXPECT_EQ(left("c"), 0);
}

// LCK-010, TTL-007
TEST_F(TtlMonitorTest, WhatLagsBehindIsAdmittedWithNormalPriority) {
  using storage::AdmissionPriority;
  set("ttlCollLowPrioritySubpassLimit", bson::Value(1));
  set("ttlMonitorSubPassTargetSecs", bson::Value(1));
  set("ttlIndexDeleteTargetDocs", bson::Value(10));
  fillAt("c", 30, 100);
  index("c", R"({"at": 1})", 0);
  LockHolder first(server.locks, "test.c", storage::LockMode::kX);
  server.node.advance(63s);
  EXPECT_EQ(shownTurn()["admissionPriority"].asString(), "low");
  LockHolder second(server.locks, "test.c", storage::LockMode::kX);
  first.release();
  server.node.run();
  EXPECT_EQ(left("c"), 20) << "the subpass was over when its first turn had its lock";
  EXPECT_EQ(shownTurn()["admissionPriority"].asString(), "normal");
  const int64_t low = admitted(AdmissionPriority::kLow), normal = admitted(AdmissionPriority::kNormal);
  second.release();
  server.node.run();
  EXPECT_EQ(left("c"), 0);
  EXPECT_EQ(admitted(AdmissionPriority::kLow), low);
  EXPECT_GE(admitted(AdmissionPriority::kNormal), normal + 2) << "a ticket for each batch";
}

/// What is left of `c`, under the name `in`, when the rule of its turn was changed while that waited for its lock: 300
/// documents had expired, of which the turn removes 128 before the change where it came first.
struct ChangeOfRule {
  const char* command;
  const char* db;
  const char* in;
  int64_t before, behind;  ///< left where the change waited before, or behind the turn
};
constexpr ChangeOfRule kChangesOfRules[] = {
    {R"({"collMod": "c", "index": {"name": "ttl", "expireAfterSeconds": 1000}})", "test", "c", 300, 172},
    {R"({"dropIndexes": "c", "index": "ttl"})", "test", "c", 300, 172},
    {R"({"createIndexes": "c", "indexes": [{"key": {"other": 1}, "name": "other_1"}]})", "test", "c", 0, 0},
    {R"({"renameCollection": "test.c", "to": "test.d"})", "admin", "d", 0, 0},
};

class TtlRuleTest : public TtlMonitorTest {
 protected:
  /// Holds a turn over 300 documents of `c` up until `command` waits for the same lock, and lets both go.
  void changeDuringATurn(const char* command, const char* db, bool changeComesFirst) {
    fillAt("c", 300, 100);
    index("c", R"({"at": 1})", 0);
    LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
    std::shared_ptr<commands::Exchange> change;
    const auto begin = [&] { change = server.begin(parse(command), db, server.connect()); };
    if (changeComesFirst) begin();
    server.node.advance(62s);
    EXPECT_TRUE(shownTurn()["waitingForLock"].truthy());
    if (!changeComesFirst) begin();
    EXPECT_FALSE(change->done);
    holder.release();
    server.node.advance(10s);
    ASSERT_TRUE(change->done);
    const bson::Document reply = change->takeReply();
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
};

TEST_F(TtlRuleTest, ATurnGoesByTheRuleAsItIsWhenItHasItsLock) {
  for (const bool changeComesFirst : {true, false}) {
    for (const ChangeOfRule& change : kChangesOfRules) {
      SCOPED_TRACE(std::string(change.command) + (changeComesFirst ? ", before the turn" : ", behind it"));
      changeDuringATurn(change.command, change.db, changeComesFirst);
      EXPECT_EQ(left(change.in), changeComesFirst ? change.before : change.behind);
      const bson::Document checked = server.run(bson::doc("validate", change.in, "full", true));
      EXPECT_TRUE(checked["valid"].truthy()) << bson::toRelaxedJson(checked);
      ASSERT_TRUE(server.run(bson::doc("drop", change.in))["ok"].truthy());
    }
  }
}

TEST_F(TtlRuleTest, ATurnWhoseCollectionWasDroppedRemovesNothing) {
  for (const bool changeComesFirst : {true, false}) {
    const int64_t removed = metrics()["deletedDocuments"].toInt64();
    changeDuringATurn(R"({"drop": "c"})", "test", changeComesFirst);
    EXPECT_EQ(server.catalog->find({"test", "c"}), nullptr);
    EXPECT_EQ(metrics()["deletedDocuments"].toInt64() - removed, changeComesFirst ? 0 : 128);
  }
}

TEST_F(TtlMonitorTest, ItStopsInTheMiddleOfATurn) {
  fillAt("c", 10, 100);
  index("c", R"({"at": 1})", 0);
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  server.node.advance(62s);
  const Address monitor = server.node.address("/node/services/ttl-monitor");
  const auto before = server.node.registry().row(monitor.path());
  server.node.requestStop(monitor);
  server.node.run();
  const auto after = server.node.registry().row(monitor.path());
  EXPECT_EQ(before->phase, "removing");
  EXPECT_EQ(after->phase, "backing off") << "it has ended, and its supervisor will start it again";
  holder.release();
  EXPECT_EQ(left("c"), 10);
}

// TTL-001, TTL-002, OPL-013
class MemberTtlTest : public TtlMonitorTest {
 protected:
  MemberTtlTest() : TtlMonitorTest({.name = "n1:1", .replicaSet = "rs"}) {}
  static storage::Namespace things() { return {"config", "things"}; }

  void putExpired(int count) {
    machines::CollectionStore store(server.assembly.storageAccess(), things());
    store.serveIn(commands::termOf(server));
    for (int i = 1; i <= count; ++i) {
      const auto document = bson::doc("_id", i, "at", ago(100));
      ASSERT_TRUE(machines::done(server, store.put(document, machines::Durability::kLocal)).isOK());
    }
  }
  void buildIndex() {
    BuildIndexes wanted;
    wanted.collection = server.catalog->find(things())->uuid();
    wanted.ns = things();
    wanted.specs.push_back(parse(R"({"key": {"at": 1}, "name": "at_1", "expireAfterSeconds": 10})"));
    auto asked = server.node.ask(server.node.address(kIndexBuildsPath), local(std::move(wanted)));
    server.node.advance(1s);
    ASSERT_TRUE(asked.isReady());
    const Answer answer = asked.take();
    ASSERT_TRUE(answer.isOK() && answer->local<BuildOutcome>().indexes.isOK());
  }
  int64_t leftOfThings() { return server.catalog->find(things())->records().count(); }
};

TEST_F(MemberTtlTest, ThePrimaryAloneRemovesAndLogsEachBatchAsOneEntry) {
  commands::becomePrimary(server);
  putExpired(3);
  buildIndex();
  nextPass();
  EXPECT_EQ(leftOfThings(), 0);
  const bson::Document reply = run(R"({"find": "oplog.rs", "sort": {"$natural": -1}, "limit": 1})", "local");
  const bson::View last = reply.view().at("cursor.firstBatch.0").asDocument();
  EXPECT_EQ(last.at("o.applyOps").asArray().count(), 3u) << bson::toRelaxedJson(last);
  putExpired(2);
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1000, "force": true})", "admin"));
  nextPass();
  EXPECT_EQ(leftOfThings(), 2);
}

// ELE-028
TEST_F(MemberTtlTest, ATurnThatWaitsDoesNotHoldAStepDownUp) {
  commands::becomePrimary(server);
  putExpired(3);
  buildIndex();
  LockHolder other(server.locks, things().toString(), storage::LockMode::kX);
  server.node.advance(61s);
  EXPECT_TRUE(shownTurn()["waitingForLock"].truthy());
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 30, "force": true})", "admin"));
  server.node.advance(100ms);
  EXPECT_TRUE(run(R"({"currentOp": 1, "desc": "TTLMonitor"})", "admin")["inprog"].asArray().empty());
  commands::untilPrimary(server);  // the old role has ended, though the lock is not free yet
  other.release();
  EXPECT_EQ(leftOfThings(), 3);
  nextPass();
  EXPECT_EQ(leftOfThings(), 0);
}

}  // namespace troupe::maintenance
