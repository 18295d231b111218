#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/header.hpp"

namespace troupe::wire {

/// Compressors by their number in OP_COMPRESSED.
enum class Compressor : uint8_t { kNoop = 0, kSnappy = 1, kZlib = 2, kZstd = 3 };

std::string_view compressorName(Compressor compressor);
/// "snappy", "zlib" or "zstd"; nothing for other names (noop is for tests and is not negotiated).
std::optional<Compressor> compressorByName(std::string_view name);
/// All that are negotiated, in the server's order of preference.
std::span<const Compressor> allCompressors();

/// Those of `offered` (the `compression` array of hello) that are enabled, in the client's order.
/// Names that are unknown and values that are not strings are passed over.
std::vector<Compressor> negotiate(const bson::Element& offered, std::span<const Compressor> enabled);

/// Commands that take part in a handshake or carry secrets; neither they nor their answers are compressed.
bool mayCompress(std::string_view commandName);

/// The compressor of a complete OP_COMPRESSED frame; nothing when the frame is too short or the number is unknown.
std::optional<Compressor> compressorOf(std::string_view frame);

/// Unpacks an OP_COMPRESSED frame into the frame it was made of (an ordinary header and the original opcode).
/// Memory and time are bounded by the announced size. Before it is allocated it is checked against `largest` and
/// against what that many compressed bytes can hold at most. Errors: ProtocolError (sizes, nesting); BadValue (unknown
/// compressor, data that does not unpack to that size).
StatusWith<std::string> decompress(std::string_view frame, int32_t largest = kMaxMessageSize);

/// Packs a frame; answers with the OP_COMPRESSED frame.
StatusWith<std::string> compress(std::string_view frame, Compressor compressor);

}  // namespace troupe::wire
