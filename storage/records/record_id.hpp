#pragma once
#include <compare>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace troupe::storage {

/// The place of a document in its collection: a positive number that grows with insertion. Zero is "none".
struct RecordId {
  int64_t value = 0;
  bool ok() const { return value != 0; }
  auto operator<=>(const RecordId&) const = default;
};
inline constexpr RecordId kMaxRecordId{INT64_MAX};

/// A RecordId as the key of a record store: eight bytes, big-endian with the sign bit inverted, so that bytes order as
/// numbers do; the same bytes that end an index key.
class RecordKey {
 public:
  explicit RecordKey(RecordId id) {
    const uint64_t big = __builtin_bswap64(static_cast<uint64_t>(id.value) ^ kSign);
    std::memcpy(bytes_, &big, sizeof big);
  }
  operator std::string_view() const { return {bytes_, sizeof bytes_}; }  // NOLINT: usable as a key
  static RecordId decode(std::string_view key) {
    uint64_t big = 0;
    std::memcpy(&big, key.data(), sizeof big);
    return {static_cast<int64_t>(__builtin_bswap64(big) ^ kSign)};
  }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;
  char bytes_[8];
};

}  // namespace troupe::storage
