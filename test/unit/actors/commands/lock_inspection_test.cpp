#include "actors/commands/lock_inspection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using storage::LockMode;

struct LockInspectionTest : CommandTest {
  std::string write = R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"y": 1}}, "multi": true}]})";
  bson::Document status(std::string_view path) {
    const auto all = run(R"({"serverStatus": 1})", "admin");
    return bson::Document(all.view().at(path).asDocument());
  }
  void leaveOneWriteTicket() {
    EXPECT_TRUE(succeeds(R"({"setParameter": 1, "storageEngineConcurrentWriteTransactions": 1})", "admin"));
    server.node.advance(200ms);
  }
  void leaveOneReadTicket() {
    EXPECT_TRUE(succeeds(R"({"setParameter": 1, "storageEngineConcurrentReadTransactions": 1})", "admin"));
    server.node.advance(200ms);
  }
  int64_t readsStarted(std::string_view priority) {
    const auto read = status("wiredTiger.concurrentTransactions.read");
    return read.view().at(std::string(priority) + ".startedProcessing").toInt64();
  }
  /// So many of the short finds, all of which came after the scan, have ended when the scan ends.
  int shortFindsBeforeTheScan(int finds) {
    storage::Ticket taken = server.admission.read().tryTake(storage::AdmissionPriority::kNormal);
    EXPECT_TRUE(taken);
    const auto begin = [&](const char* command) { return server.begin(parse(command), "test", server.connect()); };
    const auto scan = begin(R"({"find": "c", "filter": {"y": 1}})");
    std::vector<std::shared_ptr<Exchange>> others;
    for (int i = 0; i < finds; ++i) others.push_back(begin(R"({"find": "c", "filter": {"_id": 1}})"));
    taken.reset();
    while (!scan->done && server.node.step()) {
    }
    EXPECT_TRUE(scan->done);
    const auto ended = std::count_if(others.begin(), others.end(), [](const auto& one) { return one->done; });
    server.node.run();
    EXPECT_TRUE(std::all_of(others.begin(), others.end(), [](const auto& one) { return one->done; }));
    return static_cast<int>(ended);
  }
  /// What lockInfo shows of a resource; an empty document when it shows nothing.
  bson::Document lockRow(std::string_view resource) {
    const auto reply = run(R"({"lockInfo": 1})", "admin");
    for (const bson::Element& row : reply["lockInfo"].asArray())
      if (row.asDocument()["resourceId"].toStringOr() == resource) return bson::Document(row.asDocument());
    return {};
  }
  std::shared_ptr<Exchange> beginWrite() { return server.begin(parse(write), "test", server.connect()); }
  int32_t codeOf(Exchange& exchange) {
    return static_cast<int32_t>(bson::Document(exchange.takeReply())["code"].toInt64());
  }
};

TEST_F(LockInspectionTest, LockInfoShowsHoldersAndWaitersOfEveryResource) {
  fill("c", 1);
  LockHolder other(server.locks, "test.c", LockMode::kX);
  const auto waits = beginWrite();
  ASSERT_FALSE(waits->done);
  const auto reply = run(R"({"lockInfo": 1})", "admin");
  const auto rows = reply["lockInfo"].asArray();
  ASSERT_EQ(rows.count(), 4) << bson::toRelaxedJson(reply);
  EXPECT_TRUE(holds(rows["3"].asDocument(),
                    R"({"resourceId": "Collection test.c", "granted": [{"mode": "X"}],
                        "pending": [{"mode": "IX", "clientInfo": {"desc": "conn2"}}]})"_json));
  other.release();
  server.node.advance(10ms);
  EXPECT_TRUE(waits->done);
  EXPECT_EQ(run(R"({"lockInfo": 1})", "admin")["lockInfo"].asArray().count(), 0);
}

TEST_F(LockInspectionTest, ServerStatusCountsLocksByTypeAndMode) {
  fill("c", 1);
  const auto before = status("locks").view().at("Collection.acquireCount.w").toInt64();
  LockHolder other(server.locks, "test.c", LockMode::kX);
  const auto waits = beginWrite();
  server.node.advance(3s);
  other.release();
  server.node.advance(10ms);
  ASSERT_TRUE(waits->done);
  const auto after = status("locks");
  EXPECT_EQ(after.view().at("Collection.acquireCount.w").toInt64(), before + 1) << bson::toRelaxedJson(after);
  EXPECT_EQ(after.view().at("Collection.acquireWaitCount.w").toInt64(), 1);
  EXPECT_EQ(after.view().at("Collection.timeAcquiringMicros.w").toInt64(), 3'000'000);
}

TEST_F(LockInspectionTest, AKilledOperationWaitsNoLonger) {
  fill("c", 1);
  LockHolder other(server.locks, "test.c", LockMode::kX);
  const auto waits = beginWrite();
  int64_t id = 0;
  server.clients.each([&](Client& client) {
    client.withOperation([&](storage::OperationContext& operation) { id = operation.id(); });
  });
  ASSERT_TRUE(server.clients.killOperation(id, ErrorCode::kInterrupted));
  server.node.run();
  ASSERT_TRUE(waits->done);
  EXPECT_EQ(codeOf(*waits), 11601);
  EXPECT_EQ(server.locks.inUse(), 3u) << "what the other one holds";
}

TEST_F(LockInspectionTest, MaxTimeEndsTheWaitForALock) {
  fill("c", 1);
  LockHolder other(server.locks, "test.c", LockMode::kX);
  const auto waits =
      server.begin(R"({"insert": "c", "documents": [{"_id": 7}], "maxTimeMS": 50})"_json, "test", server.connect());
  server.node.advance(40ms);
  EXPECT_FALSE(waits->done);
  server.node.advance(20ms);
  ASSERT_TRUE(waits->done);
  EXPECT_EQ(codeOf(*waits), 50);
}

TEST_F(LockInspectionTest, AWaitingDropGetsTheCollectionBetweenTwoGroupsOfAnInsert) {
  fill("c", 1);
  bson::Builder many;
  many.append("insert", "c").openArray("documents");
  for (int i = 0; i < 300; ++i) many.push(bson::doc("x", i));
  many.close();
  LockHolder writer(server.locks, "test.c", LockMode::kIX);
  LockHolder first(server.locks, "test.c", LockMode::kX);
  const auto insert = server.begin(many.finish(), "test", server.connect());
  const auto drop = server.begin(R"({"drop": "c"})"_json, "test", server.connect());
  writer.release();
  first.release();
  server.node.advance(1s);
  ASSERT_TRUE(insert->done && drop->done);
  const auto left = run(R"({"count": "c"})")["n"].toInt64();
  EXPECT_GT(left, 0);
  EXPECT_LT(left, 300) << "the drop did not wait for the end of the insert";
}

TEST_F(LockInspectionTest, ADropOfADatabaseWaitsForItsWritersAndLaterOnesWaitForIt) {
  fill("c", 1);
  LockHolder writer(server.locks, "test.c", LockMode::kIX);
  const auto begin = [&](std::string_view command, std::string_view db) {
    return server.begin(parse(command), db, server.connect());
  };
  const auto drop = begin(R"({"dropDatabase": 1})", "test");
  EXPECT_FALSE(drop->done);
  EXPECT_TRUE(holds(lockRow("Database test"), R"({"granted": [{"mode": "IX"}], "pending": [{"mode": "X"}]})"_json));
  const auto insert = begin(R"({"insert": "other", "documents": [{"_id": 1}]})", "test");
  EXPECT_FALSE(insert->done) << "another collection of the database";
  EXPECT_TRUE(holds(lockRow("Database test"), R"({"pending": [{"mode": "X"}, {"mode": "IX"}]})"_json));
  const auto elsewhere = begin(R"({"insert": "c", "documents": [{"_id": 1}]})", "elsewhere");
  EXPECT_TRUE(elsewhere->done) << "another database";
  writer.release();
  server.node.advance(1s);
  ASSERT_TRUE(drop->done && insert->done);
  EXPECT_TRUE(holds(drop->takeReply(), R"({"ok": 1, "dropped": "test"})"_json));
  EXPECT_TRUE(holds(insert->takeReply(), R"({"ok": 1, "n": 1})"_json));
  EXPECT_EQ(run(R"({"count": "c"})")["n"].toInt64(), 0);
  EXPECT_EQ(run(R"({"count": "other"})")["n"].toInt64(), 1) << "it came after the drop";
}

TEST_F(LockInspectionTest, WritersQueueForTicketsAndReadersHaveTheirOwn) {
  fill("c", 3);
  leaveOneWriteTicket();
  storage::Ticket taken = server.admission.write().tryTake(storage::AdmissionPriority::kNormal);
  const auto waits = beginWrite();
  EXPECT_FALSE(waits->done);
  EXPECT_EQ(server.locks.inUse(), 0u) << "its ticket comes before the global lock";
  EXPECT_TRUE(succeeds(R"({"find": "c"})"));
  EXPECT_TRUE(holds(status("wiredTiger.concurrentTransactions"),
                    R"({"write": {"out": 1, "available": 0, "totalTickets": 1, "normalPriority": {"queueLength": 1}},
                        "read": {"out": 0}})"_json));
  taken.reset();
  server.node.advance(10ms);
  EXPECT_TRUE(waits->done);
}

TEST_F(LockInspectionTest, AKilledOperationWaitsForNoTicket) {
  fill("c", 1);
  leaveOneWriteTicket();
  storage::Ticket taken = server.admission.write().tryTake(storage::AdmissionPriority::kNormal);
  const auto waits = beginWrite();
  server.clients.each([&](Client& client) {
    client.withOperation([&](storage::OperationContext& operation) { operation.kill(ErrorCode::kInterrupted); });
  });
  server.node.run();
  ASSERT_TRUE(waits->done);
  EXPECT_EQ(codeOf(*waits), 11601);
  EXPECT_EQ(server.admission.write().statistics(storage::AdmissionPriority::kNormal).canceled, 1);
}

TEST_F(LockInspectionTest, ScansWithoutBoundsAreAdmittedWithLowPriority) {
  fill("c", 200);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})"));
  const auto isLow = [&](std::string_view command) {
    const int64_t before = readsStarted("lowPriority");
    EXPECT_TRUE(succeeds(command)) << command;
    return readsStarted("lowPriority") - before;
  };
  EXPECT_EQ(isLow(R"({"find": "c", "filter": {"y": 1}})"), 1) << "COLLSCAN";
  EXPECT_EQ(isLow(R"({"find": "c", "sort": {"x": 1}, "hint": "x"})"), 1) << "all of an index";
  EXPECT_EQ(isLow(R"({"count": "c", "query": {"y": 1}})"), 1);
  EXPECT_EQ(isLow(R"({"distinct": "c", "key": "y"})"), 1);
  EXPECT_EQ(isLow(R"({"aggregate": "c", "pipeline": [{"$group": {"_id": "$y"}}], "cursor": {}})"), 1);
  EXPECT_EQ(isLow(R"({"find": "c", "filter": {"_id": 1}})"), 0);
  EXPECT_EQ(isLow(R"({"find": "c", "filter": {"x": {"$gt": 1}}})"), 0) << "bounds";
  EXPECT_EQ(isLow(R"({"find": "c", "limit": 2})"), 0) << "the limit ends it";
  EXPECT_EQ(isLow(R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}})"), 0)
      << "others wait for the locks of a pipeline that writes";
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "deprioritizeUnboundedUserCollectionScans": false})", "admin"));
  EXPECT_EQ(isLow(R"({"find": "c", "filter": {"y": 1}})"), 0);
  EXPECT_EQ(isLow(R"({"find": "c", "sort": {"x": 1}, "hint": "x"})"), 1);
}

TEST_F(LockInspectionTest, EachBatchOfAScanIsAdmittedWithLowPriorityAndWhatFollowsIsNot) {
  fill("c", 10);
  const auto reply = run(R"({"find": "c", "batchSize": 2})");
  const int64_t id = reply.view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0);
  EXPECT_EQ(readsStarted("lowPriority"), 1);
  EXPECT_TRUE(succeeds(R"({"getMore": )" + std::to_string(id) + R"(, "collection": "c", "batchSize": 2})"));
  EXPECT_EQ(readsStarted("lowPriority"), 2);
  EXPECT_TRUE(succeeds(R"({"find": "c", "filter": {"_id": 1}})"));
  EXPECT_EQ(readsStarted("lowPriority"), 2);
}

TEST_F(LockInspectionTest, AScanWaitsBehindShortOperationsThatCameLater) {
  fill("c", 3);
  leaveOneReadTicket();
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "lowPriorityAdmissionBypassThreshold": 0})", "admin"));
  server.node.advance(200ms);
  EXPECT_EQ(shortFindsBeforeTheScan(20), 20);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "deprioritizeUnboundedUserCollectionScans": false})", "admin"));
  EXPECT_EQ(shortFindsBeforeTheScan(20), 0) << "first come, first served";
}

TEST_F(LockInspectionTest, ATicketGoesToAShortFindThenToAScanThenBackToThePool) {
  fill("c", 3);
  leaveOneReadTicket();
  storage::Ticket taken = server.admission.read().tryTake(storage::AdmissionPriority::kNormal);
  const auto begin = [&](std::string_view command) { return server.begin(parse(command), "test", server.connect()); };
  const auto scan = begin(R"({"find": "c", "filter": {"y": 1}})");
  const auto shortFind = begin(R"({"find": "c", "filter": {"_id": 1}})");
  EXPECT_TRUE(holds(status("wiredTiger.concurrentTransactions.read"),
                    R"({"out": 1, "available": 0, "normalPriority": {"queueLength": 2}})"_json))
      << "the plan is yet to be made";
  taken.reset();
  int64_t lowWaiters = 0;
  while (!shortFind->done && !scan->done && server.node.step()) {
    const auto low = server.admission.read().statistics(storage::AdmissionPriority::kLow);
    lowWaiters = std::max<int64_t>(lowWaiters, low.queueLength());
  }
  EXPECT_TRUE(shortFind->done);
  EXPECT_FALSE(scan->done) << "it came first, and its priority is low";
  EXPECT_EQ(lowWaiters, 1);
  server.node.run();
  EXPECT_TRUE(scan->done);
  EXPECT_TRUE(holds(status("wiredTiger.concurrentTransactions.read"), R"({"out": 0, "available": 1})"_json));
}

TEST_F(LockInspectionTest, AScanGoesOnUnderFullLoadOfShortOperations) {
  fill("c", 3);
  leaveOneReadTicket();
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "lowPriorityAdmissionBypassThreshold": 4})", "admin"));
  server.node.advance(200ms);
  const int passed = shortFindsBeforeTheScan(20);
  EXPECT_GE(passed, 4);
  EXPECT_LT(passed, 10) << "after so many that passed it the scan is next";
}

TEST_F(LockInspectionTest, AnOperationThatWaitsForALockHoldsNoTicket) {
  fill("c", 1);
  leaveOneWriteTicket();
  LockHolder other(server.locks, "test.c", LockMode::kX);
  const auto waits = beginWrite();
  EXPECT_TRUE(succeeds(R"({"insert": "d", "documents": [{"_id": 1}]})"));
  other.release();
  server.node.advance(10ms);
  EXPECT_TRUE(waits->done);
}

}  // namespace troupe::commands
