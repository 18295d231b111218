#pragma once
#include <cstdint>

namespace troupe::storage::key_string {

constexpr int kMaxDepth = 255;  ///< of documents and arrays in a key

/// The first byte of a component of a key, as described in key_string.hpp: writers, readers and skippers share it.
enum Tag : uint8_t {
  kClose = 0x00,
  kEndBefore = 0x01,
  kEnd = 0x04,
  kMinKey = 0x0A,
  kUndefined = 0x14,
  kNull = 0x1E,
  kNumber = 0x28,
  kString = 0x46,
  kDocument = 0x50,
  kArray = 0x5A,
  kBinary = 0x64,
  kObjectId = 0x6E,
  kFalse = 0x78,
  kTrue = 0x79,
  kDate = 0x82,
  kTimestamp = 0x8C,
  kRegex = 0x96,
  kDBPointer = 0xA0,
  kCode = 0xAA,
  kCodeWithScope = 0xB4,
  kMaxKey = 0xF0,
  kEndAfter = 0xFE,
  kEscaped = 0xFF,
};

}  // namespace troupe::storage::key_string
