#include "test/simulation/driver.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <set>

#include "messaging/bson/json.hpp"
#include "messaging/wire/message_builder.hpp"
#include "messaging/wire/op_msg.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using checkers::Outcome;

/// Nodes that are only there.
class Bystander final : public Program {
 public:
  void configure(const std::string&, supervisors::AssemblyOptions&) override {}
  void died(const std::string&) override {}
};

/// A driver, and a server that answers what the test says; a reply that is missing closes the connection.
class DriverTest : public testing::Test {
 protected:
  DriverTest() {
    server.start(acceptAll(port.get()));
    cluster.run(1ms);
  }
  DriverReply run(std::deque<std::optional<std::string>> replies, Driver::Retry retry = Driver::Retry::kNever) {
    script = std::move(replies);
    outcome.reset();
    client.start(ask(retry));
    cluster.runUntil([this] { return outcome.has_value(); }, 60s);
    return outcome ? std::move(*outcome) : DriverReply();
  }

  Bystander bystander;
  Simulation cluster{3, {"n1:1"}, bystander};
  Node& server = cluster.addMachine("server");
  Node& client = cluster.addMachine("client");
  std::unique_ptr<transport::Port> port = cluster.streams().listen(server, "", 0, {});
  std::vector<Status> heard;
  Driver driver{client, cluster.streams(), {"server"}, [this](const DriverReply& r) { heard.push_back(r.status); }};
  std::deque<std::optional<std::string>> script;
  std::optional<DriverReply> outcome;
  std::vector<int64_t> numbers;  ///< of commands that had one
  int connections = 0, commands = 0;
  bool isPrimary = true;

 private:
  Task<void> ask(Driver::Retry retry) {
    const bson::Document command = bson::doc("find", "c");
    DriverReply reply = co_await driver.run("test", command, retry);
    outcome.emplace(std::move(reply));
  }
  Task<void> acceptAll(transport::Port* at) {
    for (;;) {
      auto arrival = co_await at->accept();
      if (!arrival.isOK()) co_return;
      ++connections;
      server.start(serve((*arrival)->take(false)));
    }
  }
  Task<void> serve(std::shared_ptr<transport::Transport> transport) {
    const auto reader = std::make_shared<wire::FrameReader>();
    for (;;) {
      const auto n = co_await transport->read(reader);
      if (!n.isOK()) co_return;
      const auto frame = reader->next();
      if (!frame.isOK() || frame->empty()) continue;
      const auto answer = answerTo(*frame);
      if (!answer) co_return;
      if (!transport->writeNow(*answer).isOK()) co_return;
    }
  }
  std::optional<std::string> answerTo(std::string_view frame) {
    const auto request = wire::parseOpMsg(frame);
    std::string body = isPrimary ? R"({"isWritablePrimary": true, "ok": 1})" : R"({"secondary": true, "ok": 1})";
    if (request->body.first().name() != "hello") {
      ++commands;
      if (const bson::Element number = request->body["txnNumber"]) numbers.push_back(number.toInt64());
      if (script.empty()) return std::nullopt;
      if (!script.front()) {
        if (script.size() > 1) script.pop_front();
        return std::nullopt;
      }
      body = *script.front();
      script.pop_front();
    }
    wire::MessageBuilder reply;
    reply.body().appendAll(*bson::fromJson(body));
    return std::move(reply).finish({.requestId = 1, .responseTo = request->header.requestId});
  }
};

std::string failure(int code) { return R"({"ok": 0, "errmsg": "so", "code": )" + std::to_string(code) + "}"; }

TEST_F(DriverTest, TellsWhatCertainlyDidNothingFromWhatNobodyKnows) {
  EXPECT_EQ(run({R"({"ok": 1, "n": 1})"}).outcome, Outcome::kOk);
  EXPECT_EQ(run({R"({"ok": 1, "writeErrors": [{"index": 0, "code": 11000, "errmsg": "there"}]})"}).outcome,
            Outcome::kFailed);
  EXPECT_EQ(run({failure(10107)}).outcome, Outcome::kFailed);
  EXPECT_EQ(run({failure(11602)}).outcome, Outcome::kUnknown);
  EXPECT_EQ(run({R"({"ok": 1, "n": 1, "writeConcernError": {"code": 64, "errmsg": "so"}})"}).outcome,
            Outcome::kUnknown);
  EXPECT_EQ(run({std::nullopt}).outcome, Outcome::kUnknown) << "no answer";
  ASSERT_EQ(heard.size(), 6u);
}

TEST_F(DriverTest, AnErrorThatNoFaultExplainsIsToldFromOthers) {
  for (const int code : {11000, 10107, 11602, 91}) EXPECT_TRUE(run({failure(code)}).isExplained) << code;
  for (const int code : {1, 2, 8, 26, 43, 50, 112}) EXPECT_FALSE(run({failure(code)}).isExplained) << code;
  run({failure(10107)});
  isPrimary = false;
  const DriverReply never = run({});
  EXPECT_EQ(never.status, ErrorCode::kFailedToSatisfyReadPreference);
  EXPECT_EQ(never.outcome, Outcome::kFailed);
  EXPECT_FALSE(never.isExplained) << "no fault lasts as long as a selection";
}

TEST_F(DriverTest, AReadIsSentAgainOnceWhenItsConnectionBreaksOrItsServerChangesItsRole) {
  EXPECT_EQ(run({std::nullopt}, Driver::Retry::kOnce).outcome, Outcome::kUnknown) << "twice without an answer";
  EXPECT_EQ(commands, 2);
  EXPECT_EQ(run({failure(10107), R"({"ok": 1})"}, Driver::Retry::kOnce).outcome, Outcome::kOk);
  EXPECT_EQ(run({failure(11602), failure(11602)}, Driver::Retry::kOnce).outcome, Outcome::kUnknown) << "once only";
  EXPECT_EQ(run({failure(11000), R"({"ok": 1})"}, Driver::Retry::kOnce).outcome, Outcome::kFailed) << "not for that";
}

TEST_F(DriverTest, ANumberedWriteIsSentAgainAsItWas) {
  constexpr auto kNumbered = Driver::Retry::kNumbered;
  EXPECT_EQ(run({std::nullopt, failure(10107), R"({"ok": 1})"}, kNumbered).outcome, Outcome::kOk);
  ASSERT_EQ(commands, 3);
  EXPECT_EQ(std::set<int64_t>(numbers.begin(), numbers.end()), std::set<int64_t>({1}));
  EXPECT_EQ(run({R"({"ok": 1})"}, kNumbered).outcome, Outcome::kOk);
  EXPECT_EQ(numbers.back(), 2);
  EXPECT_EQ(run({std::nullopt, failure(10107), failure(10107), failure(10107), failure(10107)}, kNumbered).outcome,
            Outcome::kUnknown)
      << "the attempt without an answer may have been carried out";
  EXPECT_EQ(run({failure(10107), failure(11000)}, kNumbered).outcome, Outcome::kFailed);
}

TEST_F(DriverTest, AServerThatChangedItsRoleIsSelectedAnew) {
  run({R"({"ok": 1})"});
  run({R"({"ok": 1})"});
  EXPECT_EQ(connections, 1);
  run({failure(10107)});
  run({R"({"ok": 1})"});
  EXPECT_EQ(connections, 2);
}

}  // namespace
}  // namespace troupe::sim
