#include "actors/server/shown_command.hpp"

#include <gtest/gtest.h>

namespace troupe::server {
namespace {

bson::Document shown(const bson::Document& command) {
  bson::Builder out;
  appendShownCommand(out, command);
  return out.finish();
}

TEST(ShownCommand, LeavesSecretsOutAndKeepsTheRest) {
  const bson::Document line = shown(bson::doc("createUser", "ada", "pwd", "secret", "roles", bson::array("read")));
  EXPECT_EQ(line.view().at("command.createUser").toStringOr(), "ada");
  EXPECT_EQ(line.view().at("command.pwd").toStringOr(), "xxx");
  EXPECT_TRUE(line.view().at("command.roles").is(bson::Type::kArray));
}

TEST(ShownCommand, LeavesSecretsOutOfCommandsWithinCommands) {
  const bson::Document create = bson::doc("createUser", "ada", "pwd", "secret");
  const bson::Document remote = shown(bson::doc("linkRun", "peer", "command", bson::doc("explain", create)));
  EXPECT_EQ(remote.view().at("command.command.explain.createUser").toStringOr(), "ada");
  EXPECT_EQ(remote.view().at("command.command.explain.pwd").toStringOr(), "xxx");
}

TEST(ShownCommand, ShowsTheFieldThatDistinctAsksFor) {
  EXPECT_EQ(shown(bson::doc("distinct", "people", "key", "city")).view().at("command.key").toStringOr(), "city");
}

TEST(ShownCommand, ShowsALogInWithinAHandshakeByItsNameOnly) {
  const bson::Document line = shown(bson::doc("hello", 1, "speculativeAuthenticate", bson::doc("payload", "n,,n=ada")));
  EXPECT_EQ(line.view().at("command.speculativeAuthenticate").toStringOr(), "xxx");
}

TEST(ShownCommand, ShowsLongFieldsByTheirSize) {
  const bson::Document line = shown(bson::doc("insert", "c", "comment", std::string(5000, 'x')));
  EXPECT_NE(line.view().at("command.comment").toStringOr().find("bytes)"), std::string_view::npos);
}

}  // namespace
}  // namespace troupe::server
