#include "messaging/wire/client.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/document.hpp"
#include "messaging/wire/message_builder.hpp"

namespace troupe::wire {
namespace {

using bson::doc;

TEST(WireClient, SendsTheCommandWithItsDatabaseLast) {
  const auto frame = buildRequest(5, "test", doc("find", "c"));
  const auto message = parseOpMsg(frame);
  ASSERT_TRUE(message.isOK());
  EXPECT_EQ(message->body, doc("find", "c", "$db", "test").view());
}

TEST(WireClient, ReadsBothKindsOfReplyAndRefusesThoseToOthers) {
  MessageBuilder modern, legacy;
  modern.body().append("ok", 1.0);
  legacy.body().append("ok", 1.0);
  const auto message = std::move(modern).finish({.requestId = 1, .responseTo = 5});
  const auto reply = std::move(legacy).finishAsOpReply({.requestId = 1, .responseTo = 5});
  EXPECT_EQ(*parseReply(message, 5), doc("ok", 1.0).view());
  EXPECT_EQ(*parseReply(reply, 5), doc("ok", 1.0).view());
  EXPECT_EQ(parseReply(message, 6).status(), ErrorCode::kProtocolError);
  EXPECT_FALSE(parseReply(reply.substr(0, 30), 5).isOK());
}

TEST(WireClient, TurnsAnErrorReplyIntoAStatus) {
  EXPECT_TRUE(replyStatus(doc("ok", 1.0)).isOK());
  EXPECT_TRUE(replyStatus(doc("ok", 1)).isOK());
  const auto status = replyStatus(
      doc("ok", 0.0, "errmsg", "dup", "code", 11000, "codeName", "DuplicateKey", "keyPattern", doc("a", 1)));
  EXPECT_EQ(status, ErrorCode::kDuplicateKey);
  EXPECT_EQ(status.reason(), "dup");
  ASSERT_NE(status.extra(), nullptr);
  EXPECT_EQ(*status.extra(), doc("keyPattern", doc("a", 1)));
  EXPECT_EQ(replyStatus(doc("ok", 0.0)), ErrorCode::kUnknownError);
  EXPECT_EQ(replyStatus(doc("ok", 0.0)).extra(), nullptr);
}

}  // namespace
}  // namespace troupe::wire
