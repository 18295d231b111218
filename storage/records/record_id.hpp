#pragma once
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"

namespace troupe::storage {

/// Kinds of keys in a record store: numbers that grow with insertion, or byte strings (the key string of `_id`
/// without type bits, in clustered collections; CLU-004). Times are byte strings, too: those of the oplog's entries,
/// which forward readers see up to the visibility point only (TRN-008).
enum class RecordIds : uint8_t { kNumbers, kBytes, kTimes };

/// The place of a document in its collection: a positive number, or a byte string that is not empty. Default
/// constructed it is "none". Ids of one store order as its keys do. Short byte strings (an ObjectId's, a number's) are
/// kept in place; numbers never allocate. Value type.
class RecordId {
 public:
  RecordId() = default;
  explicit RecordId(int64_t number) : number_(number) {}
  explicit RecordId(std::string bytes) : bytes_(std::move(bytes)) {}

  bool ok() const { return number_ != 0 || !bytes_.empty(); }
  bool isBytes() const { return !bytes_.empty(); }
  /// Zero for byte strings.
  int64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }
  /// As assignment, without a temporary.
  void set(int64_t number) {
    number_ = number;
    if (!bytes_.empty()) bytes_.clear();
  }
  void set(std::string_view bytes) {
    number_ = 0;
    bytes_.assign(bytes);
  }

  auto operator<=>(const RecordId&) const = default;

  /// A long, or a binary value.
  bson::Value toValue() const;
  /// "17", or the bytes in hexadecimal digits.
  std::string toString() const;
  uint64_t hash() const;

 private:
  int64_t number_ = 0;
  std::string bytes_;
};

/// A RecordId as the key of a record store: a number as eight bytes, big-endian with the sign bit inverted, so that
/// bytes order as numbers do; a byte string as it is, borrowed from the id.
class RecordKey {
 public:
  explicit RecordKey(int64_t number) : view_(bytes_, sizeof bytes_) { encode(number); }
  explicit RecordKey(const RecordId& id) : view_(id.isBytes() ? id.bytes() : std::string_view(bytes_, sizeof bytes_)) {
    if (!id.isBytes()) encode(id.number());
  }
  RecordKey(const RecordKey&) = delete;
  RecordKey& operator=(const RecordKey&) = delete;
  operator std::string_view() const { return view_; }  // NOLINT: usable as a key

  static constexpr size_t kNumberSize = 8;
  /// The number at the start of at least eight bytes.
  static int64_t number(std::string_view key) {
    uint64_t big = 0;
    std::memcpy(&big, key.data(), sizeof big);
    return static_cast<int64_t>(__builtin_bswap64(big) ^ kSign);
  }
  static void decode(std::string_view key, RecordIds kind, RecordId& id) {
    if (kind == RecordIds::kNumbers) id.set(number(key));
    else id.set(key);
  }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;
  void encode(int64_t number) {
    const uint64_t big = __builtin_bswap64(static_cast<uint64_t>(number) ^ kSign);
    std::memcpy(bytes_, &big, sizeof big);
  }
  char bytes_[kNumberSize];
  std::string_view view_;
};

// The id at the end of a row of a secondary index. A number is its eight bytes. A byte string is followed by its length
// (CLU-005), which is read from the right: up to four bytes of seven bits each, the lowest bits last; the high bit says
// that another byte stands to the left.

/// Appends an id to the key of an index row.
void appendRecordId(std::string& row, const RecordId& id);
/// Splits an index row into its key and the bytes of its id; false when it is malformed.
bool splitIndexRow(std::string_view row, RecordIds kind, std::string_view& key, std::string_view& id);

/// The longest byte string whose length four bytes can hold.
inline constexpr size_t kMaxRecordIdBytes = (size_t{1} << 28) - 1;

}  // namespace troupe::storage
