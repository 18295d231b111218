#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/keys/key_buffer.hpp"

/// Key strings: index keys as bytes that memcmp orders as the values are ordered (KEY-001..KEY-007).
///
/// Format, version 1. A key is its components one after the other, then an end byte, then perhaps a record id:
///   key       := component* end [recordId]
///   end       := 04, or for range bounds 01 (before all keys with this prefix) or FE (after them)
///   recordId  := 8 bytes big-endian, sign bit inverted
///   component := tag value; every byte inverted where the field is descending
/// Tags grow in the order of types: MinKey 0A, undefined 14, null 1E, numbers 28..3E, string and symbol 46, document
/// 50, array 5A, binary 64, ObjectId 6E, bool false 78 true 79, date 82, timestamp 8C, regex 96, DBPointer A0, code AA,
/// code with scope B4, MaxKey F0.
///   number    := tag rest; the rest of a negative number is inverted. Tags: 28 NaN, 29 -Infinity, 2A large negative,
///                2B..32 negative with 8..1 bytes, 33 small negative, 34 zero, and mirrored 35 small, 36..3D with 1..8
///                bytes, 3E large, 3F Infinity. "Small" is below 1, "large" from 2^63; their rest is an exact tail.
///                Between them the rest is the integer part doubled, plus 1 if a fraction follows as an exact tail.
///   tail      := the magnitude truncated to a double (8 bytes), then 00 if that is exact, else 01 and the decimal,
///                normalised
///                to 34 digits: exponent + 8192 (2 bytes), digits (15 bytes)
///   string    := bytes with 00 written as 00 FF, closed by 00 (a closing 00 is never followed by FF); with a collation
///                these are the bytes of the comparison key, and the original text is not kept
///   document  := (rank of the field's type, name 00, component)* 00
///   array     := component* 00
///   binary    := length (4 bytes), subtype, bytes;  ObjectId := 12 bytes;  date := 8 bytes, sign inverted
///   timestamp := 8 bytes;  regex := pattern 00 options 00;  DBPointer := length of ns (4 bytes), ns, ObjectId
///   code      := as string;  code with scope := string, then document
/// Type bits, a stream beside the key (first bit first), restore what the order must not show. A string has one bit:
/// symbol? A number has two: 0 the natural type (int32 or int64 by size for integers, else double), 1 double, 2 int64,
/// 3 decimal. A double zero adds its sign bit; a finite decimal adds 14 bits of biased exponent, and its sign if it is
/// zero. NaN comes back without payload. Trailing zero bytes are left out, so that type bits are empty in most keys.
namespace troupe::storage {

/// The direction of each field of an index, from its key pattern. Value type.
class Ordering {
 public:
  /// All ascending.
  Ordering() = default;
  explicit Ordering(uint32_t descendingMask) : descending_(descendingMask) {}
  /// A negative number is descending, all else (1, "hashed", "text" ...) ascending. CannotCreateIndex beyond 32 fields.
  static StatusWith<Ordering> fromKeyPattern(bson::View keyPattern);
  bool isDescending(size_t field) const { return field < 32 && (descending_ >> field) & 1; }
  bool operator==(const Ordering&) const = default;

 private:
  uint32_t descending_ = 0;
};

namespace key_string {

/// The most fields an index may have.
inline constexpr size_t kMaxFields = 32;

/// Where a bound stands among the keys that begin with the same components.
enum class Discriminator : uint8_t {
  kInclusive,        ///< a key itself
  kExclusiveBefore,  ///< before all keys with these components
  kExclusiveAfter,   ///< after all keys with these components
};

/// Writes one key, short ones in place. Reusable: `reset` keeps the buffers, so that a warm builder does not allocate.
/// Not copyable, not thread-safe.
class Builder {
 public:
  explicit Builder(Ordering ordering = {}) : ordering_(ordering) {}

  /// Appends the next component; an absent element is written as null. Strings go through the collator if there is one.
  Builder& append(const bson::Element& value, const bson::Collator* collator = nullptr);
  /// Ends the components with a discriminator; without this call `bytes` ends them as a key.
  Builder& finish(Discriminator discriminator = Discriminator::kInclusive);
  /// Ends the components and appends the record's id.
  Builder& appendRecordId(int64_t id);
  /// Starts over, with the same or another ordering.
  void reset();
  void reset(Ordering ordering) {
    ordering_ = ordering;
    reset();
  }

  /// The key; ends the components if that has not happened. Valid until the next change.
  std::string_view bytes() {
    if (!finished_) finish();
    return bytes_.view();
  }
  /// The type bits; empty when there is nothing to restore. Valid until the next change.
  std::string_view typeBits() const { return typeBits_.view(); }
  /// How many bytes the key has so far.
  size_t size() const { return bytes_.size(); }
  /// Whether nothing was appended.
  bool empty() const { return field_ == 0; }

 private:
  Ordering ordering_;
  Buffer bytes_;
  TypeBitsWriter typeBits_;
  uint32_t field_ = 0;
  bool finished_ = false;
};

/// memcmp, then length: -1, 0 or 1.
int compare(std::string_view a, std::string_view b);

/// The values of a key (with or without a record id), as a value of type array. Strings of a collation come back as
/// their comparison keys. Errors: FailedToParse where the bytes are no key.
StatusWith<bson::Value> decode(std::string_view bytes, std::string_view typeBits, Ordering ordering);
/// As `decode`, but a document with the field names of the key pattern.
StatusWith<bson::Document> decodeWithNames(std::string_view bytes, std::string_view typeBits, bson::View keyPattern);

/// The record id at the end of a key written with one; nothing when the bytes are too short.
std::optional<int64_t> recordIdAtEnd(std::string_view bytes);
/// The key without the record id at its end.
std::string_view withoutRecordId(std::string_view bytes);
/// A record id alone, as keys of record stores and values of unique indexes: 8 bytes in memcmp order.
std::array<char, 8> encodeRecordId(int64_t id);
int64_t decodeRecordId(std::string_view bytes);

}  // namespace key_string
}  // namespace troupe::storage
