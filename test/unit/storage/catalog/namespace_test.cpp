#include "storage/catalog/namespace.hpp"

#include <gtest/gtest.h>

namespace troupe::storage {
namespace {

TEST(Namespace, SplitsAtTheFirstDot) {
  const Namespace ns = Namespace::split("shop.orders.2024");
  EXPECT_EQ(ns.db(), "shop");
  EXPECT_EQ(ns.collection(), "orders.2024");
  EXPECT_EQ(ns.toString(), "shop.orders.2024");
  EXPECT_EQ(Namespace("shop", "").collection(), "");
}

TEST(Namespace, RefusesDatabaseNamesThatCannotBeFiles) {
  for (const char* name : {"", "a b", "a/b", "a\\b", "a.b", "a\"b", "a$b"})
    EXPECT_EQ(validateDatabaseName(name).code(), ErrorCode::kInvalidNamespace) << name;
  EXPECT_TRUE(validateDatabaseName(std::string(63, 'x')).isOK());
  EXPECT_EQ(validateDatabaseName(std::string(64, 'x')).reason(), "db name must be at most 63 characters, found: 64");
}

TEST(Namespace, RefusesCollectionNamesThatCannotBeAddressed) {
  EXPECT_EQ(Namespace::parse("test.").status().reason(), "Invalid namespace specified 'test.'");
  EXPECT_EQ(Namespace::parse("test..a").status().code(), ErrorCode::kInvalidNamespace);
  EXPECT_EQ(Namespace::parse("test.a.").status().code(), ErrorCode::kInvalidNamespace);
  EXPECT_EQ(Namespace::parse("test").status().code(), ErrorCode::kInvalidNamespace);
  EXPECT_TRUE(Namespace::parse("test." + std::string(250, 'c')).isOK());
  EXPECT_EQ(Namespace::parse("test." + std::string(251, 'c')).status().code(), ErrorCode::kInvalidNamespace);
}

TEST(Namespace, KnowsWhatTheNodeNeedsItself) {
  for (const Namespace& ns : {Namespace("admin", "system.users"), Namespace("admin", "system.roles"),
                              Namespace("local", "oplog.rs"), Namespace("config", "transactions")})
    EXPECT_TRUE(ns.isEssential()) << ns.toString();
  for (const Namespace& ns : {Namespace("admin", "mine"), Namespace("test", "system.views"), Namespace("test", "c")})
    EXPECT_FALSE(ns.isEssential()) << ns.toString();
}

TEST(Namespace, LetsUsersCreateOnlyKnownSystemCollections) {
  EXPECT_TRUE(validateForCreate(Namespace("test", "a")).isOK());
  EXPECT_TRUE(validateForCreate(Namespace("test", "system.views")).isOK());
  EXPECT_TRUE(validateForCreate(Namespace("test", "system.buckets.weather")).isOK());
  EXPECT_TRUE(validateForCreate(Namespace("config", "system.anything")).isOK());
  EXPECT_EQ(validateForCreate(Namespace("test", "system.foo")).code(), ErrorCode::kInvalidNamespace);
  EXPECT_EQ(validateForCreate(Namespace("test", "a$b")).code(), ErrorCode::kInvalidNamespace);
}

}  // namespace
}  // namespace troupe::storage
