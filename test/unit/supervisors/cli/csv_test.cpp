#include "supervisors/cli/csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

using bson::operator""_json;
using Record = std::vector<std::string>;

std::vector<Record> read(const std::string& text, char separator = ',') {
  std::istringstream in(text);
  CsvReader reader(in, separator);
  std::vector<Record> records;
  for (auto record = reader.next(); record.isOK() && !record->empty(); record = reader.next())
    records.push_back(*record);
  return records;
}

TEST(Csv, SplitsFieldsWithQuotesSeparatorsAndNewlinesInside) {
  EXPECT_EQ(read("a,b\r\n\"x, \"\"y\"\"\nz\",\n\n,last"),
            (std::vector<Record>{{"a", "b"}, {"x, \"y\"\nz", ""}, {"", "last"}}));
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a\tb\n",
                 '\t'),
            (std::vector<Record>{{"a", "b"}}));
  EXPECT_TRUE(read("").empty());
}

TEST(Csv, KnowsTheLineOfARecord) {
  std::istringstream in("a\n\n\"two\nlines\"\nb\n");
  CsvReader reader(in, ',');
  for (const int64_t line : {1, 3, 5}) {
    ASSERT_TRUE(reader.next().isOK());
    EXPECT_EQ(reader.line(), line);
  }
}

TEST(Csv, RefusesBrokenQuotes) {
  std::istringstream open("a,\"b\nc"), after("\"a\"b\n");
  EXPECT_EQ(CsvReader(open, ',').next().status(), ErrorCode::kFailedToParse);
  EXPECT_EQ(CsvReader(after, ',').next().status(), ErrorCode::kFailedToParse);
}

TEST(Csv, InfersTypesWithoutLosingAnything) {
  const auto json = [](std::string_view text) { return bson::toCanonicalJson(bson::doc("", inferValue(text))); };
  const auto same = [&](std::string_view text, const bson::Document& value) {
    EXPECT_EQ(json(text), bson::toCanonicalJson(value)) << text;
  };
  same("42", bson::doc("", 42));
  same("-7", bson::doc("", -7));
  same("3000000000", bson::doc("", int64_t{3000000000}));
  same("1.5", bson::doc("", 1.5));
  same("1e3", bson::doc("", 1000.0));
  same("true", bson::doc("", true));
  same("2024-02-29", bson::doc("", bson::Date{1709164800000}));
  same("2024-02-29T12:00:00.250Z", bson::doc("", bson::Date{1709208000250}));
  same("2024-02-29T12:00:00+02:00", bson::doc("", bson::Date{1709200800000}));
  for (const char* text : {"007", "-0", "+1", "1.2.3", "99999999999999999999", "2023-02-29", "2024-02-29x",
                           "2024-02-29T25:00:00Z", "nan", "inf", "True", " 1", "-"})
    same(text, bson::doc("", text));
  EXPECT_FALSE(inferValue("").ok());
}

TEST(Csv, NestsColumnsWithDots) {
  EXPECT_EQ(*csvDocument({"_id", "at.city", "at.zip", "gone"}, {"1", "Rome", "00100", ""}, true),
            R"({"_id": 1, "at": {"city": "Rome", "zip": "00100"}})"_json);
  EXPECT_EQ(csvDocument({"a", "a.b"}, {"1", "2"}, true).status(), ErrorCode::kFailedToParse);
  EXPECT_EQ(csvDocument({"a"}, {"1", "2"}, true).status(), ErrorCode::kFailedToParse);
}

TEST(Csv, WritesWhatItReads) {
  const auto text = [](const bson::Document& document) { return csvText(document.view().first()); };
  EXPECT_EQ(text(bson::doc("", 1.5)), "1.5");
  EXPECT_EQ(text(bson::doc("", "x")), "x");
  EXPECT_EQ(text(bson::doc("", bson::Date{1709164800000})), "2024-02-29T00:00:00Z");
  EXPECT_EQ(csvText({}), "");
  EXPECT_EQ(csvQuoted("plain"), "plain");
  EXPECT_EQ(csvQuoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
}

}  // namespace
}  // namespace troupe::supervisors
