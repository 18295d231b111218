#include "messaging/envelope/envelope_codec.hpp"

#include <gtest/gtest.h>

#include "messaging/schemas/testing.capnp.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint kNow = TimePoint(1h);

Envelope full() {
  Envelope e;
  e.to = Address("n2:27017", "/storage");
  e.from = Address("n1:27017", "/asker");
  e.correlation = 77;
  e.trace = 5;
  e.kind = MessageKind::kAsk;
  e.priority = Priority::kHigh;
  e.deadline = kNow + 250ms;
  e.payload = build<schema::Ping>([](schema::Ping::Builder p) { p.setNumber(42); },
                                  std::make_shared<const std::string>("attached"));
  e.metadata = std::make_unique<ClusterMetadata>();
  e.metadata->replMetadata = bson::doc("term", 3);
  return e;
}

TEST(EnvelopeCodec, KeepsEverythingThatTravels) {
  const auto bytes = encodeEnvelope(full(), kNow);
  ASSERT_TRUE(bytes.isOK());
  const auto back = decodeEnvelope(*bytes, kNow + 1h);  // another clock: only the time left counts
  ASSERT_TRUE(back.isOK()) << back.status().toString();
  EXPECT_EQ(back->to, full().to);
  EXPECT_EQ(back->from, full().from);
  EXPECT_EQ(back->correlation, 77U);
  EXPECT_EQ(back->trace, 5U);
  EXPECT_EQ(back->kind, MessageKind::kAsk);
  EXPECT_EQ(back->priority, Priority::kHigh);
  EXPECT_EQ(back->deadline, kNow + 1h + 250ms);
  EXPECT_EQ(back->payload.read<schema::Ping>()->getNumber(), 42);
  EXPECT_EQ(*back->payload.attachment(), "attached");
  EXPECT_EQ(back->metadata->replMetadata, bson::doc("term", 3));
}

TEST(EnvelopeCodec, KeepsAFailureWithItsExtraFields) {
  Envelope e;
  e.kind = MessageKind::kFailure;
  e.failure = Status(ErrorCode::kHostUnreachable, "gone", bson::doc("host", "n2"));
  const auto bytes = encodeEnvelope(e, kNow);
  const auto back = decodeEnvelope(*bytes, kNow);
  ASSERT_TRUE(back.isOK());
  EXPECT_EQ(back->failure.code(), ErrorCode::kHostUnreachable);
  EXPECT_EQ(back->failure.reason(), "gone");
  EXPECT_EQ(*back->failure.extra(), bson::doc("host", "n2"));
}

TEST(EnvelopeCodec, RefusesALocalPayload) {
  Envelope e;
  e.payload = local(std::string("never leaves"));
  EXPECT_EQ(encodeEnvelope(e, kNow).status().code(), ErrorCode::kIllegalOperation);
}

TEST(EnvelopeCodec, SurvivesTruncationAndDamageAtEveryByte) {
  const auto bytes = *encodeEnvelope(full(), kNow);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decodeEnvelope(bytes.substr(0, size), kNow).isOK()) << size;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    (void)decodeEnvelope(damaged, kNow);  // any outcome but a crash
  }
}

}  // namespace
}  // namespace troupe
