#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/replication/initial_syncer.hpp"
#include "actors/replication/replication_progress.hpp"
#include "messaging/bson/json.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/replication/command_source.hpp"
#include "test/unit/storage/oplog/member_fixture.hpp"

namespace troupe::replication::test {

using namespace std::chrono_literals;
using commands::CommandNode;
using storage::NodeContents;

/// Calls a test within each unit of work that changes replicated data of a node.
class ChangeWatch final : public storage::WriteObserver {
 public:
  explicit ChangeWatch(std::function<void()> look) : look_(std::move(look)) {}
  bool observes(const storage::CatalogEntry& entry) const override { return entry.ns.isReplicated(); }
  Status onInsert(storage::RecoveryUnit&, const storage::Collection&, const storage::InsertOperation&) override {
    return looked();
  }
  Status onUpdate(storage::RecoveryUnit&, const storage::Collection&, const storage::UpdateOperation&) override {
    return looked();
  }
  Status onDrop(storage::RecoveryUnit&, const storage::Collection&, const OpTime&) override { return looked(); }

 private:
  Status looked() {
    look_();
    return Status::OK();
  }
  std::function<void()> look_;
};

/// A member without data beside a primary, which is a whole node with all its commands.
class InitialSyncFixture : public ::testing::Test {
 protected:
  static constexpr const char* kPath = "/test/initial-sync";

  /// Which collections are filled, and how far.
  struct Filling {
    int64_t from = 1000;
    size_t maxKeyBytes = 1 << 20;
  };
  InitialSyncFixture() : InitialSyncFixture(Filling()) {}
  explicit InitialSyncFixture(Filling filling) : filling(filling) {
    commands::becomePrimary(source);
    openTarget({});
  }
  ~InitialSyncFixture() override { closeTarget(); }

  void openTarget(storage::DeterministicDisk disk) {
    target = std::make_unique<CommandNode>(CommandNode::Options{
        .disk = std::move(disk), .replicated = true, .name = "n2:1", .replicaSet = "rs", .observers = {&watch}});
    if (!members) members = std::make_unique<CommandSource>(source, target->node);
    members->askedBy(target->node);
    writer = std::make_unique<BatchWriter>(
        BatchWriter::Parts{target->node, *target->catalog, *target->assembly.oplog(),
                           target->assembly.storageAccess().operations},
        BatchWriter::Options{.mode = storage::ApplyMode::kReplaying, .writers = 3, .entriesPerWriter = 4});
    actor = target->node.spawn<InitialSyncer>(kPath, parts());
    target->node.run();
  }
  void closeTarget() {
    target.reset();
    writer.reset();
  }
  /// The disk as it was then is there again.
  void startFrom(storage::DeterministicDisk disk) {
    closeTarget();
    done.reset();
    answer.reset();
    openTarget(std::move(disk));
  }

  InitialSyncParts parts() {
    InitialSyncParts made;
    made.storage = std::make_shared<machines::StorageAccess>(target->assembly.storageAccess());
    made.oplog = target->assembly.oplog();
    made.endOfLog = target->assembly.endOfLog();
    made.writes = target->server->operations.replicated;
    made.members = members.get();
    made.writer = writer.get();
    made.status = status;
    made.log = &target->log;
    made.candidates = [this] { return candidates(); };
    made.setState = [this](bool on) { return noted(on ? "STARTUP2" : "SECONDARY"); };
    made.stopFollowing = [this] { return noted("stops following"); };
    made.followAgain = [this] { states.emplace_back("follows again"); };
    made.done = [this](const OpTime& at) { done = at; };
    made.fail = [this](const Status& why) { failures.push_back(why.reason()); };
    made.unit = {.maxEntries = 2, .maxBytes = 1 << 20};
    made.patience = 3s;
    made.loadFrom = filling.from;
    made.maxKeyBytes = filling.maxKeyBytes;
    made.roomFor = [this](size_t bytes) -> Status {
      const bool has = capacity ? bytesOnDisk() + static_cast<int64_t>(bytes) <= *capacity : room-- > 0;
      return has ? Status::OK() : Status(ErrorCode::kOutOfDiskSpace, "the disk is full");
    };
    made.beforeStep = [this] {
      if (onStep) onStep();
    };
    return made;
  }
  Candidates candidates() {
    look();
    Candidates known;
    SourceCandidate primary;
    primary.host = known.primary = "n1:1";
    primary.state = MemberState::kPrimary;
    primary.applied = source.server->progress->applied();
    if (isReachable) known.members.push_back(primary);
    return known;
  }
  /// Keeps the disk as a kill leaves it the first time that the sync is in the wanted phase.
  void look() {
    if (!wantedPhase.empty() && phase() == wantedPhase) diskInPhase = target->engine->disk(), wantedPhase.clear();
  }
  Task<Status> noted(const char* state) {
    look();
    states.emplace_back(state);
    co_return Status::OK();
  }

  void onSource(std::string_view json, std::string_view db = "test") {
    const auto command = bson::fromJson(json);
    ASSERT_TRUE(command.isOK()) << json;
    const auto reply = source.run(*command, db);
    ASSERT_TRUE(reply["ok"].truthy() && !reply["writeErrors"].ok()) << json << "\n" << bson::toRelaxedJson(reply);
  }
  void dataOfAllKinds() {
    onSource(R"({"create": "capped", "capped": true, "size": 4096, "max": 4})");
    for (int i = 0; i < 6; ++i) onSource(R"({"insert": "capped", "documents": [{"_id": )" + std::to_string(i) + "}]}");
    onSource(R"({"create": "clustered", "clusteredIndex": {"key": {"_id": 1}, "unique": true}})");
    onSource(R"({"insert": "clustered", "documents": [{"_id": 5}, {"_id": 2}, {"_id": 9}, {"_id": 1}]})");
    onSource(R"({"create": "strict", "validator": {"a": {"$gt": 0}}, "collation": {"locale": "en", "strength": 2}})");
    onSource(R"({"insert": "strict", "documents": [{"_id": "x", "a": 1}, {"_id": "y", "a": 2}]})");
    onSource(R"({"create": "view", "viewOn": "many", "pipeline": [{"$match": {"a": 1}}]})");
    onSource(R"({"createIndexes": "empty", "indexes": [{"key": {"e": 1}, "name": "e_1"}]})");
    for (int i = 0; i < 10; ++i)
      onSource(R"({"insert": "many", "documents": [{"_id": )" + std::to_string(i) + R"(, "u": )" + std::to_string(i) +
               R"(, "t": [1, )" + std::to_string(i) + R"(], "p": )" + std::to_string(i % 3) + "}]}");
    onSource(R"({"createIndexes": "many", "indexes": [{"key": {"u": 1}, "name": "u_1", "unique": true},
                {"key": {"t": 1}, "name": "t_1"},
                {"key": {"p": 1}, "name": "p_1", "partialFilterExpression": {"p": {"$gt": 0}}}]})");
    onSource(R"({"insert": "big", "documents": [{"_id": 1, "text": ")" + std::string(2'000'000, 'x') + "\"}]}");
    onSource(R"({"insert": "c", "documents": [{"_id": 1}]})", "other");
  }

  void begin() { target->node.start(ask(this)); }
  static Task<void> ask(InitialSyncFixture* test) {
    Payload question = local(BeginInitialSync{});
    auto asked = test->target->node.ask(test->actor, std::move(question), 600s);
    test->answer.emplace(co_await asked);
  }
  void goOn(int steps = 1) {
    for (int i = 0; i < steps; ++i) {
      target->node.advance(10ms);
      source.node.advance(10ms);
    }
  }
  bool runUntil(std::string_view wanted) {
    for (int i = 0; i < 5000 && phase() != wanted; ++i) target->node.advance(1ms);
    return phase() == wanted;
  }
  void finish() {
    for (int i = 0; i < 3000 && !done && failures.empty(); ++i) goOn();
    goOn(10);
  }
  std::string phase() {
    std::string shown;
    for (const auto& row : target->node.registry().rows({}))
      if (row.toBson()["path"].toStringOr() == kPath) shown = row.toBson()["phase"].toStringOr();
    return shown;
  }

  NodeContents contents(CommandNode& node) { return {*node.catalog, node.storageSessions}; }
  /// Names and numbers of documents, as the counters have them.
  static std::map<std::string, int64_t> counts(CommandNode& node) {
    std::map<std::string, int64_t> all;
    const auto snapshot = node.catalog->snapshot();
    for (const std::string& db : snapshot->databases())
      for (const auto& each : snapshot->collections(db))
        if (each->ns().isReplicated() && !each->isView()) all[each->ns().toString()] = each->records().count();
    return all;
  }
  static std::vector<int> inNaturalOrder(CommandNode& node, const char* ns) {
    storage::OperationContext reader({.sessions = node.storageSessions});
    auto cursor = node.catalog->find(storage::Namespace::split(ns))->records().cursor(reader.recoveryUnit());
    std::vector<int> ids;
    while (*cursor->next()) ids.push_back(cursor->document()["_id"].asInt32());
    return ids;
  }
  /// What the tables of the target take, also of collections that have been dropped.
  int64_t bytesOnDisk() { return target->engine->statistics().cacheBytesInUse; }
  std::vector<bson::Timestamp> ownLog() {
    storage::OperationContext reader({.sessions = target->storageSessions});
    auto cursor = target->assembly.oplog()->cursor(reader.recoveryUnit());
    std::vector<bson::Timestamp> times;
    while (*cursor->next()) times.push_back(cursor->time());
    return times;
  }
  void expectTheSame() {
    ASSERT_TRUE(done) << phase() << " " << bson::toRelaxedJson(status->toBson({0}));
    EXPECT_THAT(failures, testing::IsEmpty());
    EXPECT_EQ(contents(*target), contents(source));
    EXPECT_EQ(counts(*target), counts(source));
    EXPECT_EQ(inNaturalOrder(*target, "test.capped"), inNaturalOrder(source, "test.capped"));
    EXPECT_EQ(phase(), "idle");
  }

  const Filling filling;
  std::string wantedPhase;
  std::optional<storage::DeterministicDisk> diskInPhase;
  ChangeWatch watch{[this] { look(); }};
  CommandNode source{CommandNode::Options{.replicated = true, .name = "n1:1", .replicaSet = "rs"}};
  std::unique_ptr<CommandNode> target;
  std::unique_ptr<CommandSource> members;
  std::unique_ptr<BatchWriter> writer;
  std::shared_ptr<SyncStatus> status = std::make_shared<SyncStatus>();
  Address actor;
  bool isReachable = true;
  int64_t room = std::numeric_limits<int64_t>::max();  ///< as often there is room on the disk
  std::optional<int64_t> capacity;                     ///< of the disk, in bytes; nothing: `room` counts
  std::function<void()> onStep;
  std::vector<std::string> states, failures;
  std::optional<OpTime> done;
  std::optional<Answer> answer;
};

}  // namespace troupe::replication::test
