#include "supervisors/cli/table.hpp"

#include <gtest/gtest.h>

#include "supervisors/cli/progress.hpp"

namespace troupe::supervisors {
namespace {

const Paint kPlain(false);

TEST(Table, AlignsColumnsByWhatIsSeen) {
  Table table({{"name"}, {"n", true}});
  table.add({"Åse", "7"});
  table.add({"日本", "1,000"});
  EXPECT_EQ(table.render(80, kPlain), "  name      n\n  ────  ─────\n  Åse       7\n  日本  1,000\n");
}

TEST(Table, CutsTheWidestColumnWhenItIsTooWide) {
  Table table({{"a", false, 4}, {"b", false, 4}});
  table.add({"short", "a long text of many words"});
  const std::string text = table.render(22, kPlain, "");
  EXPECT_NE(text.find("short  a long text of…"), std::string::npos) << text;
}

TEST(Table, ToleratesMissingCells) {
  Table table({{"a"}, {"b"}});
  table.add({"x"});
  EXPECT_EQ(table.render(80, kPlain, ""), "a  b\n─  ─\nx\n");
}

TEST(Terminal, WritesNumbersForPeople) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(1234567), "1,234,567");
  EXPECT_EQ(formatCount(-1234), "-1,234");
  EXPECT_EQ(formatCount(-123), "-123");
  EXPECT_EQ(formatBytes(512), "512 B");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(1048575), "1.0 MiB");
  EXPECT_EQ(formatDuration(0.00025), "250 µs");
  EXPECT_EQ(formatDuration(0.0123), "12.3 ms");
  EXPECT_EQ(formatDuration(4.25), "4.2 s");
  EXPECT_EQ(formatDuration(200), "3 min 20 s");
  EXPECT_EQ(formatDuration(18720), "5 h 12 min");
}

TEST(Terminal, CutsTextAtAColumn) {
  EXPECT_EQ(fitTo("abc", 3), "abc");
  EXPECT_EQ(fitTo("abcd", 3), "ab…");
  EXPECT_EQ(fitTo("日本語", 4), "日…");
  EXPECT_EQ(fitTo("abc", 0), "");
}

TEST(Progress, ShowsShareRateAndWhatIsLeft) {
  const auto line = progressLine({.what = "packages", .items = 1000, .done = 50, .total = 100, .seconds = 2}, 200);
  for (const char* part : {"packages", "50%", "1,000", "500/s", "2.0 s left"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_EQ(progressLine({.what = "codes", .items = 10, .seconds = 1}, 200), "  codes  10  10/s");
  EXPECT_LE(displayWidth(progressLine({.what = "packages", .items = 1, .done = 1, .total = 2, .seconds = 1}, 30)), 30u);
}

}  // namespace
}  // namespace troupe::supervisors
