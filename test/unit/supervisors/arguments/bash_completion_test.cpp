#include "supervisors/arguments/bash_completion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "supervisors/arguments/argument_parser.hpp"

namespace troupe::supervisors {
namespace {

using ::testing::HasSubstr;

TEST(BashCompletion, OffersCommandsTheirOptionsAndValuesThatAreFew) {
  ArgumentParser program("what it does", "program");
  std::string kind, file;
  auto& load = program.version("1").command("load", "loads", [] { return 0; });
  load.add("FILE", &file, "the file").add("-k,--kind", &kind, "of what kind", {.oneOf = {"big", "small"}});
  const char* argv[] = {"program", "--bash-completion"};
  const auto outcome = program.parse(2, argv);
  EXPECT_EQ(outcome.kind, ArgumentParser::Outcome::kTell);
  EXPECT_THAT(outcome.text, HasSubstr("\"load -k\"|\"load --kind\") COMPREPLY=($(compgen -W \"big small\""));
  EXPECT_THAT(outcome.text, HasSubstr("load-*) COMPREPLY=($(compgen -W \"-h --help -k --kind\""));
  EXPECT_THAT(outcome.text, HasSubstr("-*) COMPREPLY=($(compgen -W \"-h --help --version --help-all\""));
  EXPECT_THAT(outcome.text, HasSubstr("complete -o default -F _program program\n"));
}

TEST(BashCompletion, OffersTheWordsThatMayFollowACommand) {
  ArgumentParser program("what it does", "program");
  std::string action;
  program.command("act", "acts", [] { return 0; }).add("ACTION", &action, "what to do", {.oneOf = {"go", "stop"}});
  const char* argv[] = {"program", "--bash-completion"};
  EXPECT_THAT(program.parse(2, argv).text,
              HasSubstr("\"act act\") [[ $word == -* ]] || { COMPREPLY=($(compgen -W \"go stop\""));
}

}  // namespace
}  // namespace troupe::supervisors
