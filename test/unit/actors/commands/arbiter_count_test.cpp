// How many arbiters a config may have that is given to a member.
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
namespace {

constexpr int64_t kInvalidConfig = 93;
constexpr std::string_view kReason = "A set may have one arbiter";

/// The member n1:1 and so many arbiters, none of which is there.
std::string configWith(int arbiters, int64_t version, const char* setting = "") {
  std::string members = R"({"_id": 0, "host": "n1:1"})";
  for (int i = 1; i <= arbiters; ++i)
    members +=
        R"(, {"_id": )" + std::to_string(i) + R"(, "host": "a)" + std::to_string(i) + R"(:1", "arbiterOnly": true})";
  return R"({"_id": "rs", "version": )" + std::to_string(version) + R"(, "members": [)" + members + "]" + setting + "}";
}

class ArbiterCountTest : public CommandTest {
 protected:
  ArbiterCountTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}

  void allow(bool several) {
    ASSERT_TRUE(server.parameters.setFromText("allowMultipleArbiters", several ? "true" : "false").isOK());
  }
  int64_t version() { return run(R"({"replSetGetConfig": 1})", "admin").view().at("config.version").toInt64(); }
  bson::Document reconfigure(int arbiters, bool force, const char* setting = "") {
    return run(R"({"replSetReconfig": )" + configWith(arbiters, version() + 1, setting) + R"(, "force": )" +
                   (force ? "true}" : "false}"),
               "admin");
  }
  static bool isRefused(const bson::Document& reply) {
    const bool says = reply["errmsg"].toStringOr().find(kReason) != std::string_view::npos;
    EXPECT_TRUE(!says || reply["code"].toInt64() == kInvalidConfig) << bson::toRelaxedJson(reply);
    return says;
  }
};

TEST_F(ArbiterCountTest, AFirstConfigHasOneAtMost) {
  const auto initiate = [this](int arbiters) {
    return run(R"({"replSetInitiate": )" + configWith(arbiters, 1) + "}", "admin");
  };
  EXPECT_TRUE(isRefused(initiate(2)));
  EXPECT_EQ(run(R"({"replSetGetStatus": 1})", "admin")["codeName"].toStringOr(), "NotYetInitialized");
  EXPECT_FALSE(isRefused(initiate(1)));
  allow(true);
  EXPECT_FALSE(isRefused(initiate(2)));
}

TEST_F(ArbiterCountTest, ALaterConfigAddsNoSecondOneNorByForce) {
  becomePrimary(server);
  server.node.advance(1s);
  const int64_t before = version();
  EXPECT_TRUE(isRefused(reconfigure(2, false)));
  EXPECT_TRUE(isRefused(reconfigure(2, true)));
  EXPECT_EQ(version(), before);
  EXPECT_FALSE(isRefused(reconfigure(1, false)));
}

TEST_F(ArbiterCountTest, ASetThatHasSeveralCanBeChanged) {
  becomePrimary(server);
  server.node.advance(1s);
  allow(true);
  ASSERT_TRUE(reconfigure(2, true)["ok"].truthy());
  allow(false);
  const auto changed = reconfigure(2, true, R"(, "settings": {"chainingAllowed": false})");
  EXPECT_TRUE(changed["ok"].truthy()) << bson::toRelaxedJson(changed);
  EXPECT_TRUE(isRefused(reconfigure(3, true)));
  EXPECT_TRUE(reconfigure(1, true)["ok"].truthy());
  EXPECT_TRUE(isRefused(reconfigure(2, true))) << "it has one now";
}

}  // namespace
}  // namespace troupe::commands
