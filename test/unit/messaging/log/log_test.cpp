#include "messaging/log/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "messaging/bson/json.hpp"

namespace troupe::log {
namespace {

class LogTest : public ::testing::Test {
 protected:
  bson::Document written(bson::View attributes) {
    log.info(Component::kNetwork, 1, "test", "message", attributes);
    const auto lines = log.recentLines();
    EXPECT_LE(lines.back().size(), 66u * 1024) << lines.back().substr(0, 200);
    const auto parsed = bson::fromJson(lines.back());
    EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
    return parsed.isOK() ? *parsed : bson::Document();
  }
  Log log{{.file = "/dev/null"}, [] { return 0; }};
};

TEST_F(LogTest, SmallLinesAreWrittenAsTheyAre) {
  const auto line = written(bson::doc("text", "short", "n", 5));
  EXPECT_EQ(line.view().at("attr.text").toStringOr(), "short");
  EXPECT_FALSE(line["truncated"].ok());
}

std::string contentsOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(LogTest, RotationBeginsANewFileAndKeepsTheOldOne) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("log_test." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "t.log";
  {
    Log rotated({.file = file}, [] { return int64_t{1704067200000}; });
    const auto say = [&](std::string_view what) { rotated.info(Component::kNetwork, 1, "test", what); };
    say("first");
    EXPECT_EQ(*rotated.rotate(), file + ".2024-01-01T00-00-00");
    say("second");
    EXPECT_EQ(*rotated.rotate(), file + ".2024-01-01T00-00-00-2") << "within the same second";
    say("third");
    const std::string old = contentsOf(file + ".2024-01-01T00-00-00");
    EXPECT_NE(old.find("first"), std::string::npos);
    EXPECT_EQ(old.find("second"), std::string::npos);
    EXPECT_NE(contentsOf(file + ".2024-01-01T00-00-00-2").find("second"), std::string::npos);
    EXPECT_NE(contentsOf(file).find("third"), std::string::npos);
    EXPECT_EQ(contentsOf(file).front(), '{') << "lines look as before";
    std::filesystem::rename(file, file + ".moved");
    EXPECT_TRUE(rotated.rotate().isOK()) << "another program has moved it";
    say("fourth");
    EXPECT_NE(contentsOf(file).find("fourth"), std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(LogTest, WhatIsNoFileIsNotRotated) {
  EXPECT_EQ(log.rotate().status().code(), ErrorCode::kIllegalOperation);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  Log standard({}, [] { return 0; });
  EXPECT_EQ(standard.rotate().status().code(), ErrorCode::kIllegalOperation);
}

TEST_F(LogTest, LongTextsAreCutAndSaySo) {
  const auto line = written(bson::doc("text", std::string(100'000, 'x'), "n", 5));
  EXPECT_EQ(line.view().at("attr.text").toStringOr(), std::string(10 * 1024, 'x'));
  EXPECT_EQ(line.view().at("attr.n").toInt64(), 5);
  EXPECT_EQ(line.view().at("truncated.text.type").toStringOr(), "string");
  EXPECT_GE(line.view().at("truncated.text.size").toInt64(), 100'000);
  EXPECT_FALSE(line.view().at("truncated.n").ok());
}

TEST_F(LogTest, TextsThatGrowAsJsonAreCutSooner) {
  const auto line = written(bson::doc("a", std::string(250'000, '\x01'), "b", std::string(250'000, '\x01'), "c",
                                      std::string(250'000, '\x01'), "d", std::string(250'000, '\x01'), "n", 5));
  EXPECT_GT(line.view().at("attr.a").toStringOr().size(), 3'000u);
  EXPECT_EQ(line.view().at("attr.n").toInt64(), 5) << "small ones behind them are shown";
}

TEST_F(LogTest, CharactersAreNotCutInHalf) {
  std::string text = "x";
  for (int i = 0; i < 10'000; ++i) text += "\xc3\xa9";
  const auto line = written(bson::doc("text", text));
  EXPECT_EQ(line.view().at("attr.text").toStringOr().size(), 10u * 1024 - 1);
}

TEST_F(LogTest, DocumentsAreCutToo) {
  bson::Builder many;
  for (int i = 0; i < 20'000; ++i) many.append("field" + std::to_string(i), i);
  const auto line = written(bson::doc("command", many.finish(), "durationMillis", 7));
  EXPECT_EQ(line.view().at("attr.command.field9").toInt64(), 9);
  EXPECT_FALSE(line.view().at("attr.command.field19999").ok());
  EXPECT_EQ(line.view().at("truncated.command.type").toStringOr(), "object");
  EXPECT_EQ(line.view().at("attr.durationMillis").toInt64(), 7);
}

TEST_F(LogTest, OtherLargeValuesAndNamesAreLeftOut) {
  const std::string bytes(100'000, 'b');
  const auto line = written(bson::doc("binary", bson::Binary{bson::kBinaryGeneric, bytes}, "named",
                                      bson::doc(std::string(100'000, 'n'), 1, "small", 2)));
  EXPECT_FALSE(line.view().at("attr.binary").ok());
  EXPECT_TRUE(line.view().at("truncated.binary").ok());
  EXPECT_EQ(line.view().at("attr.named.small").toInt64(), 2);
}

}  // namespace
}  // namespace troupe::log
