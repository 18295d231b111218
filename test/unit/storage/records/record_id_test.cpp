#include "storage/records/record_id.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "storage/records/record_id_set.hpp"

namespace troupe::storage {
namespace {

std::string rowOf(std::string_view key, const RecordId& id) {
  std::string row(key);
  appendRecordId(row, id);
  return row;
}

TEST(RecordId, NumbersOrderAsTheirKeysDo) {
  const std::vector<int64_t> numbers{INT64_MIN, -5, -1, 1, 2, 255, 256, 1'000'000, INT64_MAX};
  for (const int64_t a : numbers) {
    EXPECT_EQ(RecordKey::number(RecordKey(a)), a);
    for (const int64_t b : numbers) {
      EXPECT_EQ(RecordId(a) < RecordId(b), std::string_view(RecordKey(a)) < std::string_view(RecordKey(b)));
    }
  }
}

TEST(RecordId, ByteStringsAreTheirKeys) {
  const RecordId a(std::string("\x46 one")), b(std::string("\x46 two"));
  EXPECT_LT(a, b);
  EXPECT_EQ(std::string_view(RecordKey(a)), "\x46 one");
  EXPECT_TRUE(a.ok() && a.isBytes());
  EXPECT_FALSE(RecordId().ok());
  EXPECT_EQ(a.toString(), "46206f6e65");
  EXPECT_EQ(RecordId(17).toString(), "17");
}

TEST(RecordId, CanBeSetAgainAsTheOtherKind) {
  RecordId id(5);
  id.set(std::string_view("abc"));
  EXPECT_EQ(id, RecordId(std::string("abc")));
  id.set(int64_t{7});
  EXPECT_EQ(id, RecordId(7));
}

// CLU-005: one byte of length up to 127, two from 128 on, three from 16384 on, the last byte the lowest bits.
TEST(RecordId, TheLengthBehindAByteStringIsReadFromTheRight) {
  const auto suffix = [](size_t size) { return rowOf("", RecordId(std::string(size, 'x'))).substr(size); };
  EXPECT_EQ(suffix(1), "\x01");
  EXPECT_EQ(suffix(127), "\x7F");
  EXPECT_EQ(suffix(128), std::string("\x01\x80"));
  EXPECT_EQ(suffix(300), std::string("\x02\xAC"));
  EXPECT_EQ(suffix(16'384), std::string("\x01\x80\x80"));
  EXPECT_EQ(suffix(2'097'152), std::string("\x01\x80\x80\x80"));
}

TEST(RecordId, ARowSplitsIntoKeyAndIdOfAnySize) {
  std::mt19937 random(1);
  for (size_t size = 1; size < 5'000'000; size = size * 3 + random() % 3) {
    std::string bytes(size, 'x'), keyBytes(1 + random() % 200, 'k');
    for (char& c : bytes) c = static_cast<char>(random());
    for (char& c : keyBytes) c = static_cast<char>(random());
    const std::string row = rowOf(keyBytes, RecordId(bytes));
    std::string_view key, id;
    ASSERT_TRUE(splitIndexRow(row, RecordIds::kBytes, key, id)) << size;
    EXPECT_EQ(key, keyBytes);
    EXPECT_EQ(id, bytes);
  }
  const std::string numbered = rowOf("key", RecordId(300));
  std::string_view key, id;
  ASSERT_TRUE(splitIndexRow(numbered, RecordIds::kNumbers, key, id));
  EXPECT_EQ(key, "key");
  EXPECT_EQ(RecordKey::number(id), 300);
}

TEST(RecordId, ADamagedRowIsRecognized) {
  std::string_view key, id;
  for (const std::string row :
       {"", "\x01", "\xFF\xFF\xFF\xFF\xFF", "\x80", "ab\x02", "ab\x05", "a\x01\x80\x80\x80\x80"})
    EXPECT_FALSE(splitIndexRow(row, RecordIds::kBytes, key, id)) << row;
  EXPECT_FALSE(splitIndexRow(std::string("ab\0", 3), RecordIds::kBytes, key, id)) << "an empty id";
  EXPECT_FALSE(splitIndexRow("12345678", RecordIds::kNumbers, key, id)) << "an empty key";
}

TEST(RecordIdSet, KnowsBothKinds) {
  RecordIdSet seen;
  EXPECT_TRUE(seen.insert(RecordId(1)));
  EXPECT_FALSE(seen.insert(RecordId(1)));
  EXPECT_TRUE(seen.insert(RecordId(std::string("a"))));
  EXPECT_FALSE(seen.insert(RecordId(std::string("a"))));
  EXPECT_TRUE(seen.contains(RecordId(std::string("a"))) && seen.contains(RecordId(1)));
  EXPECT_FALSE(seen.contains(RecordId(std::string("b"))) || seen.contains(RecordId(2)));
  EXPECT_EQ(seen.size(), 2U);
}

TEST(RecordIdSet, HoldsAnyNumbers) {
  RecordIdSet seen;
  std::set<int64_t> expected;
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t number = i % 2 ? static_cast<int64_t>(random() % 5000) - 2500 : static_cast<int64_t>(random());
    ASSERT_EQ(seen.contains(RecordId(number)), expected.contains(number)) << number;
    ASSERT_EQ(seen.insert(RecordId(number)), expected.insert(number).second) << number;
    ASSERT_EQ(seen.size(), expected.size());
  }
  for (const int64_t number : {INT64_MIN, INT64_MAX}) {
    EXPECT_TRUE(seen.insert(RecordId(number)));
    EXPECT_FALSE(seen.insert(RecordId(number)));
  }
}

TEST(RecordIdSet, NeighboursTakeLittle) {
  RecordIdSet neighbours, apart;
  for (int64_t i = 1; i <= 100'000; ++i) {
    neighbours.insert(RecordId(i));
    apart.insert(RecordId(i * 1000));
  }
  EXPECT_LT(neighbours.bytes(), 200'000);
  EXPECT_GT(apart.bytes(), 3'000'000);
  EXPECT_LT(apart.bytes(), 6'000'000);
}

TEST(RecordIdSet, ByteStringsCountWithWhatTheyHoldOutsideOfTheTable) {
  RecordIdSet shortOnes, longOnes;
  for (int i = 0; i < 1000; ++i) {
    shortOnes.insert(RecordId(std::to_string(10'000 + i)));
    longOnes.insert(RecordId(std::string(10'000, 'x') + std::to_string(i)));
    longOnes.insert(RecordId(std::string(10'000, 'x') + std::to_string(i)));
  }
  EXPECT_GT(shortOnes.bytes(), 50'000);
  EXPECT_LT(shortOnes.bytes(), 200'000);
  EXPECT_GT(longOnes.bytes(), 10'000'000);
  EXPECT_LT(longOnes.bytes(), 11'000'000);
}

}  // namespace
}  // namespace troupe::storage
