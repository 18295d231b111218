#pragma once
#include <memory>
#include <string>
#include <vector>

#include "actors/maintenance/index_build_messages.hpp"
#include "storage/catalog/index_builder.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using commands::CommandNode;
using commands::Exchange;

/// Builds of indexes that a test holds between two of their steps, and what they must not leave.
class IndexBuildTest : public commands::CommandTest {
 protected:
  static constexpr const char* kBuildX = R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})";
  static constexpr const char* kUniqueX =
      R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1", "unique": true}]})";
  /// The points between the steps of a build over documents; at "setting up" nothing has been written.
  static constexpr const char* kPhases[] = {"setting up", "set up", "scanning", "committing"};

  IndexBuildTest() = default;
  explicit IndexBuildTest(CommandNode::Options options) : CommandTest(std::move(options)) {}

  /// More documents than are indexed in one unit of work.
  void fillC() { fill("c", 600); }
  void hold(std::string_view phase) { failPoint("hangIndexBuild", R"("alwaysOn")", phase); }
  void letGo() {
    failPoint("hangIndexBuild", R"("off")", "");
    server.node.advance(1s);
  }
  void failPoint(std::string_view name, std::string_view mode, std::string_view phase) {
    std::string command = R"({"configureFailPoint": ")" + std::string(name) + R"(", "mode": )" + std::string(mode);
    command += R"(, "data": {"phase": ")" + std::string(phase) + R"("}})";
    ASSERT_TRUE(succeeds(command, "admin"));
  }
  /// A createIndexes of another client, which is held at the point of the fail point, if any.
  std::shared_ptr<Exchange> beginBuild(std::string_view command = kBuildX) {
    auto build = server.begin(parse(command), "test", server.connect());
    server.node.advance(100ms);
    return build;
  }
  int64_t codeOf(Exchange& exchange) {
    EXPECT_TRUE(exchange.done);
    return exchange.done ? exchange.takeReply()["code"].toInt64() : -1;
  }
  std::vector<ActorRow> rows() { return server.node.registry().rows({.type = "IndexBuild"}); }
  /// The rows of currentOp that are builds, or operations of another name.
  std::vector<bson::Document> operations(std::string_view name = "^IndexBuild") {
    std::vector<bson::Document> found;
    const auto reply = server.run(bson::doc("currentOp", 1, "desc", bson::doc("$regex", name)), "admin");
    for (const bson::Element& e : reply["inprog"].asArray()) found.emplace_back(e.asDocument());
    return found;
  }
  void kill(int64_t operation) {
    ASSERT_TRUE(server.run(bson::doc("killOp", 1, "op", operation), "admin")["ok"].truthy());
    server.node.advance(1s);
  }
  /// What a build that failed leaves, of this node: nothing. The collection can be written, and its index built anew.
  void expectNothingLeft() { expectNothingLeft(server); }
  static void expectNothingLeft(CommandNode& node) {
    // On a member a table is kept as long as a read may go back to it: until the next note moves that time.
    node.parameters.minSnapshotHistoryWindowInSeconds = 0;
    node.node.advance(25s);
    EXPECT_TRUE(node.run(parse(R"({"fsync": 1})"), "admin")["ok"].truthy());
    node.node.advance(3s);  // the reaper takes tables that a checkpoint holds
    EXPECT_TRUE(node.node.registry().rows({.type = "IndexBuild"}).empty());
    EXPECT_TRUE(storage::unfinishedBuilds(*node.catalog->snapshot()).empty());
    EXPECT_EQ(node.locks.inUse(), 0u);
    EXPECT_EQ(node.admission.read().out() + node.admission.write().out(), 0);
    EXPECT_EQ(node.storageSessions.statistics().lent, 0);
    int builds = 0;
    node.clients.each([&](server::Client& client) { builds += client.connectionId < 0; });
    EXPECT_EQ(builds, 0) << "currentOp shows an operation that has ended";
    size_t tables = 0, indexes = 0;
    for (const std::string& table : node.engine->listTables()) tables += table.starts_with("index-");
    for (const std::string& db : node.catalog->snapshot()->databases())
      for (const auto& collection : node.catalog->snapshot()->collections(db)) indexes += collection->indexes().size();
    EXPECT_EQ(tables, indexes) << "a table without index, or the other way round";
  }
  void expectIndexOf(int documents) {
    const auto reply = run(R"({"validate": "c"})");
    EXPECT_TRUE(commands::holds(reply, bson::doc("valid", true, "keysPerIndex", bson::doc("x_1", documents))))
        << bson::toRelaxedJson(reply);
  }
};

}  // namespace troupe::maintenance
