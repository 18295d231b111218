#include "messaging/wire/header.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::wire {
namespace {

std::string headerBytes(int32_t length) {
  std::string bytes(kHeaderSize, '\0');
  writeHeader(bytes.data(), {length, 7, 3, OpCode::kMsg});
  return bytes;
}

TEST(MsgHeader, IsFourLittleEndianNumbers) {
  std::string bytes(kHeaderSize, '\0');
  writeHeader(bytes.data(), {0x0102, 7, -2, OpCode::kCompressed});
  EXPECT_EQ(bytes, std::string("\x02\x01\0\0\x07\0\0\0\xFE\xFF\xFF\xFF\xDC\x07\0\0", 16));

  const auto header = parseHeader(bytes);
  ASSERT_TRUE(header.isOK());
  EXPECT_EQ(header->messageLength, 0x0102);
  EXPECT_EQ(header->requestId, 7);
  EXPECT_EQ(header->responseTo, -2);
  EXPECT_EQ(header->opCode, OpCode::kCompressed);
}

TEST(MsgHeader, RefusesLengthsOutside16To48Million) {
  for (const int32_t length : {16, 17, 48'000'000}) EXPECT_TRUE(parseHeader(headerBytes(length)).isOK()) << length;
  for (const int32_t length : {15, 0, -1, INT32_MIN, 48'000'001, INT32_MAX})
    EXPECT_EQ(parseHeader(headerBytes(length)).status(), ErrorCode::kProtocolError) << length;
}

TEST(MsgHeader, RefusesFewerThanSixteenBytes) {
  EXPECT_EQ(parseHeader(headerBytes(16).substr(0, 15)).status(), ErrorCode::kProtocolError);
  EXPECT_EQ(parseHeader("").status(), ErrorCode::kProtocolError);
}

TEST(MsgHeader, OfAFrameMustTellItsSize) {
  EXPECT_TRUE(parseFrameHeader(headerBytes(16)).isOK());
  EXPECT_EQ(parseFrameHeader(headerBytes(17)).status(), ErrorCode::kProtocolError);
  EXPECT_EQ(parseFrameHeader(headerBytes(16) + "x").status(), ErrorCode::kProtocolError);
}

TEST(ClosesConnection, OnlyWhereAnAnswerCouldConfuseThePeer) {
  EXPECT_TRUE(closesConnection(ErrorCode::kProtocolError));
  EXPECT_TRUE(closesConnection(ErrorCode::kChecksumMismatch));
  EXPECT_TRUE(closesConnection(ErrorCode::kIllegalOpMsgFlag));
  EXPECT_FALSE(closesConnection(ErrorCode::kInvalidBSON));
  EXPECT_FALSE(closesConnection(ErrorCode(40571)));
  EXPECT_FALSE(closesConnection(ErrorCode::kOK));
}

}  // namespace
}  // namespace troupe::wire
