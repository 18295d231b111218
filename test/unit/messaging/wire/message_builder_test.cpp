#include "messaging/wire/message_builder.hpp"

#include <gtest/gtest.h>

#include "messaging/wire/op_query.hpp"

namespace troupe::wire {
namespace {

using bson::doc;

TEST(MessageBuilder, WritesAReplyByteForByte) {
  MessageBuilder reply;
  reply.body().append("ok", 1.0);
  EXPECT_EQ(std::move(reply).finish({.requestId = 9, .responseTo = 5}),
            std::string("\x26\0\0\0\x09\0\0\0\x05\0\0\0\xDD\x07\0\0"
                        "\0\0\0\0"
                        "\0"
                        "\x11\0\0\0"
                        "\x01ok\0"
                        "\0\0\0\0\0\0\xF0\x3F"
                        "\0",
                        38));
}

TEST(MessageBuilder, TakesDocumentsOfACursorWithoutACopyInBetween) {
  MessageBuilder reply;
  reply.body().openDocument("cursor").openArray("firstBatch");
  for (int i = 0; i < 11; ++i) reply.body().push(doc("_id", i));
  reply.body().close().append("id", int64_t{77}).append("ns", "test.c").close().append("ok", 1.0);
  const auto frame = std::move(reply).finish({.requestId = 1, .responseTo = 2, .flags = kMoreToCome});

  const auto message = parseOpMsg(frame, Direction::kReply);
  ASSERT_TRUE(message.isOK()) << message.status().toString();
  EXPECT_TRUE(message->has(kMoreToCome));
  const auto cursor = message->body["cursor"].asDocument();
  EXPECT_EQ(cursor["firstBatch"].asArray().count(), 11);
  EXPECT_EQ(cursor["firstBatch"].asArray()["10"].asDocument()["_id"].asInt32(), 10);
  EXPECT_EQ(cursor["id"].asInt64(), 77);
  EXPECT_EQ(message->body["ok"].asDouble(), 1.0);
}

TEST(MessageBuilder, ForgetsAHalfWrittenBody) {
  MessageBuilder reply;
  reply.body().openDocument("cursor").openArray("firstBatch").push(doc("_id", 1));
  reply.discard();
  reply.body().append("ok", 0.0);
  const auto frame = std::move(reply).finish({});
  const auto message = parseOpMsg(frame, Direction::kReply);
  ASSERT_TRUE(message.isOK());
  EXPECT_EQ(message->body, doc("ok", 0.0).view());
}

TEST(MessageBuilder, UsesTheMemoryOfAnOldFrame) {
  std::string old(1000, 'x');
  const char* memory = old.data();
  MessageBuilder reply(std::move(old));
  reply.body().append("ok", 1.0);
  const auto frame = std::move(reply).finish({});
  EXPECT_EQ(frame.data(), memory);
  EXPECT_EQ(frame.size(), 38u);
}

TEST(MessageBuilder, WritesSequencesBehindTheBody) {
  const auto documents = doc("_id", 1).bytes() + doc("_id", 2).bytes();
  MessageBuilder request;
  request.body().append("insert", "c").append("$db", "test");
  const DocumentSequence sequences[] = {{"documents", DocumentRange(documents, 2)}};
  const auto frame = std::move(request).finish({.requestId = 3, .flags = kChecksumPresent}, sequences);
  const auto message = parseOpMsg(frame);
  ASSERT_TRUE(message.isOK()) << message.status().toString();
  EXPECT_EQ(message->sequences.at(0).name, "documents");
  EXPECT_EQ(message->sequences.at(0).documents.bytes(), documents);
}

TEST(MessageBuilder, WritesAnOpReplyByteForByte) {
  MessageBuilder reply;
  reply.body().append("ok", 1.0);
  EXPECT_EQ(std::move(reply).finishAsOpReply({.requestId = 9, .responseTo = 5}),
            std::string("\x35\0\0\0\x09\0\0\0\x05\0\0\0\x01\0\0\0"
                        "\x08\0\0\0"
                        "\0\0\0\0\0\0\0\0"
                        "\0\0\0\0"
                        "\x01\0\0\0"
                        "\x11\0\0\0"
                        "\x01ok\0"
                        "\0\0\0\0\0\0\xF0\x3F"
                        "\0",
                        53));
}

}  // namespace
}  // namespace troupe::wire
