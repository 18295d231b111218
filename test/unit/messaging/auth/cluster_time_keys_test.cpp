#include "messaging/auth/cluster_time_keys.hpp"

#include <gtest/gtest.h>

#include "messaging/auth/crypto.hpp"
#include "messaging/bson/json.hpp"

namespace troupe::auth {
namespace {

SigningKey key(int64_t id, uint32_t expiresAt, char byte = 'k') {
  return {id, std::string(SigningKey::kSecretBytes, byte), {expiresAt, 0}, {}};
}

/// The expected value comes from another implementation of HMAC-SHA1.
TEST(ClusterTimeKeys, AProofIsTheHmacOfTheEightBytesOfTheLastTimeThatSharesIt) {
  const TimeProof proof = proofOf(key(7, 1000, '\x0b'), {0x01020304, 0x00010005});
  EXPECT_EQ(proof.keyId, 7);
  EXPECT_EQ(toBase64(proof.hash), "Wdy9KY1EZt6pwCdtrInlnEwPGhM=");
}

TEST(ClusterTimeKeys, TimesThatDifferInTheLowBitsOfTheirIncrementShareAProof) {  // CLK-006
  const SigningKey one = key(1, 1000);
  EXPECT_EQ(lastProvenWith({5, 0}), (bson::Timestamp{5, 0xffff}));
  EXPECT_EQ(lastProvenWith({5, 0xffff}), (bson::Timestamp{5, 0xffff}));
  EXPECT_EQ(proofOf(one, {5, 1}), proofOf(one, {5, 0xffff}));
  EXPECT_NE(proofOf(one, {5, 1}), proofOf(one, {5, 0x10000}));
  EXPECT_NE(proofOf(one, {5, 1}), proofOf(one, {6, 1}));
  EXPECT_NE(proofOf(one, {5, 1}).hash, proofOf(key(1, 1000, 'x'), {5, 1}).hash);
}

TEST(ClusterTimeKeys, AreDocumentsOfTheirCollection) {  // CLK-008
  const SigningKey made = key(6422998367101517844, 1495470881);
  const auto read = SigningKey::of(made.toDocument());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, made.id);
  EXPECT_EQ(read->secret, made.secret);
  EXPECT_EQ(read->expiresAt, made.expiresAt);
  EXPECT_EQ(made.toDocument()["purpose"].toStringOr(), "HMAC");
}

TEST(ClusterTimeKeys, DocumentsOfAnotherShapeAreNoKeys) {
  const bson::Document made = key(1, 10).toDocument();
  for (const char* change : {R"({"_id": "1"})", R"({"purpose": "other"})", R"({"key": "text"})",
                             R"({"key": {"$binary": {"base64": "AAAA", "subType": "00"}}})", R"({"expiresAt": 10})"}) {
    const bson::Document wrong = *bson::fromJson(change);
    bson::Builder built;
    for (const bson::Element& e : made.view()) built.append(wrong[e.name()].ok() ? wrong[e.name()] : e);
    EXPECT_FALSE(SigningKey::of(built.finish())) << change;
  }
}

constexpr bson::Timestamp kCommitted{40, 0};

TEST(KeyRing, TheKeySignsThatExpiresNext) {
  const KeyRing ring({key(3, 300), key(1, 100), key(2, 200)});
  EXPECT_EQ(ring.signer({50, 1}, kCommitted)->id, 1);
  EXPECT_EQ(ring.signer({99, 1}, kCommitted)->id, 1);
  EXPECT_EQ(ring.signer({100, 0}, kCommitted)->id, 2) << "a key signs earlier times only";
  EXPECT_EQ(ring.signer({250, 1}, kCommitted)->id, 3);
  EXPECT_EQ(ring.signer({300, 1}, kCommitted), nullptr);
  EXPECT_EQ(KeyRing().signer({1, 1}, kCommitted), nullptr);
}

/// A rollback may take it away again.
TEST(KeyRing, AKeySignsNothingBeforeAMajorityHasIt) {
  SigningKey young = key(1, 100);
  young.since = {41, 0};
  const KeyRing ring({young, key(2, 200)});
  EXPECT_EQ(ring.signer({50, 1}, kCommitted)->id, 2);
  EXPECT_EQ(ring.signer({50, 1}, {41, 0})->id, 1);
  EXPECT_TRUE(ring.verify({50, 1}, proofOf(young, {50, 1})).isOK()) << "what others sign with it counts";
}

TEST(KeyRing, TellsWhatIsSignedFromWhatIsNot) {  // CLK-006
  const KeyRing ring({key(1, 100, 'a'), key(2, 200, 'b')});
  const bson::Timestamp time{50, 3};
  EXPECT_TRUE(ring.verify(time, proofOf(ring.keys()[0], time)).isOK());
  EXPECT_TRUE(ring.verify(time, proofOf(ring.keys()[1], time)).isOK()) << "whichever key it is";
  EXPECT_EQ(ring.verify({51, 3}, proofOf(ring.keys()[0], time)), ErrorCode::kTimeProofMismatch);
  EXPECT_EQ(ring.verify(time, {proofOf(ring.keys()[0], time).hash, 2}), ErrorCode::kTimeProofMismatch);
  EXPECT_EQ(ring.verify(time, {"short", 1}), ErrorCode::kTimeProofMismatch);
  EXPECT_EQ(ring.verify(time, {proofOf(ring.keys()[0], time).hash, 3}), ErrorCode::kKeyNotFound);
  EXPECT_EQ(ring.verify(time, {}), ErrorCode::kKeyNotFound) << "the dummy of nodes that sign nothing";
}

/// Who has come by an old key cannot move the clock beyond the end of its life.
TEST(KeyRing, AKeyProvesNoTimeAfterItsEnd) {
  const KeyRing ring({key(1, 100)});
  EXPECT_EQ(ring.verify({100, 0}, proofOf(ring.keys()[0], {100, 0})), ErrorCode::kKeyNotFound);
  EXPECT_TRUE(ring.verify({99, 9}, proofOf(ring.keys()[0], {99, 9})).isOK());
}

}  // namespace
}  // namespace troupe::auth
