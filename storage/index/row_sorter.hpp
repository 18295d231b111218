#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::storage {

/// Rows of an index in memory, to be sorted by their keys. Rows lie behind each other in one text; what is sorted are
/// small entries with the first bytes of their keys. One thread at a time.
class RowSorter {
 public:
  /// `number` is the caller's, below 2^32. Rows may take 4 GiB in all.
  void add(std::string_view key, std::string_view value, uint32_t number);
  void sort();
  size_t size() const { return entries_.size(); }
  /// What the rows take in memory.
  size_t bytes() const { return text_.size() + entries_.size() * sizeof(Entry); }

  struct Row {
    std::string_view key, value;  ///< borrowed from the sorter
    uint32_t number;
  };
  Row operator[](size_t i) const;

 private:
  struct Entry {
    uint64_t prefix;  ///< the first bytes of the key as a number, so that they order alike
    uint32_t at;
    uint32_t number;
  };
  std::string_view keyAt(uint32_t at) const;
  static uint64_t prefixOf(std::string_view key);

  std::string text_;  ///< for each row the sizes of key and value, and both
  std::vector<Entry> entries_;
};

}  // namespace troupe::storage
