#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "messaging/bson/types.hpp"

namespace troupe::storage {

/// An entry's time as its key: eight bytes, big-endian, so that bytes order as times do.
class OplogKey {
 public:
  explicit OplogKey(bson::Timestamp time) {
    const uint64_t big = __builtin_bswap64(time.asUint64());
    std::memcpy(bytes_, &big, sizeof big);
  }
  operator std::string_view() const { return {bytes_, sizeof bytes_}; }  // NOLINT: usable as a key
  static bson::Timestamp decode(std::string_view key) {
    uint64_t big = 0;
    std::memcpy(&big, key.data(), sizeof big);
    return bson::Timestamp::fromUint64(__builtin_bswap64(big));
  }

 private:
  char bytes_[8];
};

}  // namespace troupe::storage
