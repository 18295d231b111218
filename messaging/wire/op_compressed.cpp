#include "messaging/wire/op_compressed.hpp"

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace troupe::wire {
namespace {

// Header, original opcode, uncompressed size, compressor.
constexpr size_t kPrefix = kHeaderSize + 4 + 4 + 1;
constexpr std::array kNegotiable = {Compressor::kSnappy, Compressor::kZstd, Compressor::kZlib};

constexpr std::array<std::string_view, 12> kNeverCompressed = {
    "hello",      "isMaster",   "ismaster",        "saslStart",      "saslContinue", "getnonce",
    "createUser", "updateUser", "copydbSaslStart", "copydbgetnonce", "copydb",       "authenticate"};

// zstd's contexts are large (a megabyte to compress), so each thread keeps its own instead of making one a message.
ZSTD_CCtx* zstdCompressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  return context.get();
}

ZSTD_DCtx* zstdDecompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  return context.get();
}

/// What a byte of zstd unpacks to at most: a block of 128 KiB takes four bytes.
constexpr size_t kZstdRatio = size_t{128} * 1024 / 4;

/// Whether the data can be worth `size` bytes, asked before that much memory is taken.
bool announces(Compressor compressor, std::string_view data, size_t size) {
  switch (compressor) {
    case Compressor::kNoop: return data.size() == size;
    case Compressor::kSnappy: {
      size_t length = 0;
      return snappy::GetUncompressedLength(data.data(), data.size(), &length) && length == size;
    }
    case Compressor::kZlib: return size / 1032 <= data.size();  // deflate's best ratio
    case Compressor::kZstd: {
      const auto length = ZSTD_getFrameContentSize(data.data(), data.size());
      return (length == size || length == ZSTD_CONTENTSIZE_UNKNOWN) && size / kZstdRatio <= data.size();
    }
  }
  return false;
}

/// Unpacks into exactly `size` bytes at `out`.
bool unpack(Compressor compressor, std::string_view data, char* out, size_t size) {
  switch (compressor) {
    case Compressor::kNoop: std::memcpy(out, data.data(), size); return true;
    case Compressor::kSnappy: return snappy::RawUncompress(data.data(), data.size(), out);
    case Compressor::kZlib: {
      uLongf written = size;
      return uncompress(reinterpret_cast<Bytef*>(out), &written, reinterpret_cast<const Bytef*>(data.data()),
                        data.size()) == Z_OK &&
             written == size;
    }
    case Compressor::kZstd: return ZSTD_decompressDCtx(zstdDecompressor(), out, size, data.data(), data.size()) == size;
  }
  return false;
}

size_t packedBound(Compressor compressor, size_t size) {
  switch (compressor) {
    case Compressor::kSnappy: return snappy::MaxCompressedLength(size);
    case Compressor::kZlib: return compressBound(size);
    case Compressor::kZstd: return ZSTD_compressBound(size);
    default: return size;
  }
}

/// Packs into `out`, which has `bound` bytes; the number written, or nothing when the library fails.
std::optional<size_t> pack(Compressor compressor, std::string_view data, char* out, size_t bound) {
  switch (compressor) {
    case Compressor::kSnappy: {
      size_t written = 0;
      snappy::RawCompress(data.data(), data.size(), out, &written);
      return written;
    }
    case Compressor::kZlib: {
      uLongf written = bound;
      if (compress2(reinterpret_cast<Bytef*>(out), &written, reinterpret_cast<const Bytef*>(data.data()), data.size(),
                    Z_DEFAULT_COMPRESSION) != Z_OK)
        return {};
      return written;
    }
    case Compressor::kZstd: {
      const auto written =
          ZSTD_compressCCtx(zstdCompressor(), out, bound, data.data(), data.size(), ZSTD_CLEVEL_DEFAULT);
      if (ZSTD_isError(written)) return {};
      return written;
    }
    default: std::memcpy(out, data.data(), data.size()); return data.size();
  }
}

}  // namespace

std::string_view compressorName(Compressor compressor) {
  constexpr std::array<std::string_view, 4> names = {"noop", "snappy", "zlib", "zstd"};
  return names[static_cast<size_t>(compressor)];
}

std::optional<Compressor> compressorByName(std::string_view name) {
  const auto found = std::ranges::find(kNegotiable, name, compressorName);
  return found == kNegotiable.end() ? std::nullopt : std::optional(*found);
}

std::span<const Compressor> allCompressors() { return kNegotiable; }

std::vector<Compressor> negotiate(const bson::Element& offered, std::span<const Compressor> enabled) {
  std::vector<Compressor> common;
  if (!offered.is(bson::Type::kArray)) return common;
  for (const auto& name : offered.asArray()) {
    const auto compressor = compressorByName(name.toStringOr());
    if (compressor && std::ranges::count(enabled, *compressor) && !std::ranges::count(common, *compressor))
      common.push_back(*compressor);
  }
  return common;
}

bool mayCompress(std::string_view commandName) { return !std::ranges::count(kNeverCompressed, commandName); }

std::optional<Compressor> compressorOf(std::string_view frame) {
  if (frame.size() < kPrefix || static_cast<uint8_t>(frame[kPrefix - 1]) > static_cast<uint8_t>(Compressor::kZstd))
    return {};
  return static_cast<Compressor>(frame[kPrefix - 1]);
}

StatusWith<std::string> decompress(std::string_view frame, int32_t largest) {
  TROUPE_ASSIGN(MsgHeader header, parseFrameHeader(frame));
  if (header.opCode != OpCode::kCompressed || frame.size() < kPrefix)
    return {ErrorCode::kProtocolError, "not an OP_COMPRESSED, or truncated"};
  header.opCode = static_cast<OpCode>(bson::load<int32_t>(frame.data() + kHeaderSize));
  if (header.opCode == OpCode::kCompressed) return {ErrorCode::kProtocolError, "OP_COMPRESSED inside OP_COMPRESSED"};
  const auto size = bson::load<int32_t>(frame.data() + kHeaderSize + 4);
  if (size < 0 || size > largest - static_cast<int32_t>(kHeaderSize))
    return {ErrorCode::kProtocolError, "OP_COMPRESSED announces an uncompressed size of " + std::to_string(size)};
  const auto compressor = compressorOf(frame);
  if (!compressor)
    return {ErrorCode::kBadValue, "Unknown compressor id " + std::to_string(static_cast<uint8_t>(frame[kPrefix - 1]))};

  const Status corrupt(ErrorCode::kBadValue, "OP_COMPRESSED does not unpack by " +
                                                 std::string(compressorName(*compressor)) + " to the announced " +
                                                 std::to_string(size) + " bytes");
  const auto data = frame.substr(kPrefix);
  const auto unpackedSize = static_cast<size_t>(size);
  if (!announces(*compressor, data, unpackedSize)) return corrupt;
  std::string message(kHeaderSize + unpackedSize, '\0');
  if (!unpack(*compressor, data, message.data() + kHeaderSize, unpackedSize)) return corrupt;
  header.messageLength = static_cast<int32_t>(message.size());
  writeHeader(message.data(), header);
  return message;
}

StatusWith<std::string> compress(std::string_view frame, Compressor compressor) {
  TROUPE_ASSIGN(MsgHeader header, parseFrameHeader(frame));
  const auto data = frame.substr(kHeaderSize);
  const auto bound = packedBound(compressor, data.size());
  std::string message(kPrefix + bound, '\0');
  const auto written = pack(compressor, data, message.data() + kPrefix, bound);
  if (!written) return {ErrorCode::kInternalError, std::string(compressorName(compressor)) + " could not compress"};
  message.resize(kPrefix + *written);

  const auto opCode = static_cast<int32_t>(header.opCode);
  const auto size = static_cast<int32_t>(data.size());
  std::memcpy(message.data() + kHeaderSize, &opCode, sizeof opCode);
  std::memcpy(message.data() + kHeaderSize + 4, &size, sizeof size);
  message[kPrefix - 1] = static_cast<char>(compressor);
  header.messageLength = static_cast<int32_t>(message.size());
  header.opCode = OpCode::kCompressed;
  writeHeader(message.data(), header);
  return message;
}

}  // namespace troupe::wire
