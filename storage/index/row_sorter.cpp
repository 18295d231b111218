#include "storage/index/row_sorter.hpp"

#include <algorithm>

namespace troupe::storage {

namespace {

struct Sizes {
  uint32_t key, value;
};

}  // namespace

uint64_t RowSorter::prefixOf(std::string_view key) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, key.data(), std::min(key.size(), sizeof bytes));
  return __builtin_bswap64(bytes);
}

void RowSorter::add(std::string_view key, std::string_view value, uint32_t number) {
  const Sizes sizes{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
  entries_.push_back({prefixOf(key), static_cast<uint32_t>(text_.size()), number});
  text_.append(reinterpret_cast<const char*>(&sizes), sizeof sizes).append(key).append(value);
}

std::string_view RowSorter::keyAt(uint32_t at) const {
  Sizes sizes;
  std::memcpy(&sizes, text_.data() + at, sizeof sizes);
  return {text_.data() + at + sizeof sizes, sizes.key};
}

RowSorter::Row RowSorter::operator[](size_t i) const {
  const Entry& entry = entries_[i];
  Sizes sizes;
  std::memcpy(&sizes, text_.data() + entry.at, sizeof sizes);
  const char* const key = text_.data() + entry.at + sizeof sizes;
  return {{key, sizes.key}, {key + sizes.key, sizes.value}, entry.number};
}

/// Rows of one key stay in the order of their numbers. Keys that come in order, as those of `_id` mostly do, cost one
/// look at each.
void RowSorter::sort() {
  const auto isBefore = [this](const Entry& a, const Entry& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = keyAt(a.at).compare(keyAt(b.at));
    return order != 0 ? order < 0 : a.number < b.number;
  };
  if (!std::ranges::is_sorted(entries_, isBefore)) std::ranges::sort(entries_, isBefore);
}

}  // namespace troupe::storage
