#include "messaging/link/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "messaging/wire/header.hpp"

namespace troupe::link {
namespace {

using Outcome = FrameReader::Outcome;

std::string words(size_t count, char fill) { return std::string(count * 8, fill); }

Frame sample(const std::string& head, const std::string& payload, const std::string& attachment) {
  return {FrameType::kMessage, head, payload, attachment};
}

TEST(LinkMagic, IsNoMessageOfADriverAndNoTlsRecord) {
  EXPECT_FALSE(wire::parseHeader(std::string(kMagic) + std::string(8, '\0')).isOK());
  EXPECT_NE(kMagic[0], '\x16');
}

TEST(LinkFrame, KeepsItsPartsWhateverTheirSizes) {
  for (size_t attached : {0, 1, 7, 8, 9, 1000}) {
    for (const bool checksummed : {false, true}) {
      const auto head = words(3, 'h'), payload = words(2, 'p');
      const std::string attachment(attached, 'a');
      FrameReader reader(false);
      reader.feed(frameBytes(sample(head, payload, attachment), checksummed));
      Frame frame;
      ASSERT_EQ(reader.next(frame), Outcome::kFrame);
      EXPECT_EQ(frame.type, FrameType::kMessage);
      EXPECT_EQ(frame.head, head);
      EXPECT_EQ(frame.words, payload);
      EXPECT_EQ(frame.attachment, attachment);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.head.data()) % 8, 0u);
      EXPECT_EQ(reader.next(frame), Outcome::kMore);
      EXPECT_EQ(reader.buffered(), 0u);
    }
  }
}

TEST(LinkFrame, ComesTogetherFromSingleBytesBehindTheMagic) {
  const auto head = words(2, 'h');
  const std::string bytes = std::string(kMagic) + frameBytes(sample(head, {}, "xyz")) + frameBytes(sample({}, {}, {}));
  FrameReader reader(true);
  Frame frame;
  int frames = 0;
  for (const char byte : bytes) {
    reader.feed(std::string_view(&byte, 1));
    if (reader.next(frame) == Outcome::kFrame) ++frames;
  }
  EXPECT_EQ(frames, 2);
}

TEST(LinkFrame, ManyInOneReadComeOutOneByOne) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += frameBytes(sample(words(1 + i % 7, 'h'), {}, std::string(i % 50, 'a')));
  FrameReader reader(false, kLargestFrame);
  Frame frame;
  size_t frames = 0, at = 0;
  while (at < bytes.size()) {
    const auto room = reader.prepare();
    const size_t n = std::min({room.size(), bytes.size() - at, size_t{1000} + at % 77});
    std::memcpy(room.data(), bytes.data() + at, n);
    reader.commit(n);
    at += n;
    while (reader.next(frame) == Outcome::kFrame) EXPECT_EQ(frame.attachment.size(), frames++ % 50);
  }
  EXPECT_EQ(frames, 5000u);
}

TEST(LinkFrame, OtherFirstBytesAreRejectedAtOnce) {
  FrameReader reader(true);
  reader.feed("TROUPE is not enough");
  Frame frame;
  ASSERT_EQ(reader.next(frame), Outcome::kRejected);
  EXPECT_EQ(reader.rejected().reason, Rejection::kBadMagic);
  EXPECT_EQ(reader.next(frame), Outcome::kRejected);  // for good
}

TEST(LinkFrame, OversizedIsRejectedBeforeRoomIsMadeForIt) {
  std::string bytes = frameBytes(sample({}, {}, std::string(kHandshakeFrame, 'x')));
  FrameReader reader(false);
  reader.feed(bytes.substr(0, kFrameHeader));
  const size_t before = reader.capacity();
  Frame frame;
  ASSERT_EQ(reader.next(frame), Outcome::kRejected);
  EXPECT_EQ(reader.rejected().reason, Rejection::kOversized);
  EXPECT_EQ(reader.capacity(), before);
  const uint32_t gigabytes = 0xFFFFFFF8;
  std::memcpy(bytes.data(), &gigabytes, 4);
  FrameReader open(false, kLargestFrame);
  open.feed(bytes.substr(0, kFrameHeader));
  EXPECT_EQ(open.next(frame), Outcome::kRejected);
  EXPECT_EQ(open.rejected().reason, Rejection::kOversized);
}

TEST(LinkFrame, AFlippedBitIsNoticed) {
  const std::string good = frameBytes(sample(words(2, 'h'), words(3, 'p'), "attached"));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    if (bit / 8 == 4 && bit % 8 == 7) continue;  // says that there is no checksum
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    FrameReader reader(false, kLargestFrame);
    reader.feed(bad);
    Frame frame;
    EXPECT_NE(reader.next(frame), Outcome::kFrame) << "bit " << bit;
  }
}

TEST(LinkFrame, PartsThatDoNotFitAreRejected) {
  for (const size_t field : {5, 6, 12}) {  // padding, words of the head, words of the payload
    std::string bytes = frameBytes(sample(words(1, 'h'), {}, {}), false);
    bytes[field] = 9;
    FrameReader reader(false);
    reader.feed(bytes);
    Frame frame;
    ASSERT_EQ(reader.next(frame), Outcome::kRejected) << field;
    EXPECT_EQ(reader.rejected().reason, Rejection::kMalformed);
  }
}

TEST(LinkFrame, ALargeOneIsReadWhereItStays) {
  const std::string attachment(10'000'000, 'x');
  const std::string bytes = frameBytes(sample(words(1, 'h'), {}, attachment));
  FrameReader reader(false, kLargestFrame);
  reader.feed(bytes.substr(0, 100));
  Frame frame;
  ASSERT_EQ(reader.next(frame), Outcome::kMore);
  EXPECT_GE(reader.prepare().size(), bytes.size() - 100);
  reader.feed(bytes.substr(100));
  ASSERT_EQ(reader.next(frame), Outcome::kFrame);
  EXPECT_EQ(frame.attachment, attachment);
  reader.prepare();
  EXPECT_LT(reader.capacity(), size_t{1} << 20);  // and given back
}

}  // namespace
}  // namespace troupe::link
