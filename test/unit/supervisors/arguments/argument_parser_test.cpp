#include "supervisors/arguments/argument_parser.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace troupe::supervisors {
namespace {

using Outcome = ArgumentParser::Outcome;

Outcome parse(ArgumentParser& program, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  return program.parse(static_cast<int>(arguments.size()), arguments.data());
}

struct ArgumentParserTest : testing::Test {
  ArgumentParser program{"what it does", "program"};
  int64_t count = 7, anyCount = 0;
  std::string name = "nobody", file;
  std::vector<std::string> list;
  bool flag = false, on = true;
};

TEST_F(ArgumentParserTest, ValuesGoWhereTheyBelongAndTheRestKeepsItsDefaults) {
  program.add("-n,--count", &count, "how many")
      .add("--name", &name, "who")
      .add("FILE", &file, "what")
      .add("--flag", &flag, "or not");
  EXPECT_EQ(parse(program, {"-n", "3", "data.json", "--flag"}).kind, Outcome::kRun);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(file, "data.json");
  EXPECT_EQ(name, "nobody");
  EXPECT_TRUE(flag);
  EXPECT_TRUE(program.given("--count"));
  EXPECT_FALSE(program.given("--name"));
}

TEST_F(ArgumentParserTest, AFlagCanBeTakenBack) {
  program.add("--on,!--off", &on, "whether");
  EXPECT_EQ(parse(program, {"--off"}).kind, Outcome::kRun);
  EXPECT_FALSE(on);
}

TEST_F(ArgumentParserTest, AListTakesOneValueEachTimeItIsMentioned) {
  program.add("--each", &list, "many").add("FILE", &file, "one");
  EXPECT_EQ(parse(program, {"--each", "a", "--each", "b", "data.json"}).kind, Outcome::kRun);
  EXPECT_EQ(list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file, "data.json");
}

TEST_F(ArgumentParserTest, MistakesAreToldWithWhatToDo) {
  const auto mistake = [&](std::vector<const char*> arguments) {
    const Outcome outcome = parse(program, std::move(arguments));
    EXPECT_EQ(outcome.kind, Outcome::kWrong);
    EXPECT_NE(outcome.text.find("; see `program --help`"), std::string::npos) << outcome.text;
    return outcome.text;
  };
  program.add("--count", &count, "how many", {.least = 1, .most = 9})
      .add("--name", &name, "who", {.oneOf = {"ann", "bob"}});
  program.add("--file", &file, "what",
              {.check = [](const std::string& text) { return text == "x" ? "" : "must be x"; }});
  EXPECT_NE(mistake({"--count", "10"}).find("10 is not between 1 and 9"), std::string::npos);
  EXPECT_NE(mistake({"--count", "0"}).find("0 is not between 1 and 9"), std::string::npos);
  EXPECT_NE(mistake({"--count", "ten"}).find("ten"), std::string::npos);
  program.add("--any", &anyCount, "how many");
  EXPECT_NE(mistake({"--any", "99999999999999999999"}).find("99999999999999999999 is out of range"), std::string::npos);
  EXPECT_NE(mistake({"--any", ""}).find("--any"), std::string::npos);
  EXPECT_NE(mistake({"--name", "eve"}).find("eve"), std::string::npos);
  EXPECT_NE(mistake({"--file", "y"}).find("must be x"), std::string::npos);
  EXPECT_NE(mistake({"--other"}).find("--other"), std::string::npos);
  program.add("--needed", &flag, "it must be there", {.required = true});
  EXPECT_NE(mistake({}).find("--needed"), std::string::npos);
}

TEST_F(ArgumentParserTest, TheEnvironmentGivesWhatTheCommandLineDoesNot) {
  program.add("--name", &name, "who", {.variable = "TROUPE_TEST_NAME"});
  setenv("TROUPE_TEST_NAME", "ann", 1);
  EXPECT_EQ(parse(program, {}).kind, Outcome::kRun);
  EXPECT_EQ(name, "ann");
  EXPECT_EQ(parse(program, {"--name", "bob"}).kind, Outcome::kRun);
  EXPECT_EQ(name, "bob");
  unsetenv("TROUPE_TEST_NAME");
}

TEST_F(ArgumentParserTest, HelpAndVersionAreToldInsteadOfRunning) {
  program.add("--count", &count, "how many", {.showDefault = true, .valueName = "N", .least = 1})
      .version("program 1.0")
      .footer("the end");
  const Outcome help = parse(program, {"--help"});
  EXPECT_EQ(help.kind, Outcome::kTell);
  for (const char* part : {"what it does", "--count N", "at least 1", "=7", "how many", "the end"})
    EXPECT_NE(help.text.find(part), std::string::npos) << part << " is not in\n" << help.text;
  const Outcome version = parse(program, {"--version"});
  EXPECT_EQ(version.kind, Outcome::kTell);
  EXPECT_EQ(version.text, "program 1.0\n");
}

TEST_F(ArgumentParserTest, OneOfTheCommandsRuns) {
  program.command("first", "does little", [] { return 1; }).add("--name", &name, "who");
  program.command("second", "does more", [&] { return static_cast<int>(count); }).add("--count", &count, "how many");
  EXPECT_EQ(parse(program, {"second", "--count", "5"}).kind, Outcome::kRun);
  ASSERT_NE(program.chosen(), nullptr);
  EXPECT_EQ(program.chosen()->name(), "second");
  EXPECT_EQ(program.chosen()->run(), 5);
  EXPECT_EQ(parse(program, {"third"}).text, "there is no command 'third'; `program --help` lists them");
  EXPECT_NE(parse(program, {"first", "--count", "5"}).text.find("; see `program first --help`"), std::string::npos);
  EXPECT_EQ(parse(program, {}).kind, Outcome::kWrong);
}

TEST_F(ArgumentParserTest, ACommandCanTakeTheRestUnread) {
  program.command("other", "is a program of its own", [] { return 0; }).takesRest(list);
  EXPECT_EQ(parse(program, {"other", "--help", "--scenario", "x", "y"}).kind, Outcome::kRun);
  EXPECT_EQ(list, (std::vector<std::string>{"--help", "--scenario", "x", "y"}));
}

}  // namespace
}  // namespace troupe::supervisors
