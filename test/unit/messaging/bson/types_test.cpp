#include "messaging/bson/types.hpp"

#include <gtest/gtest.h>

namespace troupe::bson {
namespace {

TEST(Types, HaveTheAliasesOfTheTypeOperator) {
  EXPECT_EQ(typeName(Type::kDocument), "object");
  EXPECT_EQ(typeName(Type::kEnd), "missing");
  EXPECT_EQ(typeName(Type::kInt64), "long");
  for (int code = 1; code <= 0x13; ++code) {
    const auto type = typeFromCode(code);
    ASSERT_TRUE(type) << code;
    EXPECT_EQ(typeFromName(typeName(*type)), type);
  }
}

TEST(Types, AreFoundByCode) {
  EXPECT_EQ(typeFromCode(-1), Type::kMinKey);
  EXPECT_EQ(typeFromCode(127), Type::kMaxKey);
  EXPECT_EQ(typeFromCode(0), std::nullopt);
  EXPECT_EQ(typeFromCode(20), std::nullopt);
  EXPECT_EQ(typeFromCode(255), std::nullopt);
  EXPECT_EQ(typeFromName("missing"), std::nullopt);
  EXPECT_EQ(typeFromName("integer"), std::nullopt);
}

TEST(ObjectIds, AreWrittenAndReadAsHexadecimalDigits) {
  const auto id = ObjectId::fromString("507f1f77bcf86cd799439011");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->toString(), "507f1f77bcf86cd799439011");
  EXPECT_EQ(id->seconds(), 0x507f1f77U);
  EXPECT_EQ(ObjectId::fromString("507F1F77BCF86CD799439011"), id);
  EXPECT_EQ(ObjectId::fromString("507f1f77bcf86cd79943901"), std::nullopt);
  EXPECT_EQ(ObjectId::fromString("507f1f77bcf86cd79943901g"), std::nullopt);
}

TEST(Uuids, AreWrittenAndReadInGroups) {
  const auto uuid = Uuid::fromString("00112233-4455-6677-8899-AABBCCDDEEFF");
  ASSERT_TRUE(uuid);
  EXPECT_EQ(uuid->toString(), "00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(Uuid::fromString("00112233445566778899aabbccddeeff"), std::nullopt);
  EXPECT_EQ(Uuid::fromString("00112233-4455-6677-8899-aabbccddeef-"), std::nullopt);
}

}  // namespace
}  // namespace troupe::bson
