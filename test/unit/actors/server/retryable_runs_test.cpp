// Writes of a node's own services: carried out once, whatever becomes of the answers.
#include "actors/server/retryable_runs.hpp"

#include <deque>
#include <optional>

#include "actors/replication/remote_members.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::server {
namespace {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;

/// The way to a primary, on which questions or answers are lost.
class LossyWay final : public replication::RemoteMembers {
 public:
  /// What becomes of an attempt.
  struct Fate {
    bool arrives = true;
    Status answer;  ///< in place of the node's, if it is a failure
  };
  explicit LossyWay(CommandNode& primary) : primary_(primary) {}

  std::deque<Fate> fates;  ///< of the next attempts, in their order
  std::vector<bson::Document> sent;

  Task<StatusWith<bson::Document>> run(replication::NodeName, std::string database, bson::Document command,
                                       Duration timeout) override {
    sent.push_back(command);
    Fate fate;
    if (!fates.empty()) {
      fate = fates.front();
      fates.pop_front();
    }
    co_await primary_.node.nextTurn();
    bson::Document reply;
    if (fate.arrives) reply = co_await carryOut(std::move(database), std::move(command));
    if (fate.answer == ErrorCode::kMaxTimeMSExpired) co_await primary_.node.sleepFor(timeout);
    if (!fate.answer.isOK()) co_return fate.answer;
    if (reply["ok"].truthy()) co_return reply;
    co_return Status(static_cast<ErrorCode>(reply["code"].toInt64(1)), std::string(reply["errmsg"].toStringOr()));
  }
  Task<StatusWith<std::unique_ptr<replication::RemoteDocuments>>> read(replication::NodeName, std::string,
                                                                       bson::Document, size_t) override {
    co_return Status(ErrorCode::kCommandNotSupported, "services only write here");
  }

 private:
  Task<bson::Document> carryOut(std::string database, bson::Document command) {
    commands::Exchange exchange(wire::buildRequest(++last_, database, command), *primary_.server, *primary_.client,
                                primary_.time->now());
    co_await dispatch(exchange.request);
    co_return exchange.takeReply();
  }
  CommandNode& primary_;
  int32_t last_ = 1000;
};

/// Has a task until it is killed.
class RunningActor final : public Actor {
 public:
  explicit RunningActor(Task<void> task) : task_(std::move(task)) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override { start(std::move(task_)); }

 private:
  Task<void> task_;
};

constexpr const char* kInsert = R"({"insert": "c", "documents": [{"n": 1}]})";
constexpr const char* kCount = R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}},
                                   "upsert": true, "new": true})";

}  // namespace

class RetryableRunsTest : public ::testing::Test {
 protected:
  RetryableRunsTest() { commands::becomePrimary(server); }
  using Outcome = std::shared_ptr<std::optional<StatusWith<bson::Document>>>;
  static Task<void> keep(Task<StatusWith<bson::Document>> run, Outcome outcome) {
    outcome->emplace(co_await std::move(run));
  }
  static Outcome noted() { return std::make_shared<std::optional<StatusWith<bson::Document>>>(); }
  Outcome start(Task<StatusWith<bson::Document>> run) {
    auto outcome = noted();
    server.node.start(keep(std::move(run), outcome));
    server.node.run();
    return outcome;
  }
  Outcome begin(const char* command, Duration time = 60s) {
    return start(runs.run("test", bson::fromJson(command).value(), server.time->now() + time));
  }
  StatusWith<bson::Document> run(const char* command, Duration time = 60s) { return end(begin(command, time)); }
  StatusWith<bson::Document> end(const Outcome& outcome) {
    for (int steps = 0; !*outcome && steps < 12'000; ++steps) server.node.advance(10ms);
    return *outcome ? **outcome : StatusWith<bson::Document>(Status(ErrorCode::kInternalError, "it did not end"));
  }
  size_t documents() {
    const bson::Document found = server.run(R"({"find": "c"})"_json);
    size_t count = 0;
    for ([[maybe_unused]] const bson::Element& each : found.view().at("cursor.firstBatch").asArray()) ++count;
    return count;
  }
  static int64_t numberOf(const bson::Document& command) { return command["txnNumber"].toInt64(); }

  CommandNode server{{.name = "n1:1", .replicaSet = "rs"}};
  LossyWay way{server};
  RetryableRuns runs{server.node, way, "n1:1"};
};

TEST_F(RetryableRunsTest, AnAnswerThatIsLostIsAskedForAgain) {
  for (const ErrorCode lost :
       {ErrorCode::kHostUnreachable, ErrorCode::kMaxTimeMSExpired, ErrorCode::kNotWritablePrimary,
        ErrorCode::kInterruptedDueToReplStateChange, ErrorCode::kInterruptedAtShutdown, ErrorCode::kInterrupted}) {
    way.sent.clear();
    const size_t before = documents();
    way.fates = {{true, {lost, "lost"}}, {false, {lost, "lost"}}, {true, {lost, "lost"}}};
    const auto reply = run(kInsert);
    ASSERT_TRUE(reply.isOK()) << reply.status().toString();
    EXPECT_EQ((*reply)["n"].toInt64(), 1);
    EXPECT_TRUE((*reply)["retriedStmtIds"].ok()) << "the first attempt had done it";
    EXPECT_EQ(documents(), before + 1);
    ASSERT_EQ(way.sent.size(), 4u);
    for (const bson::Document& each : way.sent) EXPECT_EQ(each, way.sent.front()) << "the same session and number";
  }
}

TEST_F(RetryableRunsTest, ALostFindAndModifyIsAnsweredWithItsDocument) {
  for (int n = 1; n <= 3; ++n) {
    way.fates = {{true, {ErrorCode::kHostUnreachable, "lost"}}};
    const auto reply = run(kCount);
    ASSERT_TRUE(reply.isOK()) << reply.status().toString();
    EXPECT_EQ(reply->view().at("value.n").toInt64(), n);
  }
  EXPECT_EQ(runs.sessions(), 1u) << "one after the other they use one session";
  EXPECT_EQ(numberOf(way.sent.back()), 3);
}

TEST_F(RetryableRunsTest, AnAnsweredFailureIsFinal) {
  for (const ErrorCode code : {ErrorCode::kInternalError, ErrorCode::kNoSuchKey, ErrorCode::kDuplicateKey,
                               ErrorCode::kUnauthorized, ErrorCode::kTransactionTooOld}) {
    way.sent.clear();
    way.fates = {{true, {code, "answered"}}};
    EXPECT_EQ(run(kInsert).status().code(), code);
    EXPECT_EQ(way.sent.size(), 1u);
  }
}

TEST_F(RetryableRunsTest, AWriteConcernThatFailsWithItsPrimaryIsAwaitedAgain) {
  const auto fail = [&](int code) {
    const std::string data =
        R"({"failCommands": ["insert"], "writeConcernError": {"errmsg": "x", "code": )" + std::to_string(code) + "}}";
    server.run(
        bson::fromJson(R"({"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": )" + data + "}").value(),
        "admin");
  };
  fail(91);
  const auto safe = run(kInsert);
  ASSERT_TRUE(safe.isOK());
  EXPECT_FALSE((*safe)["writeConcernError"].ok());
  EXPECT_EQ(documents(), 1u);
  EXPECT_EQ(way.sent.size(), 2u);
  fail(64);
  const auto late = run(kInsert);
  ASSERT_TRUE(late.isOK());
  EXPECT_EQ(late->view().at("writeConcernError.code").toInt64(), 64) << "that is the caller's to judge";
  EXPECT_EQ(way.sent.size(), 3u);
}

TEST_F(RetryableRunsTest, EndsAtItsDeadline) {
  for (int i = 0; i < 1000; ++i) way.fates.push_back({false, {ErrorCode::kHostUnreachable, "cut off"}});
  const TimePoint begun = server.time->now();
  const Status failure = run(kInsert, 5s).status();
  EXPECT_EQ(failure, ErrorCode::kHostUnreachable);
  EXPECT_NE(failure.reason().find("not known"), std::string::npos) << failure.reason();
  EXPECT_LE(server.time->now() - begun, 5s + 20ms);
  EXPECT_GE(server.time->now() - begun, 4900ms);
  EXPECT_LT(way.sent.size(), 30u) << "it pauses between attempts";
  EXPECT_EQ(run(kInsert, 0s).status(), ErrorCode::kMaxTimeMSExpired);
}

TEST_F(RetryableRunsTest, ANodeThatStandsAloneIsSentNoNumbers) {
  CommandNode alone;
  LossyWay here(alone);
  RetryableRuns writes(alone.node, here, "n1", {.numbered = false});
  const auto outcome = noted();
  alone.node.start(keep(writes.run("test", bson::fromJson(kInsert).value(), alone.time->now() + 60s), outcome));
  alone.node.run();
  ASSERT_TRUE(*outcome && (*outcome)->isOK());
  ASSERT_EQ(here.sent.size(), 1u);
  EXPECT_FALSE(here.sent.front()["txnNumber"].ok() || here.sent.front()["lsid"].ok());
}

TEST_F(RetryableRunsTest, RunsAtOnceHaveSessionsOfTheirOwn) {
  way.fates = {{false, {ErrorCode::kMaxTimeMSExpired, "no answer"}}};
  const auto slow = begin(kInsert), other = begin(kInsert), next = begin(kInsert);
  EXPECT_FALSE(*slow);
  ASSERT_TRUE(*other && *next);
  EXPECT_TRUE((*other)->isOK() && (*next)->isOK());
  ASSERT_EQ(way.sent.size(), 3u);
  const auto session = [&](size_t i) { return way.sent[i]["lsid"].asDocument(); };
  EXPECT_FALSE(session(0) == session(1));
  EXPECT_TRUE(session(1) == session(2)) << "one that is free is used again";
  EXPECT_EQ(numberOf(way.sent[2]), numberOf(way.sent[1]) + 1);
  EXPECT_EQ(runs.sessions(), 2u);
  server.node.advance(11s);
  ASSERT_TRUE(*slow);
  EXPECT_TRUE((*slow)->isOK());
  EXPECT_EQ(documents(), 3u);
}

/// Which says nothing about what was done.
TEST_F(RetryableRunsTest, AnInterruptedCommandIsSentAgain) {
  ASSERT_TRUE(server.run(R"({"create": "c"})"_json)["ok"].truthy());
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  const auto waiting = begin(kInsert);
  ASSERT_TRUE(server.run(R"({"killAllSessions": []})"_json, "admin")["ok"].truthy());
  holder.release();
  for (int steps = 0; !*waiting && steps < 1000; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(*waiting && (*waiting)->isOK());
  ASSERT_EQ(way.sent.size(), 2u);
  EXPECT_EQ(way.sent[1], way.sent[0]);
  EXPECT_EQ(documents(), 1u);
}

/// As a coordinator does that has crashed in between: another object, the same session and number.
TEST_F(RetryableRunsTest, ANumberOfTheCallersOwnRunsOnceAndIsAnsweredAlike) {
  RetryableRuns::SessionNumber mine{.id = {}, .txnNumber = 7};
  mine.id.bytes[0] = 1;
  const auto count = [&](RetryableRuns& by) {
    return end(start(by.run(mine, "test", bson::fromJson(kCount).value(), server.time->now() + 60s)));
  };
  const auto first = count(runs);
  ASSERT_TRUE(first.isOK()) << first.status().toString();
  EXPECT_EQ(first->view().at("value.n").toInt64(), 1);
  RetryableRuns after(server.node, way, "n1:1");
  const auto again = count(after);
  ASSERT_TRUE(again.isOK()) << again.status().toString();
  EXPECT_EQ((*again)["value"].asDocument(), (*first)["value"].asDocument());
  EXPECT_TRUE((*again)["retriedStmtId"].ok());
  EXPECT_EQ(way.sent[0], way.sent[1]);
  const bson::Document lsid = bson::doc("id", mine.id);
  EXPECT_TRUE(way.sent[0]["lsid"].asDocument() == lsid.view());
  EXPECT_EQ(after.sessions(), 0u) << "it needs none of its own";
  ++mine.txnNumber;
  EXPECT_EQ(count(after)->view().at("value.n").toInt64(), 2);
}

/// A session that a dropped run has left is used again: what is still on its way under the old number comes too late.
TEST_F(RetryableRunsTest, ADroppedRunGivesItsSessionBack) {
  way.fates = {{false, {ErrorCode::kMaxTimeMSExpired, "no answer"}}};
  const Address actor = server.node.spawn<RunningActor>(
      "/running", keep(runs.run("test", bson::fromJson(kInsert).value(), server.time->now() + 60s), noted()));
  server.node.run();
  ASSERT_EQ(way.sent.size(), 1u);
  server.node.kill(actor, Status(ErrorCode::kInterrupted, "for the test"));
  server.node.run();
  ASSERT_TRUE(run(kInsert).isOK());
  ASSERT_EQ(way.sent.size(), 2u);
  EXPECT_TRUE(way.sent[1]["lsid"].asDocument() == way.sent[0]["lsid"].asDocument());
  EXPECT_EQ(numberOf(way.sent[1]), numberOf(way.sent[0]) + 1);
  EXPECT_EQ(runs.sessions(), 1u);
  EXPECT_EQ(static_cast<ErrorCode>(server.run(way.sent[0])["code"].toInt64()), ErrorCode::kTransactionTooOld);
  EXPECT_EQ(documents(), 1u);
}

TEST(IsSentAgain, WhatPassesByItself) {
  EXPECT_TRUE(isSentAgain({ErrorCode::kPrimarySteppedDown, ""}));
  EXPECT_TRUE(isSentAgain({ErrorCode::kMaxTimeMSExpired, ""}));
  EXPECT_FALSE(isSentAgain(Status::OK()));
  EXPECT_FALSE(isSentAgain({ErrorCode::kInternalError, ""}));
}

}  // namespace troupe::server
