#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "actors/replication/replication_progress.hpp"
#include "actors/server/session_catalog.hpp"
#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/actors/commands/command_node.hpp"
#include "test/unit/actors/lock_holder.hpp"

namespace troupe::commands {
using namespace server;

using bson::operator""_json;

/// Whether `actual` has all that `expected` has: fields of documents may be missing in `expected`, elements of arrays
/// may not; numbers are compared by value.
inline ::testing::AssertionResult holds(const bson::Element& actual, const bson::Element& expected) {
  const auto differs = [&] {
    return ::testing::AssertionFailure() << "'" << expected.name() << "' is "
                                         << (actual.ok() ? bson::toRelaxedJson(actual) : "missing") << ", expected "
                                         << bson::toRelaxedJson(expected);
  };
  if (!actual.ok()) return differs();
  if (!expected.isObjectLike())
    return bson::compareValues(actual, expected) == 0 ? ::testing::AssertionSuccess() : differs();
  if (actual.type() != expected.type()) return differs();
  if (expected.is(bson::Type::kArray) && actual.asArray().count() != expected.asArray().count()) return differs();
  for (const bson::Element& e : expected.asDocument()) {
    if (const auto result = holds(actual.asDocument()[e.name()], e); !result)
      return differs() << "; " << result.message();
  }
  return ::testing::AssertionSuccess();
}
inline ::testing::AssertionResult holds(bson::View actual, bson::View expected) {
  for (const bson::Element& e : expected) {
    if (auto result = holds(actual[e.name()], e); !result) return result << "\n  in " << bson::toRelaxedJson(actual);
  }
  return ::testing::AssertionSuccess();
}

/// Tests that read as a conversation: EXPECT_TRUE(answers(R"({"ping": 1})", R"({"ok": 1})")).
class CommandTest : public ::testing::Test {
 protected:
  CommandTest() = default;
  explicit CommandTest(CommandNode::Options options) : server(std::move(options)) {}

  /// No command leaves a lock, a ticket, a slot, a pinned cursor, a session of its own or of the storage, a wait for
  /// its set or reserved memory behind. Idle cursors may keep sessions and memory: until they end.
  void TearDown() override {
    server.node.run();
    expectSessionsAndWaitsToEnd();
    EXPECT_EQ(server.locks.inUse(), 0u);
    EXPECT_EQ(server.admission.read().out() + server.admission.write().out(), 0);
    EXPECT_EQ(server.cursors.statistics().pinned, 0);
    server.cursors.killIf([](const ClientCursor&) { return true; }, server::CursorRegistry::Afterwards::kNotFound);
    EXPECT_EQ(server.storageSessions.statistics().lent, 0);
    const storage::OperationServices& services = server.server->operations;
    EXPECT_EQ(services.memory->reserved(), 0);
    if (services.replicated) {
      EXPECT_EQ(services.replicated->slots.openReservations(), 0u);
    }
  }

  bson::Document run(std::string_view json, std::string_view db = "test") { return server.run(parse(json), db); }
  ::testing::AssertionResult answers(std::string_view json, std::string_view expected, std::string_view db = "test") {
    return holds(run(json, db), parse(expected));
  }
  ::testing::AssertionResult succeeds(std::string_view json, std::string_view db = "test") {
    return answers(json, R"({"ok": 1})", db);
  }
  /// The code of the error the command ends with; 0 for success.
  int64_t code(std::string_view json, std::string_view db = "test") {
    const bson::Document reply = run(json, db);
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1);
  }
  /// The documents of a first batch, as relaxed JSON.
  std::vector<std::string> batch(std::string_view json, std::string_view db = "test") {
    const bson::Document reply = run(json, db);
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    std::vector<std::string> documents;
    const auto first = reply.view().at("cursor.firstBatch");
    if (!first.is(bson::Type::kArray)) return documents;
    for (const bson::Element& e : first.asArray()) documents.push_back(bson::toRelaxedJson(e.asDocument()));
    return documents;
  }
  static bson::Document parse(std::string_view json) {
    auto parsed = bson::fromJson(json);
    EXPECT_TRUE(parsed.isOK()) << parsed.status().toString() << " in " << json;
    return parsed.isOK() ? *parsed : bson::Document();
  }
  static bson::Document with(std::string_view json, bson::View more) {
    return bson::Builder().appendAll(parse(json)).appendAll(more).finish();
  }
  /// Fills a collection with {_id: 1..count}.
  void fill(std::string_view collection, int count) {
    bson::Builder b;
    b.append("insert", collection).openArray("documents");
    for (int i = 1; i <= count; ++i) b.push(bson::doc("_id", i, "x", i % 10));
    b.close();
    ASSERT_TRUE(server.run(b.finish())["ok"].truthy());
  }

  CommandNode server;

 private:
  /// Of a member itself: its reporter's, and the one that wakes tails of what is committed.
  static constexpr size_t kOwnWaits = 2;

  bool areSessionsFree() const {
    const auto isHeld = [](const FamilyRow& family) { return family.inUse || family.waiters > 0; };
    return !server.server->sessionCatalog || std::ranges::none_of(server.server->sessionCatalog->families(), isHeld);
  }
  /// Where a test has held commits, or the disk, what awaits them goes on waiting.
  bool areWaitsOver() const {
    const auto* const progress = server.server->progress;
    return !progress || progress->commitPoint() < progress->applied() || progress->waiters() <= kOwnWaits;
  }
  /// Services of the node write in sessions and await a majority as well: they may need a moment to end.
  void expectSessionsAndWaitsToEnd() {
    for (int steps = 0; !(areSessionsFree() && areWaitsOver()) && steps < 100; ++steps)
      server.node.advance(std::chrono::milliseconds(10));
    EXPECT_TRUE(areSessionsFree()) << "an operation has left its logical session checked out";
    EXPECT_TRUE(areWaitsOver()) << server.server->progress->waiters()
                                << " waits for a set that has all that was written";
  }
};

}  // namespace troupe::commands
