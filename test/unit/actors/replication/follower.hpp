#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "actors/replication/followed_builds.hpp"
#include "actors/replication/oplog_applier.hpp"
#include "storage/catalog/node_state.hpp"
#include "storage/locks/lock_manager.hpp"
#include "test/unit/storage/oplog/member_fixture.hpp"

namespace troupe::replication {

/// A member with its own log and an applier, on a node without threads; a test plays its fetcher. Its data are those of
/// storage::Member: none at first. Within a test with parameter StorageUnderTest.
class Follower {
 public:
  struct Options {
    storage::ApplyMode mode = storage::ApplyMode::kFollowing;
    storage::BatchLimits limits = {};
    storage::UnitLimits unit = {};
    size_t writers = 3;
    size_t bufferBytes = size_t{64} << 20;
  };
  Follower() : Follower(Options{}) {}
  explicit Follower(const Options& options) : data(options.mode), buffer(options.bufferBytes), options_(options) {
    openNode();
  }
  ~Follower() { closeNode(); }
  Follower(const Follower&) = delete;

  void openNode() {
    auto opened = storage::OplogStore::open(data.harness->engine(), *data.pool, {}, writes.visibility);
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    log = std::move(*opened);
    node = std::make_unique<Node>(NodeOptions{.name = "n2", .environment = time, .manual = true});
    storage::OperationServices ofScans = services();
    ofScans.node = &role;
    const auto operationOf = [this, ofScans](const bson::Uuid&, const storage::Namespace&, bson::Document command) {
      scanned.push_back(std::move(command));
      return std::make_shared<storage::OperationContext>(ofScans, storage::OperationOrigin::kApplier);
    };
    builds = std::make_unique<FollowedBuilds>(
        FollowedBuilds::Parts{*node, *data.catalog, operationOf,
                              [this](int64_t documents) { return documents >= scansGoTo ? scansAwait : nullptr; },
                              [this](const bson::Uuid&, const Status& why) { failedScans.push_back(why); }});
    writer = std::make_unique<BatchWriter>(
        BatchWriter::Parts{
            *node, *data.catalog, *log, services(),
            [this](const BatchWriter::AppliedUnit& unit) { units.emplace_back(unit.first.operation.ns, unit.count); },
            builds.get()},
        BatchWriter::Options{
            .mode = options_.mode, .writers = options_.writers, .entriesPerWriter = 4, .unit = options_.unit});
  }
  void closeNode() {
    if (node) node->shutdown();
    writer.reset();
    builds.reset();
    node.reset();
    log.reset();
  }
  /// What was flushed is there again; no applier runs.
  void crash() {
    closeNode();
    data.crash();
    memory = std::make_unique<ApplierMemory>();
    openNode();
  }

  storage::OperationServices services() {
    return {.sessions = *data.pool, .times = &times, .locks = &locks, .replicated = &writes};
  }
  OplogApplier::Parts parts() {
    return {.buffer = &buffer,
            .writer = writer.get(),
            .writes = &writes,
            .memory = memory.get(),
            .applied =
                [this](const OpTime& end, bson::Date) {
                  ends.push_back(end);
                  times.applied = end.timestamp;
                },
            .fail = [this](const Status& why) { failures.push_back(why); },
            .roomFor = [this](size_t bytes) -> Status {
              asksForRoom.push_back(bytes);
              return hasRoom ? Status::OK() : Status(ErrorCode::kOutOfDiskSpace, "the disk is full");
            },
            .delay = delay,
            .limits = options_.limits};
  }
  void startApplier() { applier = node->spawn<OplogApplier>(kOplogApplierPath, parts()); }

  // --- As the fetcher
  static std::vector<FetchedEntry> fetched(const std::vector<bson::Document>& entries) {
    std::vector<FetchedEntry> made;
    for (const bson::Document& each : entries) made.push_back({each, {each["t"].asInt64(), each["ts"].asTimestamp()}});
    return made;
  }
  void push(const std::vector<bson::Document>& entries) { node->start(pushAll(&buffer, fetched(entries))); }
  /// Entries `from` to `to` of the log in pushes of at most `atATime`.
  void pushInParts(const std::vector<bson::Document>& entries, size_t atATime) {
    for (size_t at = 0; at < entries.size(); at += atATime) {
      const auto end = entries.begin() + static_cast<ptrdiff_t>(std::min(entries.size(), at + atATime));
      push({entries.begin() + static_cast<ptrdiff_t>(at), end});
      node->run();
    }
  }
  /// Pushes everything and runs until all is applied.
  void applyAll(const std::vector<bson::Document>& entries) {
    if (applier.path().empty()) startApplier();
    push(entries);
    settle();
  }
  /// Waits for locks and conflicts included.
  void settle() {
    for (int steps = 0; steps < 50; ++steps) node->advance(std::chrono::milliseconds(20));
  }
  OplogBatch batchOf(const std::vector<bson::Document>& entries) {
    auto stretch = storage::OplogStretch::parse(entries);
    EXPECT_TRUE(stretch.isOK()) << stretch.status().toString();
    return {std::make_shared<const storage::OplogStretch>(std::move(*stretch)), 0, entries.size()};
  }

  // --- Asks
  struct Asked {
    std::optional<Answer> answer;
    bool isDone() const { return answer && answer->isOK() && (*answer)->is<troupe::Done>(); }
  };
  template <class Message>
  std::shared_ptr<Asked> ask(Message message) {
    auto asked = std::make_shared<Asked>();
    node->start(awaitAnswer(node->ask(applier, local(message)), asked));
    node->run();
    return asked;
  }

  // --- What is there
  std::vector<bson::Document> logged() {
    std::vector<bson::Document> found;
    storage::OperationContext reader({.sessions = *data.pool});
    auto cursor = log->cursor(reader.recoveryUnit());
    EXPECT_TRUE(cursor.isOK()) << cursor.status().toString();
    while (*cursor->next()) found.emplace_back(cursor->entry());
    return found;
  }
  ApplyFigures::Values figures() const { return memory->figures.get(); }

  struct Times final : storage::ReadTimes {
    storage::Timestamp lastApplied() const override { return applied; }
    storage::Timestamp majority() const override { return {}; }
    storage::Timestamp applied;
  };

  std::shared_ptr<VirtualEnvironment> time = std::make_shared<VirtualEnvironment>();
  storage::Member data;
  storage::LockManager locks{[this] { return time->now(); }};
  storage::ReplicatedWrites writes{[] { return 1u; }};
  Times times;
  OplogBuffer buffer;
  std::unique_ptr<storage::OplogStore> log;
  std::unique_ptr<Node> node;
  struct Role final : storage::NodeState {
    uint64_t version() const override { return 0; }
    bool appliesBatches() const override { return !leads; }
    bool leads = false;
  };
  Role role;  ///< as scans see it
  std::unique_ptr<FollowedBuilds> builds;
  const char* scansAwait = nullptr;
  int64_t scansGoTo = 0;                ///< documents, before they wait
  std::vector<bson::Document> scanned;  ///< commands of the scans' operations
  std::vector<Status> failedScans;
  std::unique_ptr<BatchWriter> writer;
  std::unique_ptr<ApplierMemory> memory = std::make_unique<ApplierMemory>();
  bool hasRoom = true;              ///< on the disk
  std::vector<size_t> asksForRoom;  ///< bytes
  std::function<Duration()> delay;
  Address applier;
  std::vector<OpTime> ends;  ///< of the batches
  std::vector<Status> failures;
  std::vector<std::pair<std::string, size_t>>
      units;  ///< storage transactions: of which namespace, and how many entries

 private:
  static Task<void> pushAll(OplogBuffer* buffer, std::vector<FetchedEntry> entries) {
    co_await buffer->push(std::move(entries));
  }
  static Task<void> awaitAnswer(Future<Answer> future, std::shared_ptr<Asked> asked) {
    asked->answer.emplace(co_await future);
  }
  const Options options_;
};

}  // namespace troupe::replication
