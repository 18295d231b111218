#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::query {

/// The bits that `$bitsAllSet` and its kin ask for, bit 0 being the lowest of the first byte. Takes as much memory as
/// its bytes, or as the positions it was made of, however far they lie.
class BitMask {
 public:
  static BitMask ofBytes(std::string_view bytes);
  static BitMask ofPositions(std::vector<uint32_t> positions);

  /// Is any bit of the mask set, or clear, in `bytes`? What follows them is all ones or all zeros. Takes time
  /// proportional to the bytes.
  bool anySet(std::span<const uint8_t> bytes, bool onesFollow) const;
  bool anyClear(std::span<const uint8_t> bytes, bool onesFollow) const;

 private:
  /// Does `differs(byte, mask)` hold for a byte that both have?
  template <class F>
  bool any(std::span<const uint8_t> bytes, F differs) const;
  /// Has the mask bits at this byte or after it?
  bool reaches(size_t byte) const { return byte < dense_.size() || (!sparse_.empty() && byte <= sparse_.back().first); }

  std::vector<uint8_t> dense_;                        ///< the last byte is not 0
  std::vector<std::pair<uint32_t, uint8_t>> sparse_;  ///< place and bits of single bytes, ascending
};

}  // namespace troupe::query
