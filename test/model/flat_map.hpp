#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::model {

/// Spreads 64 bits over all 64.
inline uint64_t mixed(uint64_t a, uint64_t b = 0x9e3779b97f4a7c15u) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0xa0761d6478bd642fu) * (b ^ 0xe7037ed1a0b428dbu);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// From 64-bit keys to 32-bit numbers: an open table that only grows, of 15 to 30 bytes a key.
class FlatMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// kNone if the key isn't there.
  uint32_t find(uint64_t key) const {
    for (size_t at = mixed(key) & mask_;; at = (at + 1) & mask_) {
      const Row& row = rows_[at];
      if (row.value == kNone) return kNone;
      if (row.low == static_cast<uint32_t>(key) && row.high == static_cast<uint32_t>(key >> 32)) return row.value;
    }
  }
  void insert(uint64_t key, uint32_t value) {
    if (++size_ * 5 > rows_.size() * 4) grow();
    place(key, value);
  }
  /// Of a key that is there.
  void replace(uint64_t key, uint32_t value) {
    size_t at = mixed(key) & mask_;
    while (rows_[at].low != static_cast<uint32_t>(key) || rows_[at].high != static_cast<uint32_t>(key >> 32))
      at = (at + 1) & mask_;
    rows_[at].value = value;
  }
  size_t size() const { return size_; }
  size_t bytes() const { return rows_.size() * sizeof(Row); }

 private:
  struct Row {  // in 12 bytes
    uint32_t low = 0, high = 0;
    uint32_t value = kNone;
  };
  void place(uint64_t key, uint32_t value) {
    size_t at = mixed(key) & mask_;
    while (rows_[at].value != kNone) at = (at + 1) & mask_;
    rows_[at] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32), value};
  }
  void grow() {
    std::vector<Row> old = std::exchange(rows_, std::vector<Row>(rows_.size() * 2));
    mask_ = rows_.size() - 1;
    for (const Row& row : old)
      if (row.value != kNone) place(static_cast<uint64_t>(row.high) << 32 | row.low, row.value);
  }

  size_t size_ = 0;
  size_t mask_ = 1023;
  std::vector<Row> rows_ = std::vector<Row>(1024);
};

/// A list that grows without moving what it holds.
template <class T>
class Chunked {
 public:
  void push_back(const T& one) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<T[]>(kChunk));
    chunks_.back()[size_++ % kChunk] = one;
  }
  T& operator[](size_t at) { return chunks_[at / kChunk][at % kChunk]; }
  const T& operator[](size_t at) const { return chunks_[at / kChunk][at % kChunk]; }
  T& back() { return (*this)[size_ - 1]; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return chunks_.size() * kChunk * sizeof(T); }

 private:
  static constexpr size_t kChunk = 1 << 14;
  size_t size_ = 0;
  std::vector<std::unique_ptr<T[]>> chunks_;
};

}  // namespace troupe::model
