#include "storage/query/match/bit_mask.hpp"

#include <algorithm>

namespace troupe::query {

BitMask BitMask::ofBytes(std::string_view bytes) {
  BitMask mask;
  mask.dense_.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.find_last_not_of('\0') + 1));
  return mask;
}

BitMask BitMask::ofPositions(std::vector<uint32_t> positions) {
  BitMask mask;
  std::sort(positions.begin(), positions.end());
  for (const uint32_t position : positions) {
    const uint32_t byte = position / 8;
    if (mask.sparse_.empty() || mask.sparse_.back().first != byte) mask.sparse_.emplace_back(byte, uint8_t{0});
    mask.sparse_.back().second |= static_cast<uint8_t>(1 << (position % 8));
  }
  return mask;
}

template <class F>
bool BitMask::any(std::span<const uint8_t> bytes, F differs) const {
  const size_t common = std::min(bytes.size(), dense_.size());
  for (size_t i = 0; i < common; ++i)
    if (differs(bytes[i], dense_[i])) return true;
  for (const auto& [byte, bits] : sparse_) {
    if (byte >= bytes.size()) return false;
    if (differs(bytes[byte], bits)) return true;
  }
  return false;
}

bool BitMask::anySet(std::span<const uint8_t> bytes, bool onesFollow) const {
  return (onesFollow && reaches(bytes.size())) ||
         any(bytes, [](uint8_t byte, uint8_t bits) { return (byte & bits) != 0; });
}

bool BitMask::anyClear(std::span<const uint8_t> bytes, bool onesFollow) const {
  return (!onesFollow && reaches(bytes.size())) ||
         any(bytes, [](uint8_t byte, uint8_t bits) { return (byte & bits) != bits; });
}

}  // namespace troupe::query
