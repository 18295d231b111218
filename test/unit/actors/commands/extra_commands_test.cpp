#include "actors/commands/extra_commands.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::commands {
namespace {

TEST(ExtraCommands, MayNotBeAddedOnceTheTableIsInUse) {
  static constexpr Command kMore[] = {{.name = "more", .summary = "one more"}};
  ASSERT_NE(builtinCommands().find("ping"), nullptr);
  EXPECT_THROW(addCommands(kMore), std::logic_error);
  EXPECT_EQ(builtinCommands().find("more"), nullptr);
}

}  // namespace
}  // namespace troupe::commands
