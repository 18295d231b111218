#include "messaging/auth/scram.hpp"

#include <gtest/gtest.h>

namespace troupe::auth {
namespace {

/// A published exchange: everything that went over the wire.
struct Exchange {
  Mechanism mechanism;
  std::string clientNonce, serverNonce, salt;
  std::string clientFirst, serverFirst, clientFinal, serverFinal;
};

const Exchange kRfc5802{Mechanism::kScramSha1,
                        "fyko+d2lbbFgONRv9qkxdawL",
                        "3rfcNHYJY1ZVvWVs7j",
                        "QSXCR+Q6sek8bf92",
                        "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
                        "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
                        "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
                        "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="};
const Exchange kRfc7677{
    Mechanism::kScramSha256,
    "rOprNGfwEbeRWgbNEkqO",
    "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    "W22ZaJ0SNY7soEsUEjb6gQ==",
    "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="};

ScramCredentials credentialsOf(const Exchange& x, std::string_view password = "pencil") {
  return deriveCredentials(x.mechanism, password, *fromBase64(x.salt), 4096);
}

class PublishedExchange : public testing::TestWithParam<Exchange> {};
INSTANTIATE_TEST_SUITE_P(Scram, PublishedExchange, testing::Values(kRfc5802, kRfc7677), [](const auto& info) {
  return info.param.mechanism == Mechanism::kScramSha1 ? "Rfc5802" : "Rfc7677";
});

TEST_P(PublishedExchange, IsWhatTheServerSays) {
  const auto& x = GetParam();
  ScramServer server(x.mechanism, x.serverNonce);
  ASSERT_TRUE(server.clientFirst(x.clientFirst).isOK());
  EXPECT_EQ(server.user(), "user");
  EXPECT_EQ(server.challenge(credentialsOf(x)), x.serverFirst);
  const auto last = server.clientFinal(x.clientFinal);
  ASSERT_TRUE(last.isOK()) << last.status().toString();
  EXPECT_EQ(*last, x.serverFinal);
  EXPECT_TRUE(server.proven());
}

TEST_P(PublishedExchange, IsWhatTheClientSays) {
  const auto& x = GetParam();
  ScramClient client(x.mechanism, "user", "pencil", x.clientNonce);
  EXPECT_EQ(client.first(), x.clientFirst);
  EXPECT_EQ(*client.final(x.serverFirst), x.clientFinal);
  EXPECT_TRUE(client.verify(x.serverFinal).isOK());
}

TEST_P(PublishedExchange, FailsForAWrongPasswordOnEitherSide) {
  const auto& x = GetParam();
  ScramServer server(x.mechanism, x.serverNonce);
  ASSERT_TRUE(server.clientFirst(x.clientFirst).isOK());
  server.challenge(credentialsOf(x, "crayon"));
  EXPECT_EQ(server.clientFinal(x.clientFinal).status(), ErrorCode::kAuthenticationFailed);
  EXPECT_FALSE(server.proven());
  // A failed conversation stays failed, also for the right proof.
  EXPECT_EQ(server.clientFinal(x.clientFinal).status(), ErrorCode::kAuthenticationFailed);

  ScramClient client(x.mechanism, "user", "crayon", x.clientNonce);
  ASSERT_TRUE(client.final(x.serverFirst).isOK());
  EXPECT_EQ(client.verify(x.serverFinal), ErrorCode::kAuthenticationFailed);
}

TEST_P(PublishedExchange, FailsForEveryFlippedBitOfTheFinalMessage) {
  const auto& x = GetParam();
  const auto credentials = credentialsOf(x);
  for (size_t bit = 0; bit < x.clientFinal.size() * 8; ++bit) {
    auto damaged = x.clientFinal;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    // The last digit of the base64 text carries bits that mean nothing.
    if (bit / 8 + 2 == damaged.size()) continue;
    ScramServer server(x.mechanism, x.serverNonce);
    ASSERT_TRUE(server.clientFirst(x.clientFirst).isOK());
    server.challenge(credentials);
    EXPECT_FALSE(server.clientFinal(damaged).isOK()) << damaged;
  }
}

TEST_P(PublishedExchange, SurvivesCutMessages) {
  const auto& x = GetParam();
  for (size_t size = 0; size < x.clientFirst.size(); ++size) {
    ScramServer server(x.mechanism, x.serverNonce);
    const auto first = server.clientFirst(x.clientFirst.substr(0, size));
    EXPECT_TRUE(!first.isOK() || size > x.clientFirst.find(",r=") + 3);
  }
  for (size_t size = 0; size < x.clientFinal.size(); ++size) {
    ScramServer server(x.mechanism, x.serverNonce);
    ASSERT_TRUE(server.clientFirst(x.clientFirst).isOK());
    server.challenge({4096, "salt", std::string(digestSize(x.mechanism), 'a'), "b"});
    EXPECT_FALSE(server.clientFinal(x.clientFinal.substr(0, size)).isOK());
  }
  for (size_t size = 0; size < x.serverFirst.size(); ++size) {
    ScramClient client(x.mechanism, "user", "pencil", x.clientNonce);
    EXPECT_FALSE(client.final(x.serverFirst.substr(0, size)).isOK()) << size;
  }
}

TEST(ScramServer, UnescapesNamesAndRefusesWrongEscapes) {
  ScramServer server(Mechanism::kScramSha256, "s");
  ASSERT_TRUE(server.clientFirst("n,,n=a=2Cb=3Dc,r=abc").isOK());
  EXPECT_EQ(server.user(), "a,b=c");
  EXPECT_FALSE(ScramServer(Mechanism::kScramSha256, "s").clientFirst("n,,n=a=2Xb,r=abc").isOK());
  EXPECT_FALSE(ScramServer(Mechanism::kScramSha256, "s").clientFirst("n,,n=a=,r=abc").isOK());
}

TEST(ScramServer, RefusesWhatItCannotHonour) {
  for (const auto* message : {"", "x", "p=tls-unique,,n=user,r=abc", "n,,n=,r=abc", "n,,n=user", "n,,n=user,r=",
                              "n,,m=ext,n=user,r=abc", "n,a=root,n=user,r=abc", "n,,r=abc,n=user", "n,,n=user,r=a b"})
    EXPECT_EQ(ScramServer(Mechanism::kScramSha256, "s").clientFirst(message), ErrorCode::kAuthenticationFailed)
        << message;
  EXPECT_TRUE(ScramServer(Mechanism::kScramSha256, "s").clientFirst("n,a=user,n=user,r=abc").isOK());
  EXPECT_TRUE(ScramServer(Mechanism::kScramSha256, "s").clientFirst("y,,n=user,r=abc").isOK());
}

TEST(ScramServer, RefusesMessagesOutOfOrder) {
  ScramServer server(Mechanism::kScramSha1, "s");
  EXPECT_FALSE(server.clientFinal(kRfc5802.clientFinal).isOK());
  EXPECT_FALSE(server.clientFirst(kRfc5802.clientFirst).isOK());
  server.challenge(credentialsOf(kRfc5802));
  EXPECT_FALSE(server.clientFinal(kRfc5802.clientFinal).isOK());
}

TEST(ScramClient, RefusesAServerThatCheats) {
  const std::string salt = ",s=QSXCR+Q6sek8bf92";
  for (const auto& message :
       {"r=other" + salt + ",i=4096", "r=nonce" + salt + ",i=4096", "r=nonceX" + salt + ",i=4095",
        "r=nonceX" + salt + ",i=-1", "r=nonceX" + salt + ",i=99999999", "r=nonceX" + salt + ",i=4096x",
        std::string("r=nonceX,s=!!,i=4096"), std::string("e=other-error")}) {
    ScramClient client(Mechanism::kScramSha1, "user", "pencil", "nonce");
    EXPECT_EQ(client.final(message).status(), ErrorCode::kAuthenticationFailed) << message;
  }
  EXPECT_FALSE(ScramClient(Mechanism::kScramSha1, "user", "pencil", "nonce").verify("v=").isOK());
}

TEST(ScramNonce, IsPrintableAndNew) {
  const auto nonce = makeNonce(secureRandom());
  EXPECT_EQ(nonce.size(), 32u);
  EXPECT_EQ(nonce.find(','), std::string::npos);
  EXPECT_NE(nonce, makeNonce(secureRandom()));
}

}  // namespace
}  // namespace troupe::auth
