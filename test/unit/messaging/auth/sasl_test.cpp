#include "messaging/auth/sasl.hpp"

#include <gtest/gtest.h>

namespace troupe::auth {
namespace {

using bson::doc;

/// Users as a server has them, cheap to verify.
class SaslLogin : public testing::TestWithParam<Mechanism> {
 protected:
  static bson::Document stored() {
    static const auto credentials =
        makeUserCredentials("user", "pencil", kMechanisms, secureRandom(), {kMinIterations, kMinIterations}).value();
    return credentials;
  }
  ScramClient client(std::string_view password) const {
    return {GetParam(), "user", *preparePassword(GetParam(), "user", password), makeNonce(secureRandom())};
  }
  SaslConversation start(const bson::Document& command) const {
    return SaslConversation::start(command, "admin", secureRandom()).value();
  }
  ScramCredentials credentials() const { return *readUserCredentials(stored(), GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Sasl, SaslLogin, testing::ValuesIn(kMechanisms),
                         [](const auto& info) { return info.param == Mechanism::kScramSha1 ? "Sha1" : "Sha256"; });

TEST_P(SaslLogin, TakesTwoCommandsWhenTheEmptyExchangeIsSkipped) {
  auto person = client("pencil");
  auto server = start(saslStartCommand(GetParam(), person.first()));
  EXPECT_EQ(server.user(), "user");
  EXPECT_EQ(server.database(), "admin");
  const auto challenge = server.challenge(credentials());
  EXPECT_FALSE(challenge["done"].asBool());
  EXPECT_EQ(challenge["conversationId"].asInt32(), 1);

  const auto last = server.proceed(saslContinueCommand(1, *person.final(*saslPayload(challenge))));
  ASSERT_TRUE(last.isOK()) << last.status().toString();
  EXPECT_TRUE((*last)["done"].asBool());
  EXPECT_TRUE(server.done());
  EXPECT_TRUE(person.verify(*saslPayload(*last)).isOK());
  EXPECT_EQ(server.proceed(saslContinueCommand(1, "")).status(), ErrorCode::kProtocolError);
}

TEST_P(SaslLogin, EndsWithAnEmptyExchangeForOlderClients) {
  auto person = client("pencil");
  auto server =
      start(doc("saslStart", 1, "mechanism", mechanismName(GetParam()), "payload", bson::Binary{0, person.first()}));
  const auto challenge = server.challenge(credentials());
  const auto last = server.proceed(saslContinueCommand(1, *person.final(*saslPayload(challenge))));
  ASSERT_TRUE(last.isOK());
  EXPECT_FALSE((*last)["done"].asBool());
  EXPECT_FALSE(server.done());
  const auto end = server.proceed(saslContinueCommand(1, ""));
  ASSERT_TRUE(end.isOK());
  EXPECT_TRUE((*end)["done"].asBool());
  EXPECT_EQ(*saslPayload(*end), "");
  EXPECT_TRUE(server.done());
}

TEST_P(SaslLogin, FailsForAWrongPasswordAndForUsersThatDoNotExist) {
  for (const bool known : {true, false}) {
    auto person = client(known ? "crayon" : "pencil");
    auto server = start(saslStartCommand(GetParam(), person.first()));
    const auto challenge = server.challenge(
        known ? credentials()
              : decoyCredentials(GetParam(), "user", "admin", "secret", {kMinIterations, kMinIterations}));
    const auto last = server.proceed(saslContinueCommand(1, *person.final(*saslPayload(challenge))));
    EXPECT_EQ(last.status(), ErrorCode::kAuthenticationFailed);
    EXPECT_FALSE(server.done());
  }
}

TEST_P(SaslLogin, IsNotDoneByAnEmptyPayloadBeforeTheProof) {
  auto server = start(saslStartCommand(GetParam(), client("pencil").first()));
  server.challenge(credentials());
  EXPECT_FALSE(server.proceed(saslContinueCommand(1, "")).isOK());
  EXPECT_FALSE(server.done());
}

TEST_P(SaslLogin, RefusesAnotherConversation) {
  auto server = start(saslStartCommand(GetParam(), client("pencil").first()));
  server.challenge(credentials());
  EXPECT_EQ(server.proceed(saslContinueCommand(2, "x")).status(), ErrorCode::kProtocolError);
}

TEST(SaslStart, NamesWhatIsWrongWithTheCommand) {
  const auto start = [](const bson::Document& command) {
    return SaslConversation::start(command, "admin", secureRandom()).status();
  };
  const bson::Binary payload{0, "n,,n=user,r=abc"};
  EXPECT_EQ(start(doc("saslStart", 1, "payload", payload)), ErrorCode::kNoSuchKey);
  EXPECT_EQ(start(doc("saslStart", 1, "mechanism", "SCRAM-SHA-1")), ErrorCode::kNoSuchKey);
  EXPECT_EQ(start(doc("saslStart", 1, "mechanism", "PLAIN", "payload", payload)), ErrorCode::kMechanismUnavailable);
  EXPECT_EQ(start(doc("saslStart", 1, "mechanism", "SCRAM-SHA-1", "payload", 5)), ErrorCode::kTypeMismatch);
  EXPECT_EQ(start(doc("saslStart", 1, "mechanism", "SCRAM-SHA-1", "payload", bson::Binary{0, "?"})),
            ErrorCode::kAuthenticationFailed);
  EXPECT_TRUE(start(doc("saslStart", 1, "mechanism", "SCRAM-SHA-1", "payload", toBase64(payload.bytes))).isOK());
}

}  // namespace
}  // namespace troupe::auth
