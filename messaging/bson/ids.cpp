#include "messaging/bson/ids.hpp"

namespace troupe::bson {

Uuid randomUuid(const RandomSource& random) {
  Uuid uuid;
  for (size_t half = 0; half < 2; ++half) {
    const uint64_t bits = random();
    std::memcpy(uuid.bytes.data() + 8 * half, &bits, sizeof bits);
  }
  uuid.bytes[6] = static_cast<uint8_t>((uuid.bytes[6] & 0x0F) | 0x40);  // version 4
  uuid.bytes[8] = static_cast<uint8_t>((uuid.bytes[8] & 0x3F) | 0x80);  // the variant of RFC 4122
  return uuid;
}

ObjectIdGenerator::ObjectIdGenerator(const RandomSource& random)
    : node_(random()), counter_(static_cast<uint32_t>(random())) {}

ObjectId ObjectIdGenerator::next(uint32_t seconds) {
  const uint32_t ordinal = counter_.fetch_add(1, std::memory_order_relaxed);
  ObjectId id;
  for (int i = 0; i < 4; ++i) id.bytes[i] = static_cast<uint8_t>(seconds >> (24 - 8 * i));
  for (int i = 0; i < 5; ++i) id.bytes[4 + i] = static_cast<uint8_t>(node_ >> (32 - 8 * i));
  for (int i = 0; i < 3; ++i) id.bytes[9 + i] = static_cast<uint8_t>(ordinal >> (16 - 8 * i));
  return id;
}

}  // namespace troupe::bson
