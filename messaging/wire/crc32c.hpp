#pragma once
#include <cstdint>
#include <string_view>

namespace troupe::wire {

/// CRC-32C (Castagnoli), the checksum of OP_MSG and of links; by the processor's instruction where it has one.
/// `previous`: the checksum of the bytes before these.
uint32_t crc32c(std::string_view bytes, uint32_t previous = 0);

}  // namespace troupe::wire
