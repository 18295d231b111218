#pragma once
#include <string>
#include <string_view>

#include "messaging/description/value_type.hpp"
#include "messaging/errors/status.hpp"

/// Snapshots of described values that stay on this node: short, versioned, with a checksum. Enums and variants stand by
/// name (each name once a snapshot), fields by their order: a type whose fields change needs a new version. Reading is
/// bounded by the bytes there are and safe on any bytes.
namespace troupe::machines {

namespace detail {
std::string writeBinary(const ValueType& type, const void* value);
Status readBinary(std::string_view bytes, const ValueType& type, void* value);
}  // namespace detail

/// Largest snapshot that is read, in bytes.
inline constexpr size_t kMaxSnapshotSize = 64 << 20;

template <Documented T>
std::string toBinary(const T& value) {
  return detail::writeBinary(typeOf<T>(), &value);
}

/// Errors: ChecksumMismatch (damaged, cut off), UnsupportedFormat (newer version), TypeMismatch (of another type),
/// FailedToParse (the checksum fits, the content does not), Overflow (nested too deep), InvalidLength (larger than
/// kMaxSnapshotSize).
template <Documented T>
StatusWith<T> fromBinary(std::string_view bytes) {
  T value{};
  TROUPE_TRY(detail::readBinary(bytes, typeOf<T>(), &value));
  return value;
}

}  // namespace troupe::machines
