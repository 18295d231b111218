#include "messaging/wire/request.hpp"

#include <gtest/gtest.h>

#include "messaging/wire/client.hpp"
#include "messaging/wire/op_query.hpp"

namespace troupe::wire {
namespace {

using bson::doc;

MessageBuilder answer(const bson::Document& body) {
  MessageBuilder builder;
  builder.body().appendAll(body);
  return builder;
}

TEST(Request, IsTheSameWhicheverOpcodeCarriedIt) {
  const auto plain = buildRequest(5, "test", doc("hello", 1));
  const auto legacy = buildOpQuery(5, "test", doc("hello", 1));
  const auto packed = compress(plain, Compressor::kSnappy).value();
  for (const auto& frame : {plain, legacy, packed}) {
    const auto request = parseRequest(frame);
    ASSERT_TRUE(request.isOK()) << request.status().toString();
    EXPECT_EQ(request->requestId, 5);
    EXPECT_EQ(request->commandName(), "hello");
    EXPECT_EQ(request->database, "test");
    EXPECT_TRUE(request->expectsReply());
  }
  EXPECT_TRUE(parseRequest(legacy)->legacy);
  EXPECT_EQ(parseRequest(packed)->compressor, Compressor::kSnappy);
}

TEST(Request, IsAnsweredInTheFormItCameIn) {
  const auto legacy = buildOpQuery(5, "test", doc("hello", 1));
  const auto reply = parseRequest(legacy)->reply(answer(doc("ok", 1.0)), 9);
  EXPECT_EQ(parseHeader(reply)->opCode, OpCode::kReply);
  EXPECT_EQ(*parseReply(reply, 5), doc("ok", 1.0).view());

  const auto plain = buildRequest(6, "test", doc("ping", 1), {}, kChecksumPresent);
  const auto checked = parseRequest(plain)->reply(answer(doc("ok", 1.0)), 9);
  EXPECT_TRUE(parseOpMsg(checked, Direction::kReply)->has(kChecksumPresent));
}

TEST(Request, IsAnsweredCompressedWhenItWasAndWhenThatHelps) {
  const auto packed = compress(buildRequest(5, "test", doc("find", "c")), Compressor::kZstd).value();
  const auto request = parseRequest(packed).value();
  const auto big = request.reply(answer(doc("text", std::string(3000, 'a'), "ok", 1.0)), 9);
  EXPECT_EQ(compressorOf(big), Compressor::kZstd);
  EXPECT_EQ(parseHeader(big)->responseTo, 5);
  EXPECT_EQ(parseHeader(request.reply(answer(doc("ok", 1.0)), 9))->opCode, OpCode::kMsg);

  const auto secret = compress(buildRequest(5, "admin", doc("saslStart", 1)), Compressor::kZstd).value();
  const auto secretReply = parseRequest(secret)->reply(answer(doc("payload", std::string(3000, 'a'))), 9);
  EXPECT_EQ(parseHeader(secretReply)->opCode, OpCode::kMsg);
}

TEST(Request, ChainsTheRepliesOfAnExhaustStream) {
  const auto frame = buildRequest(5, "test", doc("hello", 1), {}, kExhaustAllowed);
  const auto request = parseRequest(frame).value();
  EXPECT_TRUE(request.has(kExhaustAllowed));
  const auto first = request.reply(answer(doc("ok", 1.0)), 100, kMoreToCome);
  const auto second = request.reply(answer(doc("ok", 1.0)), 101, kMoreToCome, 100);
  EXPECT_EQ(parseHeader(first)->responseTo, 5);
  EXPECT_EQ(parseHeader(second)->responseTo, 100);
  EXPECT_TRUE(parseOpMsg(second, Direction::kReply)->has(kMoreToCome));
}

TEST(Request, OfARemovedOrUnknownOpcodeClosesTheConnection) {
  for (const int opCode : {0, 2001, 2002, 2005, 2006, 2007, 4711}) {
    auto frame = buildRequest(5, "test", doc("ping", 1));
    writeHeader(frame.data(), {static_cast<int32_t>(frame.size()), 5, 0, static_cast<OpCode>(opCode)});
    const auto request = parseRequest(frame);
    ASSERT_FALSE(request.isOK());
    EXPECT_TRUE(closesConnection(request.status().code())) << opCode;
  }
}

TEST(MalformedRequest, IsAnsweredInItsFormUnlessNoAnswerIsWanted) {
  const auto failure = doc("ok", 0.0, "code", 22);
  const auto broken = buildRequest(5, "test", doc("ping", 1), {}, 0);
  EXPECT_EQ(*parseReply(replyToMalformed(broken, answer(failure), 9, "why"), 5), failure.view());
  EXPECT_EQ(replyToMalformed(buildRequest(5, "test", doc("ping", 1), {}, kMoreToCome), answer(failure), 9, "why"), "");
  EXPECT_EQ(parseHeader(replyToMalformed(buildOpQuery(5, "t", doc("find", 1)), answer(failure), 9, "why"))->opCode,
            OpCode::kReply);
  const auto refused = replyToMalformed(buildOpQuery(5, "t", doc("find", 1)), answer(failure), 9, "why");
  EXPECT_EQ(parseOpReply(refused)->flags & kQueryFailure, kQueryFailure);
  EXPECT_EQ(parseOpReply(refused)->document["$err"].toStringOr(), "why");
  const auto packed = compress(buildRequest(5, "t", doc("ping", 1), {}, kMoreToCome), Compressor::kZlib).value();
  EXPECT_EQ(replyToMalformed(packed, answer(failure), 9, "why"), "");
  EXPECT_EQ(replyToMalformed("short", answer(failure), 9, "why"), "");
}

}  // namespace
}  // namespace troupe::wire
