#include "messaging/auth/crypto.hpp"

#include <gtest/gtest.h>

#include "messaging/auth/random.hpp"

namespace troupe::auth {
namespace {

using namespace std::string_view_literals;

TEST(Base64, FollowsRfc4648) {
  const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(toBase64(bytes), text);
    EXPECT_EQ(*fromBase64(text), bytes);
  }
}

TEST(Base64, RefusesWhatIsNotExactlyIt) {
  for (const auto text : {"Z", "Zg", "Zg=", "Zm9v\n", " Zm9v", "Zm9v ", "Z=9v", "Zg==Zg==", "====", "Zm*v"})
    EXPECT_FALSE(fromBase64(text).isOK()) << text;
}

TEST(SaslPrep, GivesTheExamplesOfRfc4013) {
  EXPECT_EQ(*saslPrep("I\u00ADX"), "IX");  // soft hyphen maps to nothing
  EXPECT_EQ(*saslPrep("user"), "user");
  EXPECT_EQ(*saslPrep("USER"), "USER");                                // case is kept
  EXPECT_EQ(*saslPrep("\u00AA"), "a");                                 // NFKC
  EXPECT_EQ(*saslPrep("\u2168"), "IX");                                // NFKC
  EXPECT_EQ(saslPrep("\u0007").status(), ErrorCode::kBadValue);        // prohibited
  EXPECT_EQ(saslPrep("\u0627\u0031").status(), ErrorCode::kBadValue);  // bidirectional check
}

TEST(SaslPrep, MapsForeignSpacesAndGrowsAsNeeded) {
  EXPECT_EQ(*saslPrep("a\u00A0b"), "a b");
  EXPECT_EQ(*saslPrep(""), "");
  std::string ligatures, expanded;
  for (int i = 0; i < 50; ++i) {
    ligatures += "\uFDFA";  // one sign, eighteen letters
    expanded += *saslPrep("\uFDFA");
  }
  EXPECT_GT(expanded.size(), 50u * 18);
  EXPECT_EQ(*saslPrep(ligatures), expanded);
}

TEST(SaslPrep, RefusesMalformedUtf8) {
  for (const auto text : {"\xFF"sv, "a\xC3"sv, "\xED\xA0\x80"sv, "\x80"sv})
    EXPECT_EQ(saslPrep(text).status(), ErrorCode::kBadValue);
}

TEST(ConstantTimeComparison, IsAComparison) {
  EXPECT_TRUE(equalInConstantTime("abc", "abc"));
  EXPECT_TRUE(equalInConstantTime("", ""));
  EXPECT_FALSE(equalInConstantTime("abc", "abd"));
  EXPECT_FALSE(equalInConstantTime("abc", "ab"));
}

TEST(Digests, GiveKnownValues) {
  EXPECT_EQ(md5Hex("user:mongo:pencil"), "1c33006ec1ffd90f9cadcbcc0e118200");
  // RFC 4231, test case 2.
  EXPECT_EQ(toBase64(hmac(Mechanism::kScramSha256, "Jefe", "what do ya want for nothing?")),
            "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=");
  EXPECT_EQ(toBase64(digest(Mechanism::kScramSha1, "abc")), "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
}

TEST(Mechanisms, AreKnownByTheirNames) {
  EXPECT_EQ(*mechanismByName("SCRAM-SHA-1"), Mechanism::kScramSha1);
  EXPECT_EQ(*mechanismByName("SCRAM-SHA-256"), Mechanism::kScramSha256);
  EXPECT_EQ(mechanismByName("PLAIN").status(), ErrorCode::kBadValue);
}

TEST(SecureRandom, GivesOtherBytesEachTime) {
  EXPECT_EQ(randomBytes(secureRandom(), 32).size(), 32u);
  EXPECT_NE(randomBytes(secureRandom(), 32), randomBytes(secureRandom(), 32));
}

}  // namespace
}  // namespace troupe::auth
