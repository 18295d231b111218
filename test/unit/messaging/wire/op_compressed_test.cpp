#include "messaging/wire/op_compressed.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "messaging/bson/document.hpp"
#include "messaging/wire/client.hpp"

namespace troupe::wire {
namespace {

using bson::doc;

constexpr Compressor kAll[] = {Compressor::kNoop, Compressor::kSnappy, Compressor::kZlib, Compressor::kZstd};

std::string bigRequest() { return buildRequest(5, "test", doc("insert", "c", "text", std::string(5000, 'a'))); }

std::string withSize(std::string frame, int32_t size) {
  std::memcpy(frame.data() + kHeaderSize + 4, &size, sizeof size);
  return frame;
}

class EachCompressor : public testing::TestWithParam<Compressor> {};
INSTANTIATE_TEST_SUITE_P(OpCompressed, EachCompressor, testing::ValuesIn(kAll),
                         [](const auto& info) { return std::string(compressorName(info.param)); });

TEST_P(EachCompressor, GivesBackTheSameFrame) {
  const auto packed = compress(bigRequest(), GetParam());
  ASSERT_TRUE(packed.isOK());
  EXPECT_LT(packed->size(), GetParam() == Compressor::kNoop ? 6000u : 600u);
  EXPECT_EQ(parseHeader(*packed)->opCode, OpCode::kCompressed);
  EXPECT_EQ(compressorOf(*packed), GetParam());
  const auto unpacked = decompress(*packed);
  ASSERT_TRUE(unpacked.isOK()) << unpacked.status().toString();
  EXPECT_EQ(*unpacked, bigRequest());
}

TEST_P(EachCompressor, RefusesAnAnnouncedSizeThatIsNotTheRealOne) {
  const auto packed = compress(bigRequest(), GetParam()).value();
  const auto real = static_cast<int32_t>(bigRequest().size() - kHeaderSize);
  for (const int32_t size : {0, 1, real - 1, real + 1, 47'999'984})
    EXPECT_EQ(decompress(withSize(packed, size)).status(), ErrorCode::kBadValue) << size;
  for (const int32_t size : {-1, INT32_MIN, 47'999'985, INT32_MAX})
    EXPECT_EQ(decompress(withSize(packed, size)).status(), ErrorCode::kProtocolError) << size;
}

TEST_P(EachCompressor, SurvivesCutsAndFlippedBits) {
  const auto packed = compress(bigRequest(), GetParam()).value();
  const size_t end = std::min<size_t>(packed.size(), 200);
  for (size_t size = 0; size < end; ++size) {
    auto cut = packed.substr(0, size);
    if (size >= kHeaderSize) writeHeader(cut.data(), {static_cast<int32_t>(size), 5, 0, OpCode::kCompressed});
    EXPECT_FALSE(decompress(cut).isOK()) << size;
  }
  for (size_t bit = kHeaderSize * 8; bit < end * 8; ++bit) {
    auto damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto unpacked = decompress(damaged);
    EXPECT_TRUE(!unpacked.isOK() || parseFrameHeader(*unpacked).isOK()) << bit;
  }
}

TEST(OpCompressed, IsLaidOutAsSpecified) {
  const auto request = buildRequest(5, "test", doc("ping", 1));
  const auto packed = compress(request, Compressor::kNoop).value();
  EXPECT_EQ(packed, std::string("\x3B\0\0\0\x05\0\0\0\0\0\0\0\xDC\x07\0\0"
                                "\xDD\x07\0\0"
                                "\x22\0\0\0"
                                "\0",
                                25) +
                        request.substr(kHeaderSize));
}

TEST(OpCompressed, RefusesUnknownCompressorsAndNesting) {
  auto packed = compress(bigRequest(), Compressor::kNoop).value();
  packed[24] = 4;
  EXPECT_EQ(decompress(packed).status(), ErrorCode::kBadValue);
  EXPECT_EQ(compressorOf(packed), std::nullopt);
  const auto inner = compress(bigRequest(), Compressor::kNoop).value();
  EXPECT_EQ(decompress(compress(inner, Compressor::kNoop).value()).status(), ErrorCode::kProtocolError);
}

TEST(CompressionNegotiation, KeepsTheClientsOrderOfWhatBothKnow) {
  const auto hello = doc("hello", 1, "compression", bson::array("zlib", "lz4", 5, "snappy", "zlib", "noop"));
  EXPECT_EQ(negotiate(hello["compression"], allCompressors()), (std::vector{Compressor::kZlib, Compressor::kSnappy}));
  const Compressor onlySnappy[] = {Compressor::kSnappy};
  EXPECT_EQ(negotiate(hello["compression"], onlySnappy), std::vector{Compressor::kSnappy});
  EXPECT_TRUE(negotiate(hello["nothing"], allCompressors()).empty());
  EXPECT_TRUE(negotiate(hello["hello"], allCompressors()).empty());
}

TEST(CompressionNegotiation, LeavesHandshakesAndSecretsUncompressed) {
  for (const auto* name : {"hello", "isMaster", "ismaster", "saslStart", "saslContinue", "createUser", "updateUser"})
    EXPECT_FALSE(mayCompress(name)) << name;
  EXPECT_TRUE(mayCompress("find"));
}

TEST_P(EachCompressor, UnpacksNoMoreThanAllowed) {
  const auto whole = bigRequest();
  const auto packed = compress(whole, GetParam()).value();
  const auto size = static_cast<int32_t>(whole.size());
  EXPECT_TRUE(decompress(packed, size).isOK());
  EXPECT_EQ(decompress(packed, size - 1).status(), ErrorCode::kProtocolError);
}

/// A frame of a few bytes that does not say how large it becomes.
TEST(OpCompressed, ASmallFrameCannotAskForMuchMemory) {
  std::string bomb = compress(bigRequest(), Compressor::kZstd).value();
  bomb.resize(kHeaderSize + 9);
  bomb += std::string("\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00", 9);
  writeHeader(bomb.data(), {static_cast<int32_t>(bomb.size()), 1, 0, OpCode::kCompressed});
  const auto refused = decompress(withSize(bomb, kMaxMessageSize - 16));
  EXPECT_EQ(refused.status(), ErrorCode::kBadValue);
}

}  // namespace
}  // namespace troupe::wire
