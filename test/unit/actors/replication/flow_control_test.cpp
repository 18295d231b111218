#include "actors/replication/flow_control.hpp"

#include <map>
#include <string>

#include "actors/machines/collection_store.hpp"
#include "actors/replication/flow_control_state.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/storage/storage_waits.hpp"
#include "supervisors/metrics/replication_metrics.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe::commands {
using namespace server;
namespace {

using replication::ReplicationProgress;

constexpr const char* kPath = "/node/replication/flow-control";

/// The primary of a set of three, which loses its majority only after an hour: "b:1" and "c:1" have what the test says.
class FlowControlTest : public CommandTest {
 protected:
  FlowControlTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 0}]})"));
    EXPECT_TRUE(succeeds(R"({"replSetReconfig": {"_id": "rs", "version": 9, "members": [{"_id": 0, "host": "n1:1"},
                             {"_id": 1, "host": "b:1"}, {"_id": 2, "host": "c:1"}],
                             "settings": {"electionTimeoutMillis": 3600000}}, "force": true})",
                         "admin"));
    setMinimum(2);
    catchUp();
    server.node.advance(2s);
  }

  ReplicationProgress& progress() { return *server.server->progress; }
  /// "b:1" has all that the primary has.
  void catchUp() {
    const OpTime applied = progress().applied();
    progress().notePosition("b:1", {applied, applied});
  }
  /// A write each second, of which "b:1" gets none, until the primary holds writes back.
  void fallBehind() {
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(insert()->done);
      server.node.advance(1s);
    }
    EXPECT_TRUE(flow("isLagged"));
  }
  std::shared_ptr<Exchange> insert(const char* more = "") {
    const std::string command = R"({"insert": "c", "documents": [{"_id": )" + std::to_string(++last_) +
                                R"(}], "writeConcern": {"w": 1})" + more + "}";
    return server.begin(parse(command), "test", server.connect());
  }
  /// No ticket is left in this second.
  void useUp() {
    while (server.admission.flow().tryTake()) {
    }
  }
  void setMinimum(int tickets) {
    EXPECT_TRUE(
        succeeds(R"({"setParameter": 1, "flowControlMinTicketsPerSecond": )" + std::to_string(tickets) + "}", "admin"));
  }
  /// A field of serverStatus.flowControl; of a boolean 0 or 1.
  int64_t flow(std::string_view field) {
    const auto status = run(R"({"serverStatus": 1})", "admin");
    const auto found = status["flowControl"].asDocument()[field];
    return found.isNumber() ? found.toInt64() : int64_t{found.truthy()};
  }
  /// What currentOp shows of operations that insert.
  bson::Document shownInsert() {
    const auto shown = run(R"({"currentOp": 1, "command.insert": "c"})", "admin");
    for (const auto& row : shown["inprog"].asArray()) return bson::Document(row.asDocument());
    return {};
  }
  static int64_t codeOf(Exchange& exchange) { return exchange.takeReply()["code"].toInt64(); }

 private:
  int last_ = 0;
};

struct FlowControlOfOne : CommandTest {
  FlowControlOfOne() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) { becomePrimary(server); }
};

TEST_F(FlowControlTest, NothingIsHeldBackWhileTheSetKeepsUp) {  // LCK-015
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(insert()->done);
    catchUp();
    server.node.advance(1s);
  }
  EXPECT_FALSE(flow("isLagged"));
  EXPECT_EQ(flow("targetRateLimit"), storage::FlowTickets::kUnlimited);
}

TEST_F(FlowControlTest, WritersOfALaggingSetGetSoManyTicketsEachSecond) {  // LCK-015, LCK-016
  fallBehind();
  EXPECT_EQ(flow("targetRateLimit"), 2);
  std::vector<std::shared_ptr<Exchange>> writes;
  server.node.advance(1s);
  for (int i = 0; i < 5; ++i) writes.push_back(insert());
  const auto done = [&] { return std::ranges::count_if(writes, [](const auto& each) { return each->done; }); };
  EXPECT_EQ(done(), 2);
  EXPECT_EQ(server.locks.inUse(), 0u) << "the others hold nothing while they wait";
  EXPECT_EQ(server.admission.write().out(), 0);
  server.node.advance(1s);
  EXPECT_EQ(done(), 4);
  server.node.advance(1s);
  EXPECT_EQ(done(), 5);
  for (const auto& each : writes) EXPECT_EQ(each->takeReply()["n"].toInt64(), 1);
  EXPECT_GT(flow("timeAcquiringMicros"), 0);
}

TEST_F(FlowControlTest, TheRateGrowsWhenTheLagIsOver) {  // LCK-018
  fallBehind();
  catchUp();
  server.node.advance(1s);
  EXPECT_FALSE(flow("isLagged"));
  EXPECT_EQ(flow("targetRateLimit"), 527) << "(2 + 500) * 1.05";
  EXPECT_EQ(flow("isLaggedCount"), 1);
  EXPECT_GE(flow("isLaggedTimeMicros"), 1'000'000);
}

TEST_F(FlowControlTest, DisablingItLetsEverybodyGoOn) {  // LCK-019
  fallBehind();
  useUp();
  const auto write = insert();
  EXPECT_FALSE(write->done);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "enableFlowControl": false})", "admin"));
  server.node.advance(1s);
  EXPECT_TRUE(write->done);
  EXPECT_FALSE(flow("enabled"));
  EXPECT_EQ(flow("targetRateLimit"), storage::FlowTickets::kUnlimited);
}

TEST_F(FlowControlTest, AWaitIsSeenInCurrentOp) {  // LCK-021
  fallBehind();
  useUp();
  const auto write = insert();
  EXPECT_TRUE(holds(shownInsert(), R"({"waitingForFlowControl": true, "flowControlStats": {"acquireWaitCount": 1},
                                       "waitingForLock": false})"_json));
  server.node.advance(1s);
  ASSERT_TRUE(write->done);
  const auto& figures = write->operation.metrics.flowControl;
  EXPECT_EQ(figures.acquired, 1);
  EXPECT_GT(figures.micros, 500'000);
  EXPECT_FALSE(figures.isWaiting);
}

TEST_F(FlowControlTest, AKilledOperationWaitsForNoTicket) {
  fallBehind();
  useUp();
  const auto write = insert();
  const int64_t opid = shownInsert()["opid"].toInt64();
  ASSERT_TRUE(succeeds(R"({"killOp": 1, "op": )" + std::to_string(opid) + "}", "admin"));
  server.node.run();
  ASSERT_TRUE(write->done);
  EXPECT_EQ(codeOf(*write), 11601);
  EXPECT_EQ(server.admission.flow().waiting(), 0);
}

TEST_F(FlowControlTest, MaxTimeEndsTheWaitForATicket) {
  setMinimum(1);
  fallBehind();
  useUp();
  const auto write = insert(R"(, "maxTimeMS": 200)");
  server.node.advance(300ms);
  ASSERT_TRUE(write->done);
  EXPECT_EQ(codeOf(*write), 50);
}

TEST_F(FlowControlTest, ReadsAndServicesAreNotHeldBack) {  // LCK-009
  fallBehind();
  useUp();
  const auto read = server.begin(R"({"find": "c"})"_json);
  EXPECT_TRUE(read->done);
  machines::CollectionStore store(server.assembly.storageAccess(), storage::Namespace("config", "things"));
  store.serveIn(termOf(server));
  const TimePoint before = server.time->now();
  EXPECT_TRUE(machines::done(server, store.put(bson::doc("_id", 1), machines::Durability::kLocal)).isOK());
  EXPECT_LT(server.time->now() - before, 500ms);
  EXPECT_TRUE(server.begin(R"({"insert": "c", "documents": [{"_id": 1}]})"_json, "local")->done)
      << "what is not replicated makes nobody lag";
}

TEST_F(FlowControlTest, AWriteTakesATicketEachTimeItTakesItsLocks) {
  const int64_t before = server.admission.flow().acquired();
  ASSERT_TRUE(insert()->done);
  EXPECT_EQ(server.admission.flow().acquired(), before + 1) << "one, however many locks are below the global one";
  std::string documents;
  for (int id = 1000; id < 3000; ++id) documents += (id > 1000 ? "," : "") + ("{\"_id\": " + std::to_string(id) + "}");
  ASSERT_TRUE(succeeds(R"({"insert": "c", "writeConcern": {"w": 1}, "documents": [)" + documents + "]}"));
  EXPECT_GT(server.admission.flow().acquired(), before + 2) << "a long write gives its locks up on the way";
}

TEST_F(FlowControlTest, AWriteThatYieldsTakesAnotherTicket) {
  const int64_t before = server.admission.flow().acquired();
  storage::OperationContext operation(server.server->operations);
  const auto lock = machines::done(
      server, lockCollection(server.node, operation, storage::Namespace("test", "c"), storage::LockMode::kIX));
  ASSERT_TRUE(lock.isOK());
  operation.yieldLocks();
  EXPECT_TRUE(machines::done(server, resumeLocks(server.node, operation)).isOK());
  EXPECT_EQ(server.admission.flow().acquired(), before + 2);
}

TEST_F(FlowControlTest, ProfilesShowTheTickets) {  // LCK-021
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(insert()->done);
  const auto record = run(R"({"find": "system.profile", "filter": {"op": "insert"}})");
  EXPECT_EQ(record.view().at("cursor.firstBatch.0.flowControl.acquireCount").toInt64(), 1)
      << bson::toRelaxedJson(record);
}

/// Nobody would elect it: a set that could not note a term would have no primary.
TEST_F(FlowControlOfOne, ANewPrimaryNotesItsTermWithoutATicket) {  // LCK-020
  ASSERT_TRUE(server.node.wait(supervisors::controlActor(server.node, kPath, supervisors::ControlAction::kPark, "test"))
                  .isOK());
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1, "force": true})", "admin"));
  server.admission.flow().refresh(0);
  for (int i = 0; i < 100 && !server.server->membership->view()->isWritable(); ++i) server.node.advance(100ms);
  EXPECT_TRUE(server.server->membership->view()->isWritable());
}

TEST_F(FlowControlTest, ANodeThatMayNotWriteHoldsNothingBack) {  // LCK-019
  fallBehind();
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 60, "force": true})", "admin"));
  server.node.advance(1s);
  EXPECT_EQ(server.admission.flow().rate(), storage::FlowTickets::kUnlimited);
}

TEST_F(FlowControlTest, NobodyWaitsForAnActorThatIsSetAside) {
  fallBehind();
  useUp();
  const auto write = insert();
  EXPECT_FALSE(write->done);
  ASSERT_TRUE(server.node.wait(supervisors::controlActor(server.node, kPath, supervisors::ControlAction::kPark, "test"))
                  .isOK());
  server.node.run();
  EXPECT_TRUE(write->done);
}

TEST_F(FlowControlTest, ARestartChangesNothing) {
  fallBehind();
  ASSERT_TRUE(
      server.node.wait(supervisors::controlActor(server.node, kPath, supervisors::ControlAction::kRestart, "test"))
          .isOK());
  server.node.advance(1s);
  EXPECT_EQ(flow("targetRateLimit"), 2);
  EXPECT_EQ(flow("isLaggedCount"), 1);
}

TEST_F(FlowControlTest, TheRowOfTheActorShowsRateLagAndTickets) {
  fallBehind();
  const auto shown = server.node.wait(server.node.inspect(kPath, 1s));
  ASSERT_TRUE(shown);
  EXPECT_TRUE(
      holds(shown->state, R"({"enabled": true, "targetRateLimit": 2, "isLagged": true, "sustainer": "b:1"})"_json));
  EXPECT_GE(shown->state["lagMillis"].toInt64(), 5000);
  EXPECT_EQ(shown->state["acquired"].toInt64(), server.admission.flow().acquired());
}

TEST_F(FlowControlTest, MetricsShowTheLagAndTheRate) {
  fallBehind();
  supervisors::MetricSet metrics;
  supervisors::addReplicationMetrics(metrics, *server.server);
  const std::string text = metrics.text();
  const auto value = [&](const std::string& name) {
    const size_t found = text.find("\n" + name + " ");
    return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size() + 2));
  };
  EXPECT_EQ(value(R"(troupe_replica_flow_tickets_per_second{set="rs"})"), 2);
  EXPECT_EQ(value(R"(troupe_replica_flow_lagged{set="rs"})"), 1);
  EXPECT_GE(value(R"(troupe_replica_commit_lag_seconds{set="rs"})"), 5);
  EXPECT_GE(value(R"(troupe_replica_member_lag_seconds{set="rs",member="b:1"})"), 5);
  EXPECT_EQ(value(R"(troupe_replica_lag_seconds{set="rs"})"), 0);
}

TEST_F(FlowControlTest, MetricsShowHowFarTheLogReachesBack) {
  const auto window = [&]() -> double {
    supervisors::MetricSet metrics;
    supervisors::addReplicationMetrics(metrics, *server.server);
    const std::string text = metrics.text(), name = "\ntroupe_replica_log_window_seconds{set=\"rs\"} ";
    const size_t found = text.find(name);
    return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size()));
  };
  server.node.advance(2s);
  const double before = window();
  ASSERT_GE(before, 0) << "it is looked at once a second";
  fallBehind();
  EXPECT_GE(window(), before + 7);
}

/// A member that copies its data is not up to date, and a delayed one is not late.
TEST_F(FlowControlTest, MetricsTellOfNoLagWhereNoneIsMeant) {
  const auto shown = [&] {
    supervisors::MetricSet metrics;
    supervisors::addReplicationMetrics(metrics, *server.server);
    return metrics.text();
  };
  const OpTime applied = progress().applied();
  const OpTime later{applied.term, {applied.timestamp.seconds + 100, 1}};
  progress().notePosition("b:1", {later, later});
  server.time->skewWall(std::chrono::seconds(100));
  EXPECT_THAT(shown(), testing::HasSubstr("\ntroupe_replica_lag_seconds{set=\"rs\"} 100\n"));
  EXPECT_TRUE(succeeds(R"({"replSetReconfig": {"_id": "rs", "version": 10, "members": [{"_id": 0, "host": "n1:1",
                           "priority": 0, "secondaryDelaySecs": 60}, {"_id": 1, "host": "b:1"}]}, "force": true})",
                       "admin"));
  EXPECT_THAT(shown(), testing::HasSubstr("\ntroupe_replica_lag_seconds{set=\"rs\"} 40\n"));
  server.server->progress->resetTo({});
  EXPECT_THAT(shown(), testing::Not(testing::HasSubstr("\ntroupe_replica_lag_seconds")));
}

TEST_F(FlowControlTest, TheParametersAreSetAtRunTime) {
  const std::map<std::string, std::string> values{{"enableFlowControl", "false"},
                                                  {"flowControlTargetLagSeconds", "20"},
                                                  {"flowControlThresholdLagPercentage", "0.25"},
                                                  {"flowControlTicketAdderConstant", "7"},
                                                  {"flowControlTicketMultiplierConstant", "1.5"},
                                                  {"flowControlDecayConstant", "0.75"},
                                                  {"flowControlFudgeFactor", "1"},
                                                  {"flowControlSamplePeriod", "10"},
                                                  {"flowControlMaxSamples", "100"},
                                                  {"flowControlWarnThresholdSeconds", "0"}};
  for (const auto& [name, value] : values) {
    EXPECT_TRUE(succeeds(R"({"setParameter": 1, ")" + name + "\": " + value + "}", "admin")) << name;
    EXPECT_TRUE(answers(R"({"getParameter": 1, ")" + name + "\": 1}", "{\"" + name + "\": " + value + "}", "admin"));
  }
  EXPECT_EQ(code(R"({"setParameter": 1, "flowControlDecayConstant": 1.5})", "admin"), 2);
  EXPECT_EQ(code(R"({"setParameter": 1, "flowControlTargetLagSeconds": 0})", "admin"), 2);
  EXPECT_EQ(code(R"({"setParameter": 1, "flowControlTicketMultiplierConstant": 0.5})", "admin"), 2);
}

}  // namespace
}  // namespace troupe::commands
