// Cluster times of a member whose clients authenticate: what is signed, and what is believed.
#include "actors/server/cluster_time.hpp"

#include "actors/server/time_proofs.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::server {
using namespace commands;

namespace {

constexpr int64_t kNotAuthorized = 13, kTimeProofMismatch = 204, kTooFar = 205, kKeyNotFound = 211;

auth::Privilege everythingBut(std::initializer_list<auth::Action> actions) {
  return {{.kind = auth::ResourcePattern::Kind::kAny}, ~auth::actions(actions)};
}

}  // namespace

class SignedTimesTest : public CommandTest {
 protected:
  /// An operator, who may do everything but what other nodes may.
  SignedTimesTest() : CommandTest({.authentication = true, .name = "n1:1", .replicaSet = "rs"}) {
    logIn(server.client, everythingBut({auth::Action::kAdvanceClusterTime}));
    becomePrimary(server);
    server.node.advance(3s);
  }
  static void logIn(const std::shared_ptr<Client>& client, const auth::Privilege& privilege) {
    AuthenticatedUser user{.name = "somebody", .database = "admin", .internal = true};
    user.privileges.add(privilege.resource, privilege.actions);
    client->users.push_back(std::move(user));
  }
  std::shared_ptr<Client> clientWith(const auth::Privilege& privilege) {
    auto client = server.connect(false);
    logIn(client, privilege);
    return client;
  }
  std::vector<auth::SigningKey> keys() { return (*server.server->proofs->keys())->keys(); }
  bson::Timestamp now() { return server.server->operations.replicated->slots.newest(); }
  bson::Timestamp later() { return {now().seconds + 50, 7}; }

  void drop(const storage::Namespace& ns) {
    storage::OperationContext operation(server.server->operations);
    storage::HeldLock lock(operation, storage::ResourceType::kCollection, ns.toString(), storage::LockMode::kX);
    ASSERT_TRUE(lock.tryAcquire());
    storage::WriteUnitOfWork unit(operation.recoveryUnit());
    ASSERT_TRUE(storage::dropCollection(*server.catalog, operation.recoveryUnit(), server.catalog->find(ns)).isOK());
    ASSERT_TRUE(unit.commit().isOK());
  }

  static bson::Document gossip(bson::Timestamp time, const auth::TimeProof& proof) {
    return bson::doc("clusterTime", time, "signature",
                     bson::doc("hash", bson::Binary{bson::kBinaryGeneric, proof.hash}, "keyId", proof.keyId));
  }
  bson::Document ping(const bson::Document& clusterTime, const std::shared_ptr<Client>& from = nullptr) {
    return server.run(bson::doc("ping", 1, "$clusterTime", clusterTime), "admin", from);
  }
  int64_t codeOf(bson::Timestamp time, const auth::TimeProof& proof) {
    return ping(gossip(time, proof))["code"].toInt64();
  }
  static auth::TimeProof proofIn(const bson::Document& reply) {
    const bson::Element hash = reply.view().at("$clusterTime.signature.hash");
    return {std::string(hash.asBinary().bytes), reply.view().at("$clusterTime.signature.keyId").toInt64()};
  }
};

TEST_F(SignedTimesTest, WhatAnotherMemberKnowsNeedsNoSignature) {  // CLK-005
  MemberClock clock(*server.server);
  EXPECT_EQ(clock.newest(), now());
  EXPECT_TRUE(clock.learn(later(), true));
  const bson::Timestamp learnt = now();
  EXPECT_EQ(clock.newest(), learnt);
  EXPECT_TRUE(clock.learn({learnt.seconds - 20, 1}, true));
  EXPECT_EQ(now(), learnt) << "the clock does not go back";
  EXPECT_FALSE(clock.learn(later(), false)) << "who has not proven the cluster's key may be anybody";
  EXPECT_EQ(now(), learnt);
}

TEST_F(SignedTimesTest, AnotherMembersTimeMayNotBeTooFarAheadEither) {  // CLK-007
  MemberClock clock(*server.server);
  const bson::Timestamp before = now();
  EXPECT_FALSE(clock.learn({4'000'000'000, 1}, true));
  EXPECT_EQ(now(), before);
}

TEST_F(SignedTimesTest, ThePrimaryMakesAKeyForNowAndOneForLater) {  // CLK-008
  const auto found = batch(R"({"find": "system.keys"})", "admin");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].find(R"("purpose" : "HMAC")"), std::string::npos) << found[0];
  ASSERT_EQ(keys().size(), 2u);
  EXPECT_EQ(keys()[1].expiresAt.seconds - keys()[0].expiresAt.seconds, 7'776'000u);
  EXPECT_EQ(keys()[1].id, keys()[0].id + 1);
  EXPECT_NE(keys()[0].secret, keys()[1].secret);
  server.node.advance(10s);
  EXPECT_EQ(keys().size(), 2u);
}

TEST_F(SignedTimesTest, TheRowOfTheKeyManagerShowsWhatSignsAndWhenItLooksAgain) {
  const auto shown = [this] {
    const auto details = server.node.wait(server.node.inspect("/node/replication/key-manager", 1s));
    EXPECT_TRUE(details.has_value());
    return details ? bson::Document(details->state) : bson::Document();
  };
  const bson::Document row = shown();
  EXPECT_EQ(row["made"].toInt64(), 2);
  EXPECT_EQ(row.view().at("signing.keyId").toInt64(), keys()[0].id) << bson::toRelaxedJson(row);
  EXPECT_EQ(row.view().at("signing.until").asTimestamp(), keys()[0].expiresAt);
  EXPECT_EQ(row["renewsAt"].asTimestamp(), keys()[0].expiresAt) << "only one is left then";
  const int64_t rest = row["looksAgainInSeconds"].toInt64(-1);
  EXPECT_GT(rest, 3'500);
  EXPECT_LE(rest, 3'600);
  server.node.advance(60s);
  EXPECT_EQ(shown()["looksAgainInSeconds"].toInt64(), rest - 60);
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 60, "force": true})", "admin"));
  EXPECT_FALSE(shown()["looksAgainInSeconds"].ok()) << "the next primary looks";
  EXPECT_EQ(shown().view().at("signing.keyId").toInt64(), keys()[0].id);
}

TEST_F(SignedTimesTest, EachReplyProvesItsTime) {  // CLK-006
  const bson::Document reply = run(R"({"insert": "c", "documents": [{}]})");
  const bson::Timestamp time = reply.view().at("$clusterTime.clusterTime").asTimestamp();
  EXPECT_EQ(proofIn(reply), auth::proofOf(keys()[0], time));
  EXPECT_EQ(proofIn(run(R"({"nonsense": 1})")), auth::proofOf(keys()[0], now()));
  server.node.advance(30s);
  const bson::Document next = run(R"({"insert": "c", "documents": [{}]})");
  EXPECT_NE(proofIn(next), proofIn(reply));
  EXPECT_EQ(proofIn(next), auth::proofOf(keys()[0], now()));
}

TEST_F(SignedTimesTest, ForgedTimesAreRefusedAndMoveNothing) {  // CLK-006
  const bson::Timestamp before = now(), forged = later();
  const auto right = auth::proofOf(keys()[0], forged);
  EXPECT_EQ(codeOf(forged, {std::string(20, 'x'), right.keyId}), kTimeProofMismatch);
  EXPECT_EQ(codeOf({forged.seconds + 1, 7}, right), kTimeProofMismatch) << "the proof of another time";
  EXPECT_EQ(codeOf(forged, {right.hash, right.keyId + 1}), kTimeProofMismatch) << "of another key";
  EXPECT_EQ(codeOf(forged, {right.hash, right.keyId + 2}), kKeyNotFound);
  EXPECT_EQ(codeOf(forged, {}), kKeyNotFound) << "the dummy of nodes without authentication";
  EXPECT_EQ(ping(bson::doc("clusterTime", forged))["code"].toInt64(), kKeyNotFound);
  EXPECT_EQ(ping(bson::doc("clusterTime", forged, "signature", bson::doc("keyId", right.keyId)))["code"].toInt64(),
            kTimeProofMismatch);
  const auto stranger = server.connect(false);
  EXPECT_TRUE(
      server.run(bson::doc("hello", 1, "$clusterTime", bson::doc("clusterTime", forged)), "admin", stranger)["ok"]
          .truthy())
      << "it can log in to a member that has no key";
  EXPECT_EQ(now(), before);
}

TEST_F(SignedTimesTest, WhatAMemberHasSignedIsTakenOver) {  // CLK-005
  const bson::Timestamp time = later();
  EXPECT_EQ(codeOf(time, auth::proofOf(keys()[0], time)), 0);
  EXPECT_EQ(now(), time);
  EXPECT_GT(run(R"({"insert": "c", "documents": [{}]})")["operationTime"].asTimestamp(), time);
  EXPECT_EQ(codeOf(time, {}), 0) << "what is no news needs no proof";
}

TEST_F(SignedTimesTest, NoSignatureReachesBeyondTheLimit) {  // CLK-007
  EXPECT_EQ(codeOf({4'000'000'000, 1}, auth::proofOf(keys()[0], {4'000'000'000, 1})), kTooFar);
}

TEST_F(SignedTimesTest, WhoMayAdvanceTheClockNeedsNoProof) {
  const auto node = clientWith(everythingBut({}));
  const bson::Timestamp time = later();
  const bson::Document reply = ping(bson::doc("clusterTime", time), node);
  EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  EXPECT_EQ(now(), time);
  EXPECT_TRUE(proofIn(reply).isDummy()) << "and is given none";
  const auto onlyThat = clientWith({{.kind = auth::ResourcePattern::Kind::kCluster, .database = {}, .collection = {}},
                                    auth::actions({auth::Action::kAdvanceClusterTime})});
  EXPECT_TRUE(ping(bson::doc("clusterTime", later()), onlyThat)["ok"].truthy());
}

TEST_F(SignedTimesTest, TheNextKeyTakesOverWhenOneExpires) {  // CLK-008
  const auto first = keys();
  const bson::Timestamp time{first[0].expiresAt.seconds, 1};
  EXPECT_EQ(codeOf(time, auth::proofOf(first[0], time)), kKeyNotFound) << "an old key moves no clock beyond its end";
  EXPECT_EQ(codeOf(time, auth::proofOf(first[1], time)), 0);
  EXPECT_EQ(proofIn(run(R"({"ping": 1})")).keyId, first[1].id);
  server.node.advance(2s);
  ASSERT_EQ(keys().size(), 3u) << "there is a key for the time after it again, though nobody's clock has come so far";
  EXPECT_EQ(keys()[2].expiresAt.seconds, first[1].expiresAt.seconds + 7'776'000);
  EXPECT_EQ(proofIn(run(R"({"ping": 1})")).keyId, first[1].id);
}

TEST_F(SignedTimesTest, KeysThatAreLostAreMadeAnew) {
  const auto lost = keys();
  drop(kSigningKeys);
  EXPECT_TRUE(keys().empty());
  EXPECT_FALSE(run(R"({"ping": 1})").view().has("$clusterTime")) << "others would refuse what nobody has signed";
  server.node.advance(3s);
  ASSERT_EQ(keys().size(), 2u);
  EXPECT_GT(keys()[0].id, lost[1].id);
  EXPECT_EQ(proofIn(run(R"({"ping": 1})")).keyId, keys()[0].id);
}

TEST_F(SignedTimesTest, AreKnownAfterARestart) {  // CLK-009
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "majority", "j": true}})"));
  const auto before = keys();
  CommandNode after({.authentication = true, .disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  const auto ring = after.server->proofs->keys();
  ASSERT_TRUE(ring.isOK()) << ring.status().toString();
  ASSERT_EQ((*ring)->keys().size(), 2u);
  EXPECT_EQ((*ring)->keys()[0].secret, before[0].secret);
  untilPrimary(after);
  after.node.advance(3s);
  EXPECT_EQ((*after.server->proofs->keys())->keys().size(), 2u) << "a new term makes no new ones";
}

TEST_F(SignedTimesTest, KeysAreForNobodyWithoutTheRightToThem) {
  const auto reader = clientWith({{.database = "admin", .collection = {}}, auth::actions({auth::Action::kFind})});
  const auto find = R"({"find": "system.keys"})"_json;
  EXPECT_EQ(server.run(find, "admin", reader)["code"].toInt64(), kNotAuthorized);
  const auto allowed =
      clientWith({{.database = "admin", .collection = "system.keys"}, auth::actions({auth::Action::kFind})});
  EXPECT_TRUE(server.run(find, "admin", allowed)["ok"].truthy());
  EXPECT_EQ(code(R"({"insert": "system.keys", "documents": [{"_id": 1}]})", "admin"), 73) << "nor made by clients";
  EXPECT_EQ(code(R"({"drop": "system.keys"})", "admin"), 20);
}

/// Members of a set without authentication.
class UnsignedTimesTest : public CommandTest {
 protected:
  UnsignedTimesTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) { becomePrimary(server); }
};

TEST_F(UnsignedTimesTest, WithoutAuthenticationThereAreNoKeysAndNoProofs) {
  server.node.advance(10s);
  const bson::Document reply = run(R"({"ping": 1})");
  EXPECT_EQ(reply.view().at("$clusterTime.signature.keyId").toInt64(-1), 0);
  EXPECT_EQ(reply.view().at("$clusterTime.signature.hash").asBinary().bytes, std::string(20, '\0'));
  EXPECT_TRUE(batch(R"({"find": "system.keys"})", "admin").empty());
}

/// The fence closes at once, and the role ends when the last writes have. An older one is still under way.
TEST_F(UnsignedTimesTest, AReadWhileTheLastWritesEndTellsATimeThatHasWhatItSaw) {  // CLK-015
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  storage::ReplicatedWrites& writes = *server.server->operations.replicated;
  const int64_t term = termOf(server);
  auto older = writes.slots.reserve(term, 1);
  const bson::Document write = run(R"({"insert": "c", "documents": [{"_id": 2}], "writeConcern": {"w": 1}})");
  ASSERT_TRUE(write["ok"].truthy()) << bson::toRelaxedJson(write);
  writes.fence.close([] {});
  const bson::Document read = run(R"({"find": "c"})");
  EXPECT_EQ(read.view().at("cursor.firstBatch").asArray().count(), 2u) << bson::toRelaxedJson(read);
  EXPECT_EQ(read["operationTime"].asTimestamp(), write["operationTime"].asTimestamp());
  older.release();
  writes.fence.open(term);
  server.node.run();
}

/// It would be refused as an afterClusterTime.
TEST(UnknownTimes, AMemberThatHasAppliedNothingTellsNoTimeOfItsOperations) {  // CLK-015
  CommandNode node({.name = "n1:1", .replicaSet = "rs"});
  const auto reply = node.run(R"({"ping": 1, "$clusterTime": {"clusterTime": {"$timestamp": {"t": 1, "i": 1}}}})"_json);
  EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  EXPECT_EQ(reply.view().at("$clusterTime.clusterTime").asTimestamp(), (bson::Timestamp{1, 1}));
  EXPECT_FALSE(reply.view().has("operationTime"));
}

TEST(StandaloneTimes, ANodeThatStandsAloneHasNone) {
  CommandNode node;
  const auto reply = node.run(R"({"ping": 1, "$clusterTime": {"clusterTime": {"$timestamp": {"t": 1, "i": 1}}}})"_json);
  EXPECT_TRUE(reply["ok"].truthy());
  EXPECT_FALSE(reply.view().has("$clusterTime") || reply.view().has("operationTime"));
}

}  // namespace troupe::server
