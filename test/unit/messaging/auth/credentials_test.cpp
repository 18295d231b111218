#include "messaging/auth/credentials.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::auth {
namespace {

/// Repeatable "random" bytes: 1, 2, 3 ...
RandomSource counting() {
  return [next = uint8_t{0}](void* bytes, size_t size) mutable {
    for (size_t i = 0; i < size; ++i) static_cast<uint8_t*>(bytes)[i] = ++next;
  };
}

TEST(UserCredentials, AreStoredAsClientsOfTheSystemCollectionExpect) {
  const auto stored = makeUserCredentials("user", "pencil", kMechanisms, counting());
  ASSERT_TRUE(stored.isOK()) << stored.status().toString();
  const auto sha1 = (*stored)["SCRAM-SHA-1"].asDocument();
  const auto sha256 = (*stored)["SCRAM-SHA-256"].asDocument();
  EXPECT_EQ(sha1["iterationCount"].asInt32(), 10'000);
  EXPECT_EQ(sha256["iterationCount"].asInt32(), 15'000);
  EXPECT_EQ(sha1["salt"].asString(), "AQIDBAUGBwgJCgsMDQ4PEA==");
  EXPECT_EQ(fromBase64(sha256["salt"].asString())->size(), 28u);
  EXPECT_EQ(fromBase64(sha1["storedKey"].asString())->size(), 20u);
  EXPECT_EQ(fromBase64(sha256["serverKey"].asString())->size(), 32u);
  EXPECT_EQ(sha256.count(), 4);
}

TEST(UserCredentials, AreReadAsTheyWereWritten) {
  const auto stored = makeUserCredentials("user", "pencil", kMechanisms, counting(), {4096, 5000}).value();
  for (const auto mechanism : kMechanisms) {
    const auto read = readUserCredentials(stored, mechanism);
    ASSERT_TRUE(read.isOK()) << read.status().toString();
    const auto derived = deriveCredentials(mechanism, *preparePassword(mechanism, "user", "pencil"), read->salt,
                                           mechanism == Mechanism::kScramSha1 ? 4096 : 5000);
    EXPECT_EQ(read->storedKey, derived.storedKey);
    EXPECT_EQ(read->serverKey, derived.serverKey);
    EXPECT_EQ(read->iterationCount, derived.iterationCount);
  }
}

TEST(UserCredentials, AreRefusedWithoutNameOrPasswordOrForAProhibitedPassword) {
  EXPECT_EQ(makeUserCredentials("", "p", kMechanisms, counting()).status(), ErrorCode::kBadValue);
  EXPECT_EQ(makeUserCredentials("u", "", kMechanisms, counting()).status(), ErrorCode::kBadValue);
  EXPECT_EQ(makeUserCredentials("u", "\x07", kMechanisms, counting()).status(), ErrorCode::kBadValue);
}

TEST(UserCredentials, ThatAreMissingOrMalformedAreToldApart) {
  const auto stored = makeUserCredentials("user", "pencil", std::span(kMechanisms).first(1), counting()).value();
  EXPECT_EQ(readUserCredentials(stored, Mechanism::kScramSha256).status(), ErrorCode::kMechanismUnavailable);
  for (const auto* json :
       {R"({"SCRAM-SHA-1": {}})",
        R"({"SCRAM-SHA-1": {"iterationCount": 10000, "salt": "!", "storedKey": "", "serverKey": ""}})",
        R"({"SCRAM-SHA-1": {"iterationCount": 10000, "salt": "AAAA", "storedKey": "AAAA", "serverKey": "AAAA"}})"})
    EXPECT_EQ(readUserCredentials(*bson::fromJson(json), Mechanism::kScramSha1).status(), ErrorCode::kUnsupportedFormat)
        << json;
}

TEST(UserCredentials, TellTheMechanismsTheyServe) {
  const auto stored = makeUserCredentials("user", "pencil", kMechanisms, counting(), {4096, 4096}).value();
  EXPECT_EQ(bson::doc("m", mechanismsOf(stored)), bson::doc("m", bson::array("SCRAM-SHA-1", "SCRAM-SHA-256")));
  EXPECT_EQ(bson::doc("m", mechanismsOf(bson::doc("external", true))), bson::doc("m", bson::array()));
}

TEST(DecoyCredentials, AreStableForANameAndDifferBetweenNamesAndSecrets) {
  for (const auto mechanism : kMechanisms) {
    const auto decoy = decoyCredentials(mechanism, "nobody", "admin", "secret");
    EXPECT_EQ(decoy.salt, decoyCredentials(mechanism, "nobody", "admin", "secret").salt);
    EXPECT_NE(decoy.salt, decoyCredentials(mechanism, "nobody2", "admin", "secret").salt);
    EXPECT_NE(decoy.salt, decoyCredentials(mechanism, "nobody", "test", "secret").salt);
    EXPECT_NE(decoy.salt, decoyCredentials(mechanism, "nobody", "admin", "secret2").salt);
    EXPECT_EQ(decoy.iterationCount, defaultIterations(mechanism));
    EXPECT_EQ(decoy.salt.size(), digestSize(mechanism) - 4);  // as that of real users
  }
}

}  // namespace
}  // namespace troupe::auth
