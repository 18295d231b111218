#include "storage/query/match/bit_mask.hpp"

#include <gtest/gtest.h>

#include <string>

#include "storage/query/match/match_parser.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

bson::Binary binary(const std::string& bytes) { return {bson::kBinaryGeneric, bytes}; }

bool matches(const char* op, const bson::Value& mask, const bson::Value& value) {
  const auto filter = parseMatch(bson::doc("a", bson::doc(op, mask)), {});
  EXPECT_TRUE(filter.isOK()) << filter.status().toString();
  return filter.isOK() && (*filter)->matches(bson::doc("a", value));
}

/// All four operators in the order all set, any set, all clear, any clear.
std::string answers(const bson::Value& mask, const bson::Value& value) {
  std::string text;
  for (const char* op : {"$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"})
    text += matches(op, mask, value) ? '1' : '0';
  return text;
}

TEST(BitMask, AnswersAlikeForNumbersPositionsAndBytes) {
  const bson::Value five[] = {bson::Value(5), bson::array(2, 0), bson::Value(binary(std::string("\x05\0\0", 3)))};
  for (const bson::Value& mask : five) {
    EXPECT_EQ(answers(mask, bson::Value(7)), "1100");
    EXPECT_EQ(answers(mask, bson::Value(4)), "0101");
    EXPECT_EQ(answers(mask, bson::Value(2)), "0011");
    EXPECT_EQ(answers(mask, bson::Value(-1)), "1100");
    EXPECT_EQ(answers(mask, bson::Value(binary("\x04"))), "0101");
    EXPECT_EQ(answers(mask, bson::Value(binary(""))), "0011");
  }
}

TEST(BitMask, BeyondAValueNegativeNumbersHaveOnesAndAllOthersZeros) {
  const bson::Value far[] = {bson::array(0, 64), bson::array(0, 2'147'483'647),
                             bson::Value(binary("\x01" + std::string(20, '\0') + "\x80"))};
  for (const bson::Value& mask : far) {
    EXPECT_EQ(answers(mask, bson::Value(-1)), "1100");
    EXPECT_EQ(answers(mask, bson::Value(-2)), "0101");
    EXPECT_EQ(answers(mask, bson::Value(1)), "0101");
    EXPECT_EQ(answers(mask, bson::Value(2)), "0011");
    EXPECT_EQ(answers(mask, bson::Value(binary("\x01"))), "0101");
  }
}

TEST(BitMask, AnEmptyMaskHoldsOfAllAndOfNoBit) {
  EXPECT_EQ(answers(bson::array(), bson::Value(7)), "1010");
  EXPECT_EQ(answers(bson::Value(binary(std::string(9, '\0'))), bson::Value(-7)), "1010");
}

TEST(BitMask, TakesTheMemoryOfItsBytes) {
  const std::string bytes(8'000'000, '\xff');
  const auto filter = bson::doc("a", bson::doc("$bitsAllSet", binary(bytes)));
  PeakMemory peak;
  peak.restart();
  const auto parsed = parseMatch(filter, {});
  ASSERT_TRUE(parsed.isOK());
  EXPECT_LT(peak.grown(), 40'000'000);  // the operand's copy and the mask; a number for each bit took 256 MB
}

TEST(BitMask, TestsOfLongValuesAreStepsOfTheirOperation) {
  TestWork work;
  const auto filter = parseMatch(bson::doc("a", bson::doc("$bitsAllSet", binary(std::string(1000, '\1')))), {});
  const auto document = bson::doc("a", binary(std::string(9'000'000, '\1')));
  MatchDetails details;
  details.work = &work;
  work.killed = true;
  (*filter)->matches(document, &details);
  EXPECT_EQ(details.error.code(), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace troupe::query
