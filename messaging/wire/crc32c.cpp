#include "messaging/wire/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace troupe::wire {

namespace {

constexpr uint32_t kReflected = 0x82F63B78;

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kReflected : 0);
    table[i] = crc;
  }
  return table;
}();

uint32_t byTable(uint32_t crc, const char* at, size_t size) {
  for (; size > 0; ++at, --size) crc = kTable[(crc ^ static_cast<uint8_t>(*at)) & 0xFF] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t byInstruction(uint32_t crc, const char* at, size_t size) {
  uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; ++at, --size) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*at));
  return crc;
}
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t previous) {
#if defined(__x86_64__)
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2");
  if (kHasInstruction) return ~byInstruction(~previous, bytes.data(), bytes.size());
#endif
  return ~byTable(~previous, bytes.data(), bytes.size());
}

}  // namespace troupe::wire
