#include "storage/sessions/session_id.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "messaging/errors/invariant.hpp"

namespace troupe::storage {

namespace {

const std::string kUser(SessionId::kUidBytes, 'u');
const bson::Binary kUuid{bson::kBinaryUuid, "0123456789abcdef"};
const bson::Binary kUid{bson::kBinaryGeneric, kUser};
const bson::Binary kChild{bson::kBinaryUuid, "fedcba9876543210"};

ErrorCode codeOf(const bson::Document& document, std::string_view owner = kUser) {
  return SessionId::parse(document, owner).status().code();
}

}  // namespace

TEST(SessionId, HasTheOrderOfFieldsOfRecords) {  // SES-001
  const bson::Document mixed = bson::doc("txnUUID", kChild, "txnNumber", int64_t{5}, "uid", kUid, "id", kUuid);
  const auto session = SessionId::parse(mixed);
  ASSERT_TRUE(session.isOK()) << session.status().toString();
  EXPECT_EQ(session->toDocument(), bson::doc("id", kUuid, "uid", kUid, "txnNumber", int64_t{5}, "txnUUID", kChild));
  EXPECT_EQ(SessionId::parse(session->toDocument()).value(), *session);
}

TEST(SessionId, OfAClientIsItsUsers) {
  const auto session = SessionId::parse(bson::doc("id", kUuid), kUser);
  ASSERT_TRUE(session.isOK());
  EXPECT_EQ(session->toDocument(), bson::doc("id", kUuid, "uid", kUid));
  EXPECT_FALSE(session->isChild());
  EXPECT_EQ(codeOf(bson::doc("id", kUuid), ""), ErrorCode::kMissingRequiredField);
}

TEST(SessionId, ChildrenAreOfTheFamilyOfTheirParent) {  // SES-002
  const auto parent = SessionId::parse(bson::doc("id", kUuid), kUser).value();
  const auto child = SessionId::parse(bson::doc("id", kUuid, "txnUUID", kChild), kUser).value();
  const auto numbered =
      SessionId::parse(bson::doc("id", kUuid, "txnNumber", int64_t{5}, "txnUUID", kChild), kUser).value();
  EXPECT_EQ(parent.familyKey(), std::string(kUuid.bytes) + kUser);
  for (const SessionId& session : {parent, child, numbered}) {
    EXPECT_EQ(session.familyKey(), parent.familyKey());
    EXPECT_EQ(session.isChild(), session != parent);
    EXPECT_EQ(SessionId::of(session.familyKey(), session.childKey()), session);
  }
  EXPECT_NE(child.childKey(), numbered.childKey());
  EXPECT_THROW(SessionId::of("short", ""), BrokenInvariant);
}

TEST(SessionId, RefusesWhatIsNone) {
  EXPECT_EQ(codeOf(bson::doc("uid", kUid)), ErrorCode::kMissingRequiredField);
  EXPECT_EQ(codeOf(bson::doc("id", 1)), ErrorCode::kTypeMismatch);
  EXPECT_EQ(codeOf(bson::doc("id", kUid)), ErrorCode::kInvalidUUID);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "uid", kUuid)), ErrorCode::kBadValue);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "uid", "me")), ErrorCode::kTypeMismatch);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "more", 1)), ErrorCode::kUnknownField);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "txnNumber", int64_t{5})), ErrorCode::kInvalidOptions);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "txnNumber", 5, "txnUUID", kChild)), ErrorCode::kTypeMismatch);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "txnNumber", int64_t{-5}, "txnUUID", kChild)), ErrorCode::kInvalidOptions);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "txnUUID", kUid)), ErrorCode::kInvalidUUID);
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "uid", kUid, "uid", kUid)), ErrorCode(40413));
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "id", kUuid)), ErrorCode(40413));
  EXPECT_EQ(codeOf(bson::doc("id", kUuid, "txnUUID", kChild, "txnUUID", kChild)), ErrorCode(40413));
  const bson::Document numbers =
      bson::doc("id", kUuid, "txnUUID", kChild, "txnNumber", int64_t{5}, "txnNumber", int64_t{6});
  EXPECT_EQ(codeOf(numbers), ErrorCode(40413));
}

}  // namespace troupe::storage
