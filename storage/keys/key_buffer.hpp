#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace troupe::storage::key_string {

/// A growing row of bytes that keeps short keys in place: most index keys never allocate (KEY-007). Not copyable.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* data() { return data_; }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_, size_}; }
  void clear() { size_ = 0; }

  void push(uint8_t byte) {
    if (size_ == capacity_) grow(1);
    data_[size_++] = static_cast<char>(byte);
  }
  void append(const void* bytes, size_t count) {
    if (capacity_ - size_ < count) grow(count);
    std::memcpy(data_ + size_, bytes, count);
    size_ += count;
  }
  void append(std::string_view bytes) { append(bytes.data(), bytes.size()); }

  /// A number, most significant byte first.
  template <class T>
  void appendBigEndian(T value) {
    static_assert(std::is_unsigned_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    else if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    else value = __builtin_bswap64(value);
    append(&value, sizeof value);
  }

  /// Inverts all bytes from `start` on.
  void invertFrom(size_t start) {
    for (size_t i = start; i < size_; ++i) data_[i] = static_cast<char>(~data_[i]);
  }

 private:
  static constexpr size_t kInline = 120;

  void grow(size_t more) {
    const size_t capacity = std::max(2 * capacity_, size_ + more);
    auto heap = std::make_unique_for_overwrite<char[]>(capacity);
    std::memcpy(heap.get(), data_, size_);
    heap_ = std::move(heap);
    data_ = heap_.get();
    capacity_ = capacity;
  }

  char inline_[kInline];
  char* data_ = inline_;
  size_t size_ = 0;
  size_t capacity_ = kInline;
  std::unique_ptr<char[]> heap_;
};

/// Writes the stream of bits beside a key. Zeros cost nothing until a one follows.
class TypeBitsWriter {
 public:
  void put(uint32_t value, uint32_t count) {
    if (value) set(value, count);
    count_ += count;
  }
  void clear() {
    bytes_.clear();
    count_ = 0;
  }
  /// Without trailing zero bytes.
  std::string_view view() const {
    std::string_view all = bytes_;
    while (!all.empty() && all.back() == '\0') all.remove_suffix(1);
    return all;
  }

 private:
  void set(uint32_t value, uint32_t count) {
    bytes_.resize((count_ + count + 7) / 8, '\0');
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t at = count_ + i;
      if (value >> (count - 1 - i) & 1) bytes_[at / 8] = static_cast<char>(bytes_[at / 8] | 0x80 >> at % 8);
    }
  }
  std::string bytes_;
  uint32_t count_ = 0;
};

/// Reads what TypeBitsWriter wrote; beyond the end all bits are zero.
class TypeBitsReader {
 public:
  explicit TypeBitsReader(std::string_view bytes) : bytes_(bytes) {}
  uint32_t take(uint32_t count) {
    uint32_t value = 0;
    for (; count > 0; --count, ++at_) {
      const bool bit = at_ / 8 < bytes_.size() && static_cast<uint8_t>(bytes_[at_ / 8]) & 0x80 >> at_ % 8;
      value = value << 1 | static_cast<uint32_t>(bit);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

/// Reads the bytes of a key; each byte is XORed with the mask of the current field. Reading beyond the end gives zeros
/// and `failed()`.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  void setMask(uint8_t mask) { mask_ = mask; }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  bool atEnd() const { return at_ >= bytes_.size(); }
  /// The next byte as it is stored, 0 at the end.
  uint8_t peekRaw() const { return atEnd() ? 0 : static_cast<uint8_t>(bytes_[at_]); }
  uint8_t peek() const { return peekRaw() ^ mask_; }
  uint8_t byte() {
    if (atEnd()) {
      failed_ = true;
      return 0;
    }
    return static_cast<uint8_t>(bytes_[at_++]) ^ mask_;
  }
  uint64_t bigEndian(size_t count) {
    uint64_t value = 0;
    while (count-- > 0) value = value << 8 | byte();
    return value;
  }
  std::string take(size_t count) {
    if (bytes_.size() - at_ < count) {
      failed_ = true;
      return {};
    }
    std::string out(bytes_.substr(at_, count));
    for (char& c : out) c = static_cast<char>(c ^ mask_);
    at_ += count;
    return out;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  uint8_t mask_ = 0;
  bool failed_ = false;
};

}  // namespace troupe::storage::key_string
