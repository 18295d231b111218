#include "storage/operation/logical_session.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::storage {

namespace {

Status parsed(std::string_view json) { return LogicalSession::parse(*bson::fromJson(json)).status(); }

}  // namespace

TEST(LogicalSession, ReadsWhatACommandSays) {
  const auto command = *bson::fromJson(R"({"insert": "c", "lsid": {"id": 1}, "txnNumber": {"$numberLong": "4"},
                                           "stmtId": 2, "autocommit": false, "startTransaction": true})");
  const auto session = LogicalSession::parse(command);
  ASSERT_TRUE(session.isOK()) << session.status().toString();
  EXPECT_EQ(session->txnNumber, 4);
  EXPECT_TRUE(session->inTransaction() && session->startsTransaction);
  EXPECT_EQ(session->statementId(0), 2);
  EXPECT_EQ(session->statementId(3), 5) << "one number is the first statement's";
}

TEST(LogicalSession, NumbersStatementsOnlyInANumberedSession) {
  const auto plain = *bson::fromJson(R"({"insert": "c", "lsid": {"id": 1}})");
  EXPECT_EQ(LogicalSession::parse(plain)->statementId(0), std::nullopt);
  const auto listed = *bson::fromJson(R"({"insert": "c", "lsid": {"id": 1}, "txnNumber": {"$numberLong": "4"},
                                          "stmtIds": [7, 9]})");
  EXPECT_EQ(LogicalSession::parse(listed)->statementId(1), 9);
  EXPECT_EQ(LogicalSession::parse(listed)->statementId(2), std::nullopt);
}

TEST(LogicalSession, FieldsThatNeedOthersAreRefusedAlone) {
  const ErrorCode invalid = ErrorCode::kInvalidOptions;
  EXPECT_EQ(parsed(R"({"find": "c", "txnNumber": {"$numberLong": "4"}})"), invalid);
  EXPECT_EQ(parsed(R"({"find": "c", "lsid": {}, "autocommit": false})"), invalid);
  EXPECT_EQ(parsed(R"({"find": "c", "lsid": {}, "txnNumber": {"$numberLong": "4"}, "startTransaction": true})"),
            invalid);
  EXPECT_EQ(parsed(R"({"find": "c", "lsid": {"id": 1}, "txnNumber": {"$numberLong": "-1"}})"), invalid);
  EXPECT_EQ(parsed(R"({"find": "c", "lsid": {"id": 1}, "txnNumber": {"$numberLong": "4"}, "autocommit": true})"),
            invalid);
  EXPECT_EQ(parsed(R"({"find": "c", "lsid": {"id": 1}, "txnNumber": {"$numberLong": "4"}, "autocommit": false,
                       "startTransaction": false})"),
            invalid);
}

TEST(LogicalSession, WrongTypesAreRefused) {
  for (const char* bad :
       {R"({"find": "c", "lsid": 1})", R"({"find": "c", "txnNumber": 4})", R"({"find": "c", "stmtId": "1"})",
        R"({"find": "c", "stmtIds": [1, "2"]})", R"({"find": "c", "autocommit": 0})"})
    EXPECT_EQ(parsed(bad), ErrorCode::kTypeMismatch) << bad;
}

}  // namespace troupe::storage
