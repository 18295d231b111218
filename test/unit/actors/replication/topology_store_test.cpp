#include "actors/replication/topology_store.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe::replication {
namespace {

using bson::operator""_json;
using commands::CommandNode;
using machines::done;
using machines::Durability;

Topology::Document voted() {
  Topology::Document document{.self = "a:1", .setName = "rs", .lastVote = {3, "b:1"}, .config = {}};
  document.config = *ReplicaSetConfig::parse(R"({"_id": "rs", "members": [{"_id": 0, "host": "a:1"}]})"_json);
  return document;
}

Status put(CommandNode& node, TopologyStore& store, const Topology::Document& document) {
  return done(node, store.put(document, {}, Durability::kJournaled));
}

std::string onlyDocumentOf(CommandNode& node, const char* collection) {
  const auto reply = node.run(bson::doc("find", collection), "local");
  return bson::toRelaxedJson(reply["cursor"].asDocument()["firstBatch"].asArray()["0"]);
}

TEST(TopologyStore, KeepsVoteAndConfigWhereOperatorsLookForThem) {  // ELE-017, ELE-037
  CommandNode node;
  TopologyStore store(node.assembly.storageAccess());
  ASSERT_TRUE(put(node, store, voted()).isOK());
  EXPECT_EQ(onlyDocumentOf(node, "replset.election"),
            R"({ "_id" : "lastVote", "term" : 3, "candidate" : "b:1", "self" : "a:1", "setName" : "rs" })");
  EXPECT_EQ(onlyDocumentOf(node, "system.replset"),
            R"({ "_id" : "rs", "version" : 1, "term" : -1, "members" : [ { "_id" : 0, "host" : "a:1", )"
            R"("arbiterOnly" : false, "buildIndexes" : true, "hidden" : false, "priority" : 1.0, "tags" : {  }, )"
            R"("secondaryDelaySecs" : 0, "votes" : 1 } ], "protocolVersion" : 1, )"
            R"("writeConcernMajorityJournalDefault" : true, "settings" : { "chainingAllowed" : true, )"
            R"("heartbeatIntervalMillis" : 2000, "heartbeatTimeoutSecs" : 10, "electionTimeoutMillis" : 10000, )"
            R"("catchUpTimeoutMillis" : -1, "catchUpTakeoverDelayMillis" : 30000, "getLastErrorModes" : {  }, )"
            R"("getLastErrorDefaults" : {  } } })");
}

TEST(TopologyStore, ReadsBackAfterACrashWhatItWrote) {
  auto node = std::make_unique<CommandNode>();
  {
    TopologyStore store(node->assembly.storageAccess());
    ASSERT_TRUE(put(*node, store, voted()).isOK());
  }
  const auto disk = node->engine->disk();
  CommandNode again({.disk = disk});
  const auto read = TopologyStore(again.assembly.storageAccess()).read("a:1", "rs");
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ(read->value, voted());
  EXPECT_EQ(TopologyStore(again.assembly.storageAccess()).read("a:1", "other").status(),
            ErrorCode::kInvalidReplicaSetConfig);
}

TEST(TopologyStore, IsOfTheNodeThatReadsItAlsoFromACopyOfAnothersData) {
  CommandNode node;
  TopologyStore store(node.assembly.storageAccess());
  ASSERT_TRUE(put(node, store, voted()).isOK());
  const auto read = store.read("elsewhere:1", "rs");
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ(read->value.self, "elsewhere:1") << "which its config does not name";
  EXPECT_EQ(read->value.config, voted().config);
  EXPECT_EQ(read->value.lastVote, voted().lastVote);
}

TEST(TopologyStore, KnowsThatItsNodeFoundedTheSet) {
  CommandNode node;
  TopologyStore store(node.assembly.storageAccess());
  auto founder = voted();
  founder.founder = true;
  ASSERT_TRUE(put(node, store, founder).isOK());
  EXPECT_TRUE(store.read("a:1", "rs")->value.founder);
}

// The log is replayed before the topology reads its document.
TEST(TopologyStore, TellsTheCatalogWhetherTheMemberBuildsIndexes) {
  auto node = std::make_unique<CommandNode>();
  auto document = voted();
  {
    TopologyStore store(node->assembly.storageAccess());
    ASSERT_TRUE(put(*node, store, document).isOK());
    EXPECT_TRUE(node->catalog->buildsIndexes());
    document.config->members[0].buildIndexes = false;
    ASSERT_TRUE(put(*node, store, document).isOK());
    EXPECT_FALSE(node->catalog->buildsIndexes());
    document.config->members[0].host = "another:1";
    ASSERT_TRUE(put(*node, store, document).isOK());
    EXPECT_FALSE(node->catalog->buildsIndexes()) << "removed, it has the data that it had";
  }
  CommandNode again({.disk = node->engine->disk()});
  ASSERT_TRUE(again.catalog->buildsIndexes()) << "nobody has told it";
  ASSERT_TRUE(takeUpBuildIndexes(*again.catalog, {.sessions = again.storageSessions}).isOK());
  EXPECT_FALSE(again.catalog->buildsIndexes());
  TopologyStore store(again.assembly.storageAccess());
  document.lastVote.term = 9;
  ASSERT_TRUE(put(again, store, document).isOK());
  ASSERT_TRUE(takeUpBuildIndexes(*again.catalog, {.sessions = again.storageSessions}).isOK());
  EXPECT_FALSE(again.catalog->buildsIndexes()) << "a start does not forget it";
  document.config->members[0].host = "a:1";
  document.config->members[0].buildIndexes = true;
  ASSERT_TRUE(put(again, store, document).isOK());
  EXPECT_TRUE(again.catalog->buildsIndexes());
}

TEST(TopologyStore, IsNewWhereNothingIsStored) {
  CommandNode node;
  const auto read = TopologyStore(node.assembly.storageAccess()).read("a:1", "rs");
  ASSERT_TRUE(read.isOK());
  EXPECT_EQ(read->value, (Topology::Document{.self = "a:1", .setName = "rs", .lastVote = {}, .config = {}}));
}

TEST(TopologyStore, ReadsAVoteWithoutAName) {  // as a data directory of another origin has it
  CommandNode node;
  machines::CollectionStore elections(node.assembly.storageAccess(), storage::Namespace("local", "replset.election"));
  const auto vote = R"({"_id": "lastVote", "term": 7, "candidate": "c:1"})"_json;
  ASSERT_TRUE(done(node, elections.put(vote, Durability::kJournaled)).isOK());
  const auto read = TopologyStore(node.assembly.storageAccess()).read("a:1", "rs");
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ(read->value.self, "a:1");
  EXPECT_EQ(read->value.lastVote, (LastVote{7, "c:1"}));
}

TEST(TopologyStore, WritesOnlyTheHalfThatHasChanged) {
  CommandNode node;
  TopologyStore store(node.assembly.storageAccess());
  auto document = voted();
  ASSERT_TRUE(put(node, store, document).isOK());
  machines::CollectionStore elections(node.assembly.storageAccess(), storage::Namespace("local", "replset.election"));
  ASSERT_TRUE(done(node, elections.put(R"({"_id": "lastVote", "other": 1})"_json, Durability::kLocal)).isOK());
  document.config->version = 2;
  ASSERT_TRUE(put(node, store, document).isOK());
  EXPECT_EQ(node.run(R"({"count": "replset.election", "query": {"other": 1}})"_json, "local")["n"].toInt64(), 1);
  document.lastVote.term = 9;
  ASSERT_TRUE(put(node, store, document).isOK());
  EXPECT_EQ(node.run(R"({"count": "replset.election"})"_json, "local")["n"].toInt64(), 1);
}

}  // namespace
}  // namespace troupe::replication
