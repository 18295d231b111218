#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::bson {

/// Element types of BSON (bsonspec.org), by their byte on the wire.
enum class Type : uint8_t {
  kEnd = 0x00,  ///< also the type of an absent element
  kDouble = 0x01,
  kString = 0x02,
  kDocument = 0x03,
  kArray = 0x04,
  kBinary = 0x05,
  kUndefined = 0x06,
  kObjectId = 0x07,
  kBool = 0x08,
  kDate = 0x09,
  kNull = 0x0A,
  kRegex = 0x0B,
  kDBPointer = 0x0C,
  kCode = 0x0D,
  kSymbol = 0x0E,
  kCodeWithScope = 0x0F,
  kInt32 = 0x10,
  kTimestamp = 0x11,
  kInt64 = 0x12,
  kDecimal128 = 0x13,
  kMaxKey = 0x7F,
  kMinKey = 0xFF,
};

/// The alias used by `$type` and in messages: "double", "string", "object", "int" ...; "missing" for kEnd.
std::string_view typeName(Type type);
/// The type of an alias of `$type` ("int", "object" ...); nothing when there is no such alias.
std::optional<Type> typeFromName(std::string_view name);
/// Whether a number is the code of a BSON type (as `$type: 16` names it); -1 is MinKey.
std::optional<Type> typeFromCode(int code);

/// Largest document a client may store, in bytes.
inline constexpr int32_t kMaxDocumentSize = 16 * 1024 * 1024;
/// Room that commands and internal documents may add around a stored document.
inline constexpr int32_t kMaxInternalDocumentSize = kMaxDocumentSize + 16 * 1024;
/// Deepest nesting a document may have.
inline constexpr int kMaxNestingDepth = 180;
/// Levels that a command may have below its own fields.
inline constexpr int kMaxCommandNesting = 200;
/// Levels of documents that the server wraps around what a command had: rows of the catalog, entries of the oplog.
inline constexpr int kMaxInternalNesting = 250;

struct ObjectId {
  std::array<uint8_t, 12> bytes{};
  std::string toString() const;  ///< 24 hexadecimal digits
  /// Nothing unless `text` is exactly 24 hexadecimal digits of either case.
  static std::optional<ObjectId> fromString(std::string_view text);
  /// The time of creation that the first four bytes hold, in seconds since 1970.
  uint32_t seconds() const { return uint32_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]; }
  auto operator<=>(const ObjectId&) const = default;
};

/// The internal timestamp type: seconds since 1970 and an ordinal within the second.
struct Timestamp {
  uint32_t seconds = 0;
  uint32_t increment = 0;
  uint64_t asUint64() const { return (uint64_t{seconds} << 32) | increment; }
  static Timestamp fromUint64(uint64_t v) { return {static_cast<uint32_t>(v >> 32), static_cast<uint32_t>(v)}; }
  auto operator<=>(const Timestamp&) const = default;
};

/// Milliseconds since 1970, UTC.
struct Date {
  int64_t millis = 0;
  auto operator<=>(const Date&) const = default;
};

/// IEEE 754-2008 decimal128 in the BID encoding, as on the wire. Arithmetic is in numeric.hpp.
struct Decimal128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Decimal128&) const = default;  ///< same bits, not same number
};

struct Binary {
  uint8_t subtype = 0;
  std::string_view bytes;
};
inline constexpr uint8_t kBinaryGeneric = 0;
inline constexpr uint8_t kBinaryUuid = 4;

struct Regex {
  std::string_view pattern;
  std::string_view options;
};
struct Code {
  std::string_view code;
};
struct Symbol {
  std::string_view symbol;
};
struct DBPointer {
  std::string_view ns;
  ObjectId id;
};
struct Null {};
struct Undefined {};
struct MinKey {};
struct MaxKey {};

/// A UUID as held in binary subtype 4.
struct Uuid {
  std::array<uint8_t, 16> bytes{};
  std::string toString() const;  ///< 8-4-4-4-12 hexadecimal digits
  /// Nothing unless `text` is 8-4-4-4-12 hexadecimal digits of either case.
  static std::optional<Uuid> fromString(std::string_view text);
  auto operator<=>(const Uuid&) const = default;
};

/// Reads a little-endian number of the wire at any alignment.
template <class T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

}  // namespace troupe::bson
