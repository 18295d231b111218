#pragma once
#include <cstdint>
#include <string_view>

#include "messaging/description/description.hpp"

/// Marks described structs as messages: values that may leave their process. The description is all there is of a
/// message: its Cap'n Proto struct follows from it (message_archive.hpp).
namespace troupe::machines {

/// Specialised by TROUPE_MESSAGE.
template <class T>
inline constexpr bool kIsMessage = false;

/// A described struct that travels between nodes.
template <class T>
concept MessageStruct = Described<T> && kIsMessage<T>;

/// Identifies the type of a message on links, as the identifier of a schema's struct does: FNV-1a of its qualified
/// name, with the top bit set. Renaming a message makes it another one.
template <MessageStruct T>
constexpr uint64_t messageId() {
  uint64_t hash = 14695981039346656037u;
  for (const char c : Description<T>::kQualifiedName) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash | uint64_t{1} << 63;
}

}  // namespace troupe::machines

/// Describes a message by its fields, of which there may be none; in place of TROUPE_DESCRIBE, at global scope:
///   TROUPE_MESSAGE(troupe::replication::StepUpRequest, from, term)
/// Fields are numbered in this order. New ones go to the end: older nodes pass over them, and read by a newer node they
/// have the zero of their type in a message of an older one.
#define TROUPE_MESSAGE(Type, ...)                     \
  TROUPE_DESCRIBE(Type, 0 __VA_OPT__(, ) __VA_ARGS__) \
  template <>                                         \
  inline constexpr bool troupe::machines::kIsMessage<Type> = true;
