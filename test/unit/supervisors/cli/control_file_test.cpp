#include "supervisors/cli/control_file.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

using bson::operator""_json;

std::vector<Paragraph> parse(std::string_view text) {
  ParagraphReader reader;
  std::vector<Paragraph> paragraphs;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    if (auto paragraph = reader.line(text.substr(0, newline))) paragraphs.push_back(std::move(*paragraph));
    text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
  }
  if (auto paragraph = reader.end()) paragraphs.push_back(std::move(*paragraph));
  return paragraphs;
}

TEST(ControlFile, SeparatesParagraphsByBlankLines) {
  const auto paragraphs = parse("A: 1\nB: 2\n\n \t\n\nA: 3\r\n");
  ASSERT_EQ(paragraphs.size(), 2u);
  EXPECT_EQ(paragraphs[0].size(), 2u);
  EXPECT_EQ(paragraphs[1][0].value, "3");
}

TEST(ControlFile, JoinsContinuationLinesAndIgnoresTheRest) {
  const auto paragraphs = parse(" stray\n# comment\nDescription: short\n long\n  indented\nno field\n");
  ASSERT_EQ(paragraphs.size(), 1u);
  ASSERT_EQ(paragraphs[0].size(), 1u);
  EXPECT_EQ(paragraphs[0][0].value, "short\nlong\n indented");
}

TEST(ControlFile, NamesEachRelatedPackageOnce) {
  EXPECT_EQ(relationNames("libc6 (>= 2.34), a | b (<< 1), python3:any, c [amd64], d <!nocheck>, libc6 (<< 3),"),
            (std::vector<std::string>{"libc6", "a", "b", "python3", "c", "d"}));
  EXPECT_TRUE(relationNames("").empty());
}

TEST(ControlFile, MakesADocumentOfAPackage) {
  const auto paragraphs = parse(
      "Package: tool\nVersion: 1:2-3\nArchitecture: amd64\nMaintainer: Ann B <ann@example.org>\nInstalled-Size: "
      "3\nSize: 100\n"
      "Depends: libc6 (>= 2)\nPre-Depends: dpkg\nTag: role::program,\n use::x\nSection: utils\nEssential: "
      "yes\nDescription: a tool\n more\n");
  const auto document = packageDocument(paragraphs.at(0));
  ASSERT_TRUE(document);
  EXPECT_EQ(bson::toRelaxedJson(*document),
            bson::toRelaxedJson(R"({"_id": "tool:amd64", "name": "tool", "version": "1:2-3",
    "architecture": "amd64", "section": "utils", "essential": true, "installedSize": 3072, "size": 100,
    "maintainer": {"name": "Ann B", "email": "ann@example.org"}, "depends": ["libc6", "dpkg"],
    "tags": ["role::program", "use::x"], "description": "a tool", "longDescription": "more"})"_json));
  EXPECT_EQ((*document)["installedSize"].type(), bson::Type::kInt64);
}

TEST(ControlFile, LeavesOutWhatIsMissingAndWhatIsNotInstalled) {
  EXPECT_EQ(packageDocument(parse("Package: a\nVersion: 1\nArchitecture: all\nInstalled-Size: many\n").at(0)),
            R"({"_id": "a:all", "name": "a", "version": "1", "architecture": "all"})"_json);
  EXPECT_FALSE(packageDocument(parse("Package: a\n").at(0)));
  EXPECT_FALSE(packageDocument(parse("Package: a\nVersion: 1\nStatus: deinstall ok config-files\n").at(0)));
  EXPECT_TRUE(packageDocument(parse("Package: a\nVersion: 1\nStatus: install ok installed\n").at(0)));
}

}  // namespace
}  // namespace troupe::supervisors
