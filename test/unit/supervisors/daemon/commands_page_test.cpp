#include "supervisors/daemon/commands_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/commands/builtin.hpp"

namespace troupe::supervisors {

using ::testing::HasSubstr;

TEST(CommandsPage, DescribesEveryCommandOfTheServer) {
  const server::CommandTable table = commands::makeCommandTable();
  const std::string page = commandsPage(table);
  for (const auto* command : table.all())
    EXPECT_THAT(page, HasSubstr("## `" + std::string(command->name) + "`\n\n" + std::string(command->summary)));
}

TEST(CommandsPage, TellsRightsArgumentsAndPlace) {
  constexpr server::Argument kArguments[] = {server::numberArg("size").required(),
                                             server::eitherArg("hint", server::kStringArg | server::kDocumentArg),
                                             server::anyArg("x")};
  const server::Command one{.name = "make",
                            .alias = "do",
                            .summary = "makes it",
                            .requirement = {server::Requirement::Target::kCluster, auth::Action::kShutdown},
                            .adminOnly = true,
                            .testOnly = true,
                            .stableApi = true,
                            .arguments = kArguments,
                            .run = nullptr};
  const std::string page = commandsPage(server::CommandTable({std::span(&one, 1)}));
  EXPECT_THAT(page, HasSubstr("- needs: `shutdown` on the cluster\n"));
  EXPECT_THAT(page, HasSubstr("- arguments: **`size`** number, `hint` string or document, `x` any\n"));
  EXPECT_THAT(
      page, HasSubstr("- also called `do`; *API V1*; on the `admin` database only; only with `enableTestCommands`\n"));
}

}  // namespace troupe::supervisors
