#include "messaging/wire/frame_reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "messaging/wire/header.hpp"

namespace troupe::wire {
namespace {

std::string frameOf(size_t size, char fill = 'x') {
  std::string frame(size, fill);
  writeHeader(frame.data(), {static_cast<int32_t>(size), 1, 0, OpCode::kMsg});
  return frame;
}

TEST(FrameReader, GivesAFrameOnlyOnceItIsWhole) {
  FrameReader reader;
  const auto frame = frameOf(40);
  for (const char byte : frame) {
    ASSERT_TRUE(reader.next().isOK());
    EXPECT_TRUE(reader.next()->empty());
    reader.feed({&byte, 1});
  }
  EXPECT_EQ(*reader.next(), frame);
  EXPECT_EQ(reader.buffered(), 0u);
  EXPECT_TRUE(reader.next()->empty());
}

TEST(FrameReader, SplitsFramesThatArriveTogether) {
  FrameReader reader;
  reader.feed(frameOf(16) + frameOf(100, 'a') + frameOf(50, 'b').substr(0, 20));
  EXPECT_EQ(*reader.next(), frameOf(16));
  EXPECT_EQ(*reader.next(), frameOf(100, 'a'));
  EXPECT_TRUE(reader.next()->empty());
  EXPECT_EQ(reader.buffered(), 20u);
  reader.feed(frameOf(50, 'b').substr(20));
  EXPECT_EQ(*reader.next(), frameOf(50, 'b'));
}

TEST(FrameReader, KeepsFramesIntactForAnySizesOfFramesAndReads) {
  std::string stream;
  for (size_t size = 16; size < 70'000; size = size * 3 / 2 + 1) stream += frameOf(size, static_cast<char>(size));
  for (const size_t step : {1u, 7u, 4096u, 16'384u, 65'537u}) {
    FrameReader reader;
    std::string seen;
    for (size_t at = 0; at < stream.size(); at += step) {
      reader.feed(std::string_view(stream).substr(at, step));
      for (;;) {
        const auto frame = reader.next();
        ASSERT_TRUE(frame.isOK());
        if (frame->empty()) break;
        EXPECT_TRUE(parseFrameHeader(*frame).isOK());
        seen += *frame;
      }
    }
    EXPECT_EQ(seen, stream) << step;
  }
}

TEST(FrameReader, RefusesABadLengthOnTheFirstSixteenBytes) {
  for (const int32_t length : {15, -1, 48'000'001}) {
    std::string header(kHeaderSize, '\0');
    writeHeader(header.data(), {length, 1, 0, OpCode::kMsg});
    FrameReader reader;
    reader.feed(header.substr(0, 15));
    EXPECT_TRUE(reader.next().isOK());
    reader.feed(header.substr(15));
    EXPECT_EQ(reader.next().status(), ErrorCode::kProtocolError) << length;
  }
}

TEST(FrameReader, TakesMemoryForBytesThatArrivedNotForThoseAnnounced) {
  FrameReader reader;
  EXPECT_EQ(reader.capacity(), 0u);
  std::string header(kHeaderSize, '\0');
  writeHeader(header.data(), {kMaxMessageSize, 1, 0, OpCode::kMsg});
  reader.feed(header);
  EXPECT_TRUE(reader.next()->empty());
  EXPECT_LE(reader.capacity(), FrameReader::kIdleSize);
  reader.feed(std::string(100'000, 'x'));
  EXPECT_LE(reader.capacity(), 4 * 100'000u);
}

TEST(FrameReader, ShrinksAfterABigFrame) {
  FrameReader reader;
  reader.feed(frameOf(5'000'000));
  EXPECT_EQ(reader.next()->size(), 5'000'000u);
  EXPECT_GE(reader.capacity(), 5'000'000u);
  EXPECT_FALSE(reader.prepare().empty());
  EXPECT_EQ(reader.capacity(), FrameReader::kIdleSize);
}

TEST(FrameReader, RefusesAFrameAboveItsLimitAsSoonAsItsHeaderIsThere) {
  FrameReader reader;
  reader.setLimit(1000);
  reader.feed(frameOf(1000));
  EXPECT_EQ(reader.next()->size(), 1000u);
  reader.feed(frameOf(1001).substr(0, kHeaderSize));
  EXPECT_EQ(reader.next().status(), ErrorCode::kProtocolError);
  reader.setLimit(kMaxMessageSize);
  EXPECT_TRUE(reader.next().isOK());
}

TEST(FrameReader, TellsHowMuchItWillAllocateBeforeItDoes) {
  FrameReader reader;
  const auto frame = frameOf(300'000);
  for (size_t at = 0; at < frame.size(); at += 5000) {
    const auto part = std::string_view(frame).substr(at, 5000);
    const size_t told = reader.capacityToRead();
    (void)reader.prepare();
    EXPECT_EQ(reader.capacity(), told);
    reader.feed(part);
  }
  EXPECT_EQ(reader.next()->size(), frame.size());
  EXPECT_EQ(reader.capacityToRead(), FrameReader::kIdleSize);
}

}  // namespace
}  // namespace troupe::wire
