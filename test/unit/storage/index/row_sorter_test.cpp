#include "storage/index/row_sorter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace troupe::storage {
namespace {

using Row = std::pair<std::string, uint32_t>;

std::vector<Row> sorted(const std::vector<Row>& rows) {
  RowSorter sorter;
  for (const auto& [key, number] : rows) sorter.add(key, "v" + key, number);
  sorter.sort();
  std::vector<Row> result;
  for (size_t i = 0; i < sorter.size(); ++i) {
    EXPECT_EQ(sorter[i].value, "v" + std::string(sorter[i].key));
    result.emplace_back(sorter[i].key, sorter[i].number);
  }
  return result;
}

TEST(RowSorter, SortsByTheBytesOfKeysAndThenByNumber) {
  std::mt19937 random(7);
  std::vector<Row> rows;
  for (uint32_t i = 0; i < 2000; ++i) {
    std::string key(1 + random() % 12, '\0');  // many with the same first bytes
    for (char& c : key) c = static_cast<char>("\x00\x01\x7f\x80\xff"[random() % 5]);
    rows.emplace_back(std::move(key), i);
  }
  std::vector<Row> expected = rows;
  std::ranges::sort(expected);
  EXPECT_EQ(sorted(rows), expected);
  EXPECT_EQ(sorted(expected), expected);
}

TEST(RowSorter, KnowsWhatItHolds) {
  RowSorter sorter;
  EXPECT_EQ(sorter.bytes(), 0u);
  for (uint32_t i = 0; i < 100; ++i) sorter.add(std::string(50, 'k'), std::string(20, 'v'), i);
  EXPECT_GE(sorter.bytes(), 100u * 70);
  EXPECT_LE(sorter.bytes(), 100u * 100);
}

}  // namespace
}  // namespace troupe::storage
