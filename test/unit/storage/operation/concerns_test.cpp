#include "storage/operation/concerns.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::storage {

namespace {

StatusWith<WriteConcern> write(std::string_view json) { return WriteConcern::parse(*bson::fromJson(json)); }
StatusWith<ReadConcern> read(std::string_view json) { return ReadConcern::parse(*bson::fromJson(json)); }

}  // namespace

TEST(WriteConcern, OneMemberIsEnoughWhereNothingIsSaid) {
  const auto plain = write("{}");
  ASSERT_TRUE(plain.isOK());
  EXPECT_EQ(plain->w, 1);
  EXPECT_FALSE(plain->given || plain->journaled || plain->majority || plain->timeout);
}

TEST(WriteConcern, IsReadFromADocument) {
  const auto given = write(R"({ "w" : "majority", "j" : true, "wtimeout" : 250 })");
  ASSERT_TRUE(given.isOK()) << given.status().toString();
  EXPECT_TRUE(given->given && given->majority && given->journaled);
  EXPECT_EQ(given->timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(write(R"({"wtimeout": 2147483647})")->timeout, std::chrono::milliseconds(2'147'483'647));
  EXPECT_FALSE(write(R"({"wtimeout": "1"})")->timeout) << "no number, no limit";
  EXPECT_FALSE(write(R"({"j": null})")->journaled);
  EXPECT_EQ(write(R"({"w": 0})")->w, 0);
  EXPECT_TRUE(write(R"({"fsync": 1})")->journaled);
  EXPECT_EQ(write(R"({"w": "elsewhere"})")->mode, "elsewhere");
  EXPECT_TRUE(write(R"({"w": null})")->named) << "a mode without a name";
  EXPECT_TRUE(write(R"({"w": {"dc": 1}})")->tagged);
  EXPECT_EQ(write(R"({"w": {"$numberDecimal": "1.5"}})")->w, 2) << "decimals are rounded";
}

TEST(WriteConcern, IsShownAsItWasGiven) {
  const auto shown = [](std::string_view json) {
    bson::Builder out;
    write(json)->appendTo(out);
    return bson::toRelaxedJson(out.finish());
  };
  EXPECT_EQ(shown(R"({"w": "majority", "j": true, "wtimeout": 250})"),
            R"({ "w" : "majority", "j" : true, "wtimeout" : 250 })");
  EXPECT_EQ(shown(R"({"w": 2})"), R"({ "w" : 2, "wtimeout" : 0 })");
  EXPECT_EQ(shown(R"({"w": "dc"})"), R"({ "w" : "dc", "wtimeout" : 0 })");
}

TEST(WriteConcern, OneWithoutWTakesThatOfTheDefault) {
  auto partial = *write(R"({"j": true})");
  EXPECT_FALSE(partial.namesW);
  EXPECT_TRUE(write(R"({"w": 1})")->namesW);
  partial.takeW(*write(R"({"w": "majority", "wtimeout": 5})"));
  EXPECT_TRUE(partial.majority && partial.journaled);
  EXPECT_FALSE(partial.timeout) << "no more than w";
}

TEST(WriteConcern, MalformedOnesAreRefused) {
  for (const char* bad : {R"({"w": -1})", R"({"w": 51})", R"({"w": {}})", R"({"w": {"dc": "x"}})", R"({"w": true})",
                          R"({"w": {"$numberDouble": "NaN"}})", R"({"wtimeout": 2147483648})"})
    EXPECT_EQ(write(bad).status(), ErrorCode::kFailedToParse) << bad;
  EXPECT_EQ(write(R"({"j": "yes"})").status(), ErrorCode::kTypeMismatch);
  EXPECT_EQ(write(R"({"x": 1})").status(), ErrorCode::kUnknownField);
  EXPECT_EQ(write(R"({"provenance": "elsewhere"})").status(), ErrorCode::kBadValue);
}

TEST(ReadConcern, IsReadFromADocument) {
  EXPECT_EQ(read("{}")->level, ReadConcernLevel::kLocal);
  EXPECT_FALSE(read("{}")->given);
  EXPECT_EQ(read(R"({"level": "majority"})")->level, ReadConcernLevel::kMajority);
  const auto after = read(R"({"level": "local", "afterClusterTime": {"$timestamp": {"t": 7, "i": 2}}})");
  ASSERT_TRUE(after.isOK()) << after.status().toString();
  EXPECT_EQ(after->afterClusterTime, (bson::Timestamp{7, 2}));
  const auto at = read(R"({"level": "snapshot", "atClusterTime": {"$timestamp": {"t": 7, "i": 2}}})");
  ASSERT_TRUE(at.isOK());
  EXPECT_TRUE(at->isSnapshot());
}

TEST(ReadConcern, ContradictionsAreRefused) {
  EXPECT_EQ(read(R"({"level": "newest"})").status(), ErrorCode::kBadValue);
  EXPECT_EQ(read(R"({"level": 1})").status(), ErrorCode::kTypeMismatch);
  EXPECT_EQ(read(R"({"lvel": "local"})").status(), ErrorCode::kUnknownField);
  EXPECT_EQ(read(R"({"provenance": 1})").status(), ErrorCode::kTypeMismatch);
  EXPECT_TRUE(read(R"({"level": null})").isOK());
  EXPECT_EQ(read(R"({"afterClusterTime": 1})").status(), ErrorCode::kTypeMismatch);
  EXPECT_EQ(read(R"({"level": "local", "atClusterTime": {"$timestamp": {"t": 7, "i": 2}}})").status(),
            ErrorCode::kInvalidOptions);
  EXPECT_EQ(read(R"({"level": "snapshot", "afterClusterTime": {"$timestamp": {"t": 7, "i": 2}},
                     "atClusterTime": {"$timestamp": {"t": 7, "i": 2}}})")
                .status(),
            ErrorCode::kInvalidOptions);
  EXPECT_EQ(read(R"({"level": "snapshot", "atClusterTime": {"$timestamp": {"t": 0, "i": 0}}})").status(),
            ErrorCode::kInvalidOptions);
}

}  // namespace troupe::storage
