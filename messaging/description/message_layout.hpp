#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "messaging/description/value_type.hpp"

/// The Cap'n Proto layout of described structs.
namespace troupe::machines::detail {

/// Where the fields of a struct lie: the places that Cap'n Proto's own compiler gives to a struct with the same fields
/// in the same order. Immutable; made once a type.
struct MessageLayout {
  struct Slot {
    std::string_view name;  ///< static text
    uint32_t place;         ///< the first bit in the data section, or the index of the pointer
  };
  std::vector<Slot> slots;  ///< in the order of the description
  uint16_t dataWords = 0;
  uint16_t pointers = 0;
};

/// Bits that a value takes in the data section of its struct: 1, 8, 16, 32 or 64; 0 for a value behind a pointer.
unsigned dataBits(const ValueType& type);

/// Size of a value that is a Cap'n Proto struct: described structs, variants, statuses.
struct StructSize {
  uint16_t dataWords, pointers;
};
bool isComposite(const ValueType& type);
/// `isComposite` must hold.
StructSize structSize(const ValueType& type);
/// Size of an entry {key @0 :Text, value @1} of a map, whose value is the second pointer or lies at the first bit.
StructSize entrySize(const ValueType& value);

}  // namespace troupe::machines::detail
