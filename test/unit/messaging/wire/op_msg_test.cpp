#include "messaging/wire/op_msg.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/document.hpp"
#include "messaging/wire/message_builder.hpp"

namespace troupe::wire {
namespace {

using bson::doc;
using bson::Document;
using bson::View;

/// A frame of these flags and sections, with a header that fits.
std::string frameOf(uint32_t flags, const std::string& sections) {
  std::string frame(kHeaderSize, '\0');
  frame.append(reinterpret_cast<const char*>(&flags), sizeof flags).append(sections);
  writeHeader(frame.data(), {static_cast<int32_t>(frame.size()), 42, 0, OpCode::kMsg});
  return frame;
}

std::string bodySection(const Document& body) { return std::string(1, '\0') + body.bytes(); }

std::string sequenceSection(std::string_view name, std::string_view documents) {
  const auto size = static_cast<int32_t>(4 + name.size() + 1 + documents.size());
  std::string section(1, '\x01');
  section.append(reinterpret_cast<const char*>(&size), 4).append(name).append(1, '\0').append(documents);
  return section;
}

const Document& insertBody() {
  static const Document body = doc("insert", "c", "$db", "test");
  return body;
}

std::string insertFrame(uint32_t flags = 0) {
  return frameOf(flags, bodySection(insertBody()) +
                            sequenceSection("documents", doc("_id", 1).bytes() + doc("_id", 2, "x", "y").bytes()));
}

Status parseFailure(const std::string& frame) { return parseOpMsg(frame).status(); }

TEST(OpMsg, ReadsAPingByteForByte) {
  const std::string frame(
      "\x32\0\0\0\x05\0\0\0\0\0\0\0\xDD\x07\0\0"
      "\0\0\0\0"
      "\0"
      "\x1D\0\0\0"
      "\x10ping\0\x01\0\0\0"
      "\x02$db\0\x05\0\0\0test\0"
      "\0",
      50);
  const auto message = parseOpMsg(frame);
  ASSERT_TRUE(message.isOK()) << message.status().toString();
  EXPECT_EQ(message->header.requestId, 5);
  EXPECT_EQ(message->flags, 0u);
  EXPECT_EQ(message->body["ping"].asInt32(), 1);
  EXPECT_EQ(message->body["$db"].asString(), "test");
  EXPECT_TRUE(message->sequences.empty());
}

TEST(OpMsg, GivesSequencesAsViewsIntoTheFrame) {
  const auto frame = insertFrame();
  const auto message = parseOpMsg(frame);
  ASSERT_TRUE(message.isOK()) << message.status().toString();
  const auto* documents = message->sequence("documents");
  ASSERT_NE(documents, nullptr);
  EXPECT_EQ(documents->documents.size(), 2u);
  std::vector<View> seen(documents->documents.begin(), documents->documents.end());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], doc("_id", 1).view());
  EXPECT_EQ(seen[1]["x"].asString(), "y");
  EXPECT_GE(seen[0].data(), frame.data());
  EXPECT_LT(seen[1].data(), frame.data() + frame.size());
  EXPECT_EQ(message->sequence("updates"), nullptr);
}

TEST(OpMsg, AcceptsTheBodyAfterSequencesAndAnEmptySequence) {
  const auto frame = frameOf(0, sequenceSection("documents", "") + bodySection(insertBody()));
  const auto message = parseOpMsg(frame);
  ASSERT_TRUE(message.isOK());
  EXPECT_EQ(message->sequences.at(0).documents.size(), 0u);
  EXPECT_TRUE(message->sequences.at(0).documents.begin() == message->sequences.at(0).documents.end());
}

TEST(OpMsg, IgnoresUnknownOptionalFlagsAndRefusesUnknownRequiredOnes) {
  const auto sections = bodySection(insertBody());
  for (int bit = 2; bit < 16; ++bit)
    EXPECT_EQ(parseFailure(frameOf(1u << bit, sections)), ErrorCode::kIllegalOpMsgFlag);
  for (int bit = 16; bit < 32; ++bit) EXPECT_TRUE(parseOpMsg(frameOf(1u << bit, sections)).isOK()) << bit;
  const auto message = parseOpMsg(frameOf(kMoreToCome | kExhaustAllowed, sections));
  ASSERT_TRUE(message.isOK());
  EXPECT_TRUE(message->has(kMoreToCome));
  EXPECT_TRUE(message->has(kExhaustAllowed));
}

TEST(OpMsg, VerifiesTheChecksum) {
  MessageBuilder builder;
  builder.body().append("ping", 1).append("$db", "test");
  auto frame = std::move(builder).finish({.requestId = 1, .flags = kChecksumPresent});
  EXPECT_TRUE(parseOpMsg(frame).isOK());
  for (size_t at = kHeaderSize + 4; at < frame.size(); ++at) {
    auto damaged = frame;
    damaged[at] ^= 0x20;
    EXPECT_EQ(parseFailure(damaged), ErrorCode::kChecksumMismatch) << at;
  }
  EXPECT_EQ(parseFailure(frameOf(kChecksumPresent, "abc")), ErrorCode::kProtocolError);
}

TEST(OpMsg, RefusesBrokenSetsOfSections) {
  const auto body = bodySection(insertBody());
  EXPECT_EQ(parseFailure(frameOf(0, "")), ErrorCode(40587));
  EXPECT_EQ(parseFailure(frameOf(0, sequenceSection("documents", ""))), ErrorCode(40587));
  EXPECT_EQ(parseFailure(frameOf(0, body + body)), ErrorCode(40430));
  EXPECT_EQ(parseFailure(frameOf(0, body + "\x02")), ErrorCode(40432));
  EXPECT_EQ(parseFailure(frameOf(0, body + sequenceSection("a", "") + sequenceSection("a", ""))), ErrorCode(40431));
  EXPECT_EQ(parseFailure(frameOf(0, body + sequenceSection("insert", ""))), ErrorCode(40433));
  EXPECT_EQ(parseFailure(frameOf(0, bodySection(doc("ping", 1)))), ErrorCode(40571));
  EXPECT_EQ(parseFailure(frameOf(0, bodySection(doc("ping", 1, "$db", 5)))), ErrorCode::kTypeMismatch);
  EXPECT_EQ(parseFailure(frameOf(0, body + std::string("\x01\x03\0\0\0", 5))), ErrorCode::kInvalidBSON);
  EXPECT_EQ(parseFailure(frameOf(0, body + std::string("\x01\xFF\xFF\xFF\xFF", 5))), ErrorCode::kInvalidBSON);
  EXPECT_EQ(parseFailure(frameOf(0, body + std::string("\x01\xFF\xFF\xFF\x7F", 5))), ErrorCode::kInvalidBSON);
  EXPECT_EQ(parseFailure(frameOf(0, body + std::string("\x01\x07\0\0\0abc", 8))), ErrorCode::kInvalidBSON);
}

TEST(OpMsg, RefusesMoreThanTenSequences) {
  auto sections = bodySection(insertBody());
  for (int i = 0; i < 10; ++i) sections += sequenceSection("s" + std::to_string(i), "");
  EXPECT_TRUE(parseOpMsg(frameOf(0, sections)).isOK());
  EXPECT_EQ(parseFailure(frameOf(0, sections + sequenceSection("s10", ""))), ErrorCode::kTooManyDocumentSequences);
}

TEST(OpMsg, OfAReplyNeedsNoDatabase) {
  EXPECT_TRUE(parseOpMsg(frameOf(0, bodySection(doc("ok", 1.0))), Direction::kReply).isOK());
}

TEST(OpMsg, CutAnywhereIsRefused) {
  const auto frame = insertFrame();
  const size_t firstSectionEnd = kHeaderSize + 4 + 1 + insertBody().bytes().size();
  for (size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(parseOpMsg(frame.substr(0, size)).isOK()) << size;
    if (size < kHeaderSize + 4) continue;
    // The same cut with a header that admits it: whole sections may remain.
    auto cut = frameOf(0, frame.substr(kHeaderSize + 4, size - kHeaderSize - 4));
    EXPECT_EQ(parseOpMsg(cut).isOK(), size == firstSectionEnd) << size;
  }
}

TEST(OpMsg, SurvivesEveryFlippedBit) {
  const auto frame = insertFrame();
  for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
    auto damaged = frame;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto message = parseOpMsg(damaged);
    if (!message.isOK()) continue;
    int fields = message->body.count();
    for (const auto& sequence : message->sequences)
      for (const View document : sequence.documents) fields += document.count();
    EXPECT_LE(fields, 100);
  }
}

TEST(OpMsg, BoundsTheNestingOfDocuments) {
  bson::Builder deep;
  deep.append("ping", 1).append("$db", "test");
  for (int i = 0; i < 20'000; ++i) deep.openDocument("d");
  EXPECT_EQ(parseFailure(frameOf(0, bodySection(deep.finish()))), ErrorCode::kOverflow);
}

TEST(ExpectsReply, IsFalseForFireAndForgetEvenWhenItsSectionsAreBroken) {
  EXPECT_TRUE(expectsReply(insertFrame()));
  EXPECT_FALSE(expectsReply(insertFrame(kMoreToCome)));
  EXPECT_FALSE(expectsReply(frameOf(kMoreToCome, "garbage")));
}

}  // namespace
}  // namespace troupe::wire
