#pragma once
#include <cstdint>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "storage/keys/key_buffer.hpp"

namespace troupe::storage::key_string {

/// Tags of numbers (the format is in key_string.hpp).
enum NumberTag : uint8_t {
  kNaN = 0x28,
  kNegativeInfinity = 0x29,
  kNegativeLarge = 0x2A,
  kNegativeBytes = 0x33,  ///< minus the count of bytes
  kNegativeSmall = 0x33,
  kZero = 0x34,
  kPositiveSmall = 0x35,
  kPositiveBytes = 0x35,  ///< plus the count of bytes
  kPositiveLarge = 0x3E,
  kPositiveInfinity = 0x3F,
};

/// Writes a number of any type so that all numbers are in the order of their mathematical values (KEY-001, KEY-003).
void appendNumber(Buffer& out, TypeBitsWriter& bits, const bson::Element& number);

/// Reads what follows the tag and appends the number under that name, in its original type. Fails the reader where the
/// bytes are no number.
void readNumber(uint8_t tag, ByteReader& in, TypeBitsReader& bits, bson::Builder& out, std::string_view name);

}  // namespace troupe::storage::key_string
