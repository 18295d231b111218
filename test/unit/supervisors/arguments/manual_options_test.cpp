#include "supervisors/arguments/manual_options.hpp"

#include <gtest/gtest.h>

#include <string>

#include "supervisors/arguments/argument_parser.hpp"

namespace troupe::supervisors {
namespace {

TEST(ManualOptions, ListWhatIsDeclaredWithValuesAndDefaults) {
  ArgumentParser program("what it does", "program");
  int64_t count = 7;
  std::string name;
  bool on = true;
  program.add("-n,--count", &count, "how many", {.showDefault = true})
      .add("--name", &name, ".dots and \\ are quoted", {.valueName = "WHO", .oneOf = {"ann", "bob"}})
      .add("--on,!--off", &on, "whether");
  const char* argv[] = {"program", "--manual-options"};
  const auto outcome = program.parse(2, argv);
  EXPECT_EQ(outcome.kind, ArgumentParser::Outcome::kTell);
  EXPECT_EQ(outcome.text,
            ".SH OPTIONS\n"
            ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint this help and exit\n"
            ".TP\n\\fB\\-n\\fR, \\fB\\-\\-count\\fR \\fINUMBER\\fR\nhow many (default: 7)\n"
            ".TP\n\\fB\\-\\-name\\fR \\fIWHO\\fR\n\\&.dots and \\e are quoted; one of \\fBann bob\\fR\n"
            ".TP\n\\fB\\-\\-on\\fR, \\fB\\-\\-off\\fR\nwhether\n");
}

TEST(ManualOptions, CommandsHaveSectionsOfTheirOwn) {
  ArgumentParser program("what it does", "program");
  std::string file;
  program.version("1").command("load", "loads", [] { return 0; }).add("FILE", &file, "the file");
  const std::string text = manualOptions(program);
  EXPECT_NE(text.find("\\fB\\-\\-help\\-all\\fR"), std::string::npos) << text;
  EXPECT_NE(text.find(".SH COMMANDS\n.SS program load\nloads\n.TP\n\\fIFILE\\fR\nthe file\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace troupe::supervisors
