#include "messaging/client/uri.hpp"

#include <gtest/gtest.h>

namespace troupe::client {
namespace {

TEST(ConnectionString, NamesHostAndPortInEveryForm) {
  EXPECT_EQ(parseTarget("example.org")->address(), "example.org:27017");
  EXPECT_EQ(parseTarget("example.org:27018")->address(), "example.org:27018");
  EXPECT_EQ(parseTarget("[::1]:9")->address(), "[::1]:9");
  EXPECT_EQ(parseTarget("[::1]")->host, "::1");
  EXPECT_EQ(parseTarget("mongodb://example.org:27018")->address(), "example.org:27018");
  EXPECT_EQ(parseTarget("mongodb://a:1,b:2/?replicaSet=rs")->address(), "a:1");
}

TEST(ConnectionString, CarriesWhoLogsInAndWhere) {
  const auto target = parseTarget("mongodb://an%40na:se%3Acret@host/shop?authSource=people&authMechanism=SCRAM-SHA-1");
  ASSERT_TRUE(target.isOK()) << target.status().toString();
  EXPECT_EQ(target->user, "an@na");
  EXPECT_EQ(target->password, "se:cret");
  EXPECT_EQ(target->database, "shop");
  EXPECT_EQ(target->authDatabase(), "people");
  EXPECT_EQ(target->mechanism, "SCRAM-SHA-1");
}

TEST(ConnectionString, LogsInAtTheNamedDatabaseElseAtAdmin) {
  EXPECT_EQ(parseTarget("mongodb://u:p@host/shop")->authDatabase(), "shop");
  EXPECT_EQ(parseTarget("mongodb://u:p@host")->authDatabase(), "admin");
}

TEST(ConnectionString, SetsTlsAndTimes) {
  const auto target =
      parseTarget("mongodb://host/?tls=true&tlsCAFile=/etc/ca.pem&connectTimeoutMS=250&socketTimeoutMS=1000&w=1");
  ASSERT_TRUE(target.isOK()) << target.status().toString();
  EXPECT_TRUE(target->tls);
  EXPECT_EQ(target->tlsCAFile, "/etc/ca.pem");
  EXPECT_EQ(target->connectTimeoutMs, 250);
  EXPECT_EQ(target->socketTimeoutMs, 1000);
}

TEST(ConnectionString, SaysFromWhichMembersToRead) {
  EXPECT_EQ(parseTarget("mongodb://host/?readPreference=secondary")->readPreference, "secondary");
  EXPECT_EQ(parseTarget("mongodb://host/")->readPreference, "");
}

TEST(ConnectionString, RefusesWhatItCannotRead) {
  for (const char* text :
       {"", ":27017", "host:0", "host:65536", "host:x", "[::1", "[::1]x", "http://host", "mongodb+srv://host",
        "mongodb://", "mongodb://:p@host", "mongodb://u:%4@host", "mongodb://u:p%zz@host", "mongodb://host/?tls=yes",
        "mongodb://host/?tls", "mongodb://host/?noSuchOption=1", "mongodb://host/?connectTimeoutMS=-1"}) {
    EXPECT_EQ(parseTarget(text).status(), ErrorCode::kFailedToParse) << text;
  }
}

TEST(ConnectionString, KeepsThePasswordOutOfItsComplaints) {
  const auto refused = parseTarget("mongodb://anna:top:secret@host");
  ASSERT_FALSE(refused.isOK());
  EXPECT_EQ(refused.status().reason().find("secret"), std::string::npos);
  EXPECT_NE(refused.status().reason().find("%3A"), std::string::npos);
}

}  // namespace
}  // namespace troupe::client
