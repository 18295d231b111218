#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/transport/command_service.hpp"
#include "actors/transport/run_command.hpp"
#include "messaging/bson/json.hpp"
#include "test/unit/actors/commands/command_node.hpp"
#include "test/unit/actors/transport/link_fixture.hpp"

namespace troupe::transport {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;
using link::LinkTest;

/// Two nodes with a link between them, on virtual time: `a` asks, `server` has the commands.
class RemoteCommandTest : public LinkTest {
 protected:
  explicit RemoteCommandTest(bool authentication = false, const std::string& key = "secret")
      : server(CommandNode::Options{.authentication = authentication, .name = "b:2", .time = time}) {
    auto wanted = settings(key);
    wanted.anonymous = key.empty() ? link::Anonymous::kAnyone : link::Anonymous::kNobody;
    Node& node = server.node;
    guests["b:2"] = &node;
    node.spawn<link::LinkManager>(link::kLinksPath, std::make_shared<link::Links>(node, wanted));
    a = &add("a:1", wanted);
    link::ConnectPeer peer{"b:2"};
    tell(*a, local(std::move(peer)));
  }
  void TearDown() override {
    server.node.shutdown();
    guests.clear();
    LinkTest::TearDown();
  }

  template <class T>
  using Outcome = std::shared_ptr<std::optional<T>>;
  template <class T>
  Outcome<T> begin(Task<T> task) {
    auto outcome = std::make_shared<std::optional<T>>();
    a->node.start(keep(std::move(task), outcome));
    settle();
    return outcome;
  }
  template <class T>
  static Task<void> keep(Task<T> task, Outcome<T> outcome) {
    outcome->emplace(co_await std::move(task));
  }
  StatusWith<CommandReply> run(const bson::Document& command, ActAs as = {}, const std::string& db = "test") {
    const auto outcome = begin(runCommand(a->node, "b:2", db, command, {std::move(as)}));
    for (int i = 0; i < 100 && !*outcome; ++i) advance(10ms);
    return *outcome ? std::move(**outcome) : StatusWith<CommandReply>(Status(ErrorCode::kInternalError, "no answer"));
  }
  ErrorCode code(const bson::Document& command, ActAs as = {}, const std::string& db = "test") {
    return run(command, std::move(as), db).status().code();
  }
  /// Commands of other nodes that run, and cursors that are open, on the server.
  int64_t remoteClients() {
    int64_t count = 0;
    server.clients.each([&](server::Client& client) { count += client.connectionId < 0; });
    return count;
  }
  int64_t cursors() { return server.cursors.statistics().open; }
  void fill(int count, size_t bytes) {
    for (int from = 0; from < count; from += 500) {
      bson::Builder b;
      b.append("insert", "c").openArray("documents");
      for (int i = from; i < std::min(count, from + 500); ++i)
        b.push(bson::doc("_id", i, "pad", std::string(bytes, 'x')));
      b.close();
      ASSERT_TRUE(server.run(b.finish())["ok"].truthy());
    }
  }
  /// A command that waits on the server for a minute.
  bson::Document blocked() {
    server.run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn",
                   "data": {"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 60000,
                            "failInternalCommands": true}})"_json,
               "admin");
    return bson::doc("ping", 1);
  }
  /// An actor of a that holds what a task gives it as long as it lives.
  Echo* holder() { return spawnEcho(*a, "/holder"); }
  void endHolder() {
    a->node.kill(a->node.address("/holder"), {ErrorCode::kInternalError, "it crashed"});
    settle();
  }

  CommandNode server;
  Member* a = nullptr;
};

}  // namespace troupe::transport
