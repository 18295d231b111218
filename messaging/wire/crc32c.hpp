#pragma once
#include <cstdint>
#include <string_view>

namespace troupe::wire {

/// The Castagnoli CRC that OP_MSG's checksum uses.
uint32_t crc32c(std::string_view bytes);

}  // namespace troupe::wire
