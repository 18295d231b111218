#include "actors/maintenance/discard_temporary.hpp"

#include <functional>
#include <optional>

#include "actors/maintenance/temporary_cleaner.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::maintenance {

using commands::CommandNode;
using storage::Namespace;

/// Collections of a node, here a member of a replica set, as a process leaves them that was killed.
class DiscardTemporaryTest : public commands::CommandTest {
 protected:
  explicit DiscardTemporaryTest(CommandNode::Options options = {.name = "n1:1", .replicaSet = "rs"})
      : CommandTest(std::move(options)) {}
  void SetUp() override {
    if (server.server->membership) commands::becomePrimary(server);
    make({"local", "tmp.agg_out.1"}, true);
    make({"config", "tmp.agg_out.2"}, true);
    make({"local", "kept"}, false);
    server.node.advance(std::chrono::seconds(1));
    ASSERT_TRUE(server.engine->flushLog().isOK());
  }
  void make(const Namespace& ns, bool temporary) {
    storage::OperationContext operation(server.server->operations);
    storage::CollectionOptions options;
    options.temp = temporary;
    storage::HeldLock lock = collectionLock(operation, ns, storage::LockMode::kX);
    ASSERT_TRUE(lock.tryAcquire());
    storage::WriteUnitOfWork work(operation.recoveryUnit());
    ASSERT_TRUE(storage::createCollection(*server.catalog, operation.recoveryUnit(), ns, options).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  static bool has(CommandNode& node, const Namespace& ns) { return node.catalog->find(ns) != nullptr; }
  /// The ids of the lines about temporary collections that the start has logged.
  static std::vector<int64_t> logged(CommandNode& node) {
    std::vector<int64_t> ids;
    const bson::Document reply = node.run(parse(R"({"getLog": "global"})"), "admin");
    for (const bson::Element& line : reply["log"].asArray()) {
      const auto id = parse(line.asString())["id"].toInt64();
      if (id == 20440 || id == 20441) ids.push_back(id);
    }
    return ids;
  }
};

TEST_F(DiscardTemporaryTest, AStartOfAMemberRemovesWhatIsLocalAndLeavesWhatIsReplicated) {
  CommandNode again({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  EXPECT_FALSE(has(again, {"local", "tmp.agg_out.1"}));
  EXPECT_TRUE(has(again, {"local", "kept"}));
  ASSERT_TRUE(has(again, {"config", "tmp.agg_out.2"})) << "the other members have it";
  EXPECT_TRUE(again.catalog->find({"config", "tmp.agg_out.2"})->options().temp);
  EXPECT_EQ(logged(again), std::vector<int64_t>{20440}) << "it tried to remove what it must not write";
}

// It could be read only once: a start as a member refuses data that were changed without the set.
TEST_F(DiscardTemporaryTest, AStartWithoutTheSetLeavesWhatIsReplicated) {
  CommandNode alone({.disk = server.engine->disk()});
  EXPECT_FALSE(has(alone, {"local", "tmp.agg_out.1"}));
  EXPECT_TRUE(has(alone, {"config", "tmp.agg_out.2"}));
  EXPECT_TRUE(has(alone, {"local", "kept"}));
}

class DiscardTemporaryAloneTest : public DiscardTemporaryTest {
 protected:
  DiscardTemporaryAloneTest() : DiscardTemporaryTest(CommandNode::Options{}) {}
};

TEST_F(DiscardTemporaryAloneTest, AStartRemovesAllOfThem) {
  CommandNode again({.disk = server.engine->disk()});
  EXPECT_FALSE(has(again, {"local", "tmp.agg_out.1"}));
  EXPECT_FALSE(has(again, {"config", "tmp.agg_out.2"}));
  EXPECT_TRUE(has(again, {"local", "kept"}));
}

TEST_F(DiscardTemporaryTest, APrimaryTriesAgainWhatItsWritersCouldNotRemove) {
  const Namespace given{"config", "tmp.agg_out.3"};
  make(given, true);
  storage::WriteFence& fence = server.server->operations.replicated->fence;
  const int64_t term = *fence.term();
  fence.close([] {});
  server.node.tell(server.node.address(kTemporaryCleanerPath),
                   local(LeftTemporary{server.catalog->find(given)->uuid()}));
  server.node.advance(std::chrono::seconds(3));
  ASSERT_TRUE(has(server, given));
  fence.open(term);
  server.node.advance(std::chrono::seconds(2));
  EXPECT_FALSE(has(server, given));
  EXPECT_TRUE(has(server, {"config", "tmp.agg_out.2"})) << "its writer may be at work";
}

/// Looks at the moment at which a replicated collection is dropped.
class AtTheDrop final : public storage::WriteObserver {
 public:
  bool observes(const storage::CatalogEntry& entry) const override { return entry.ns.db() == "config"; }
  Status onDrop(storage::RecoveryUnit&, const storage::Collection&, const OpTime&) override {
    look();
    return Status::OK();
  }
  std::function<void()> look;
};

TEST_F(DiscardTemporaryTest, ANewPrimaryRemovesWhatIsReplicatedBeforeClientsWrite) {  // ELE-024
  AtTheDrop drop;
  CommandNode again({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs", .observers = {&drop}});
  const int64_t term = commands::termOf(server);
  const auto takesWrites = [&] { return again.server->membership->view()->isWritable(); };
  std::optional<bool> tookWrites;
  drop.look = [&] { tookWrites = takesWrites(); };
  for (int steps = 0; !takesWrites() && steps < 600; ++steps) again.node.advance(std::chrono::milliseconds(100));
  ASSERT_TRUE(takesWrites());
  EXPECT_EQ(tookWrites, false);
  EXPECT_FALSE(has(again, {"config", "tmp.agg_out.2"}));
  EXPECT_TRUE(has(again, {"local", "kept"}));
  const bson::Document log =
      again.run(parse(R"({"find": "oplog.rs", "filter": {"o.drop": "tmp.agg_out.2"}})"), "local");
  const auto entries = log["cursor"].asDocument()["firstBatch"].asArray();
  ASSERT_FALSE(entries.begin() == entries.end()) << "the other members hear of it";
  EXPECT_GT((*entries.begin()).asDocument()["t"].toInt64(), term) << "of its own term";
}

}  // namespace troupe::maintenance
