#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/json.hpp"
#include "messaging/wire/message_builder.hpp"
#include "messaging/wire/op_msg.hpp"
#include "test/simulation/driver.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// Nodes that are only there.
class Bystander final : public Program {
 public:
  void configure(const std::string&, supervisors::AssemblyOptions&) override {}
  void died(const std::string&) override {}
};

/// A driver, and a server that answers what the test says; a reply that is missing closes the connection.
class ScriptedServer : public testing::Test {
 protected:
  ScriptedServer() {
    server.start(acceptAll(port.get()));
    cluster.run(std::chrono::milliseconds(1));
  }

  static std::string failure(int code) { return R"({"ok": 0, "errmsg": "so", "code": )" + std::to_string(code) + "}"; }

  Bystander bystander;
  Simulation cluster{3, {"n1:1"}, bystander};
  Node& server = cluster.addMachine("server");
  Node& client = cluster.addMachine("client");
  std::unique_ptr<transport::Port> port = std::move(cluster.streams().listen(server, {"any"}, 0, {}).front());
  std::vector<Status> heard;
  Driver driver{client, cluster.streams(), {"server"}, [this](const DriverReply& r) { heard.push_back(r.status); }};
  std::deque<std::optional<std::string>> script;  ///< the replies to come
  std::vector<int64_t> numbers;                   ///< of commands that had one
  int connections = 0, commands = 0;
  bool isPrimary = true;

 private:
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

}  // namespace troupe::sim
