#include "messaging/link/message_frame.hpp"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <random>

#include "messaging/schemas/testing.capnp.h"

namespace troupe::link {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint kNow = TimePoint(1h);
constexpr ImpliedNodes kThere{"b:2", "a:1"};  // as the sender a:1 sees it, and as b:2 does

Envelope sample(size_t attached = 0) {
  Envelope e;
  e.to = Address("b:2", "/node/echo");
  e.from = Address("a:1", "/node/asker");
  e.kind = MessageKind::kAsk;
  e.correlation = 77;
  e.trace = 5;
  e.deadline = kNow + 250ms;
  e.payload = build<schema::Ping>([](schema::Ping::Builder p) { p.setNumber(42); },
                                  attached ? std::make_shared<const std::string>(attached, 'x') : nullptr);
  return e;
}

/// Over the wire and back.
StatusWith<Envelope> carried(const Envelope& envelope, TimePoint received = kNow) {
  ByteQueue queue;
  if (appendMessage(queue, envelope, kNow, kThere, kLargestFrame, true) == 0)
    return Status(ErrorCode::kInvalidLength, "not appended");
  FrameReader reader(false, kLargestFrame);
  reader.feed(queue.take().bytes);
  Frame frame;
  if (reader.next(frame) != FrameReader::Outcome::kFrame) return Status(ErrorCode::kInternalError, "no frame");
  return readMessage(frame, received, kThere);
}

TEST(LinkMessage, KeepsEverythingThatTravels) {
  Envelope sent = sample(1001);
  sent.priority = Priority::kHigh;
  sent.metadata = std::make_unique<ClusterMetadata>();
  sent.metadata->vectorTime = bson::doc("clusterTime", 9);
  sent.metadata->replMetadata = bson::doc("term", 3);
  sent.clusterTime = {17, 4};
  const auto back = carried(sent, kNow + 5h);  // another clock: only the time left counts
  ASSERT_TRUE(back.isOK()) << back.status().toString();
  EXPECT_EQ(back->to, sample().to);
  EXPECT_EQ(back->from, sample().from);
  EXPECT_EQ(back->correlation, 77u);
  EXPECT_EQ(back->trace, 5u);
  EXPECT_EQ(back->deadline, kNow + 5h + 250ms);
  EXPECT_EQ(back->payload.read<schema::Ping>()->getNumber(), 42);
  EXPECT_STREQ(back->payload.typeName(), "Ping");
  EXPECT_EQ(*back->payload.attachment(), std::string(1001, 'x'));
  EXPECT_EQ(back->kind, MessageKind::kAsk);
  EXPECT_EQ(back->clusterTime, (bson::Timestamp{17, 4}));
  EXPECT_EQ(back->priority, Priority::kHigh);
  EXPECT_EQ(back->metadata->vectorTime, bson::doc("clusterTime", 9));
  EXPECT_EQ(back->metadata->replMetadata, bson::doc("term", 3));
}

TEST(LinkMessage, NamesAThirdNodeWhenTheSenderIsThere) {
  Envelope e = sample();
  e.from = Address("c:3", "/node/asker");
  EXPECT_EQ(carried(e)->from, e.from);
}

TEST(LinkMessage, CarriesTheDeathOfAnActor) {
  Envelope e;
  e.kind = MessageKind::kDown;
  e.to = Address("b:2", "/watcher");
  e.from = Address("a:1", "/watched");
  e.failure = Status(ErrorCode::kInternalError, "broken", bson::doc("host", "a:1"));
  const auto back = carried(e);
  EXPECT_EQ(back->kind, MessageKind::kDown);
  EXPECT_EQ(back->failure.code(), ErrorCode::kInternalError);
  EXPECT_EQ(back->failure.reason(), "broken");
  EXPECT_EQ(*back->failure.extra(), bson::doc("host", "a:1"));
  EXPECT_FALSE(back->payload);
}

TEST(LinkMessage, WhatMayNotLeaveIsNotSent) {
  Envelope e = sample();
  e.payload = local(std::string("a socket"));
  EXPECT_EQ(checkSendable(e, kLargestFrame).code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(checkSendable(sample(2000), 1000).code(), ErrorCode::kInvalidLength);
  EXPECT_TRUE(checkSendable(sample(2000), 5000).isOK());
}

TEST(LinkMessage, AHeadBeyondWhatAFrameHoldsIsNotAppended) {
  Envelope e = sample();
  e.metadata = std::make_unique<ClusterMetadata>();
  e.metadata->replMetadata = bson::doc("x", std::string(kLargestHead, 'x'));
  ByteQueue queue;
  EXPECT_EQ(appendMessage(queue, e, kNow, kThere, kLargestFrame, true), 0u);
  EXPECT_TRUE(queue.empty());
}

TEST(LinkMessage, SmallFramesShareABlockAndALargeOneIsCutIntoParts) {
  ByteQueue queue;
  for (int i = 0; i < 100; ++i) appendMessage(queue, sample(), kNow, kThere, kLargestFrame, true);
  const size_t small = queue.bytes();
  appendMessage(queue, sample(1'000'000), kNow, kThere, kLargestFrame, true);
  EXPECT_EQ(queue.frames(), 100u + 1'000'000 / kLargestPart + 1);
  const auto first = queue.take();
  EXPECT_GE(first.frames, 100u);
  EXPECT_GE(first.bytes.size(), small);
  while (!queue.empty()) EXPECT_LE(queue.take().bytes.size(), ByteQueue::kBlock);
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(LinkMessage, ALargeOneIsPutTogetherAgainAroundOthers) {
  for (const bool checksummed : {true, false}) {
    ByteQueue bulk, other;
    appendMessage(bulk, sample(300'001), kNow, kThere, kLargestFrame, checksummed);
    appendMessage(other, sample(), kNow, kThere, kLargestFrame, checksummed);
    FrameReader reader(false, kLargestFrame);
    reader.feed(bulk.take().bytes);
    reader.feed(other.take().bytes);
    while (!bulk.empty()) reader.feed(bulk.take().bytes);
    Frame frame;
    ASSERT_EQ(reader.next(frame), FrameReader::Outcome::kFrame);
    EXPECT_FALSE(readMessage(frame, kNow, kThere)->payload.attachment());
    EXPECT_TRUE(reader.isWithinMessage());
    ASSERT_EQ(reader.next(frame), FrameReader::Outcome::kFrame);
    EXPECT_EQ(*readMessage(frame, kNow, kThere)->payload.attachment(), std::string(300'001, 'x'));
    EXPECT_EQ(reader.next(frame), FrameReader::Outcome::kMore);
    EXPECT_FALSE(reader.isWithinMessage());
  }
}

TEST(LinkMessage, PartsOfMoreThanALinkTakesAreRejectedBeforeRoomIsMade) {
  ByteQueue queue;
  appendMessage(queue, sample(300'000), kNow, kThere, kLargestFrame, true);
  FrameReader reader(false, 200'000);
  reader.feed(queue.take().bytes);
  Frame frame;
  ASSERT_EQ(reader.next(frame), FrameReader::Outcome::kRejected);
  EXPECT_EQ(reader.rejected().reason, Rejection::kOversized);
}

TEST(LinkMessage, NamesWithANulAndEndlessOnesAreRefused) {
  const auto outcome = [](const std::string& node, const std::string& path) {
    capnp::MallocMessageBuilder message;
    auto to = message.initRoot<schema::Envelope>().initTo();
    std::copy(node.begin(), node.end(), to.initNode(static_cast<unsigned>(node.size())).begin());
    std::copy(path.begin(), path.end(), to.initPath(static_cast<unsigned>(path.size())).begin());
    return readEnvelopeHead(message.getRoot<schema::Envelope>().asReader(), kNow, kThere, {}, {}).status().code();
  };
  EXPECT_EQ(outcome("b:2", "/echo"), ErrorCode::kOK);
  EXPECT_EQ(outcome("b:2", std::string("/ec\0ho", 6)), ErrorCode::kProtocolError);
  EXPECT_EQ(outcome(std::string("b\0:2", 4), "/echo"), ErrorCode::kProtocolError);
  EXPECT_EQ(outcome(std::string(1000, 'b'), "/echo"), ErrorCode::kProtocolError);
}

TEST(LinkMessage, AnyDamageIsAnErrorAndNothingWorse) {
  ByteQueue queue;
  appendMessage(queue, sample(100), kNow, kThere, kLargestFrame, false);  // no checksum to protect us
  const std::string good = queue.take().bytes;
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
      bad[kFrameHeader + random() % (bad.size() - kFrameHeader)] = static_cast<char>(random());
    FrameReader reader(false);
    reader.feed(bad);
    Frame frame;
    if (reader.next(frame) == FrameReader::Outcome::kFrame) (void)readMessage(frame, kNow, kThere);
  }
}

}  // namespace
}  // namespace troupe::link
