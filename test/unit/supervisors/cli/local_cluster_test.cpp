#include "supervisors/cli/local_cluster.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

using bson::operator""_json;

/// A member of that port; a primary tells the members of the config by their names.
MemberReport member(int32_t port, std::string state, bson::Document status = {}) {
  return {.member = {.id = port, .port = port},
          .files = {},
          .pid = 1,
          .state = std::move(state),
          .lag = {},
          .status = std::move(status)};
}
const bson::Document kOfThree =
    R"({"members": [{"name": "127.0.0.1:1"}, {"name": "127.0.0.1:2"}, {"name": "127.0.0.1:3"}]})"_json;
const bson::Document kOfTwo = R"({"members": [{"name": "127.0.0.1:1"}, {"name": "127.0.0.1:2"}]})"_json;

TEST(LocalCluster, IsReadyWhenThereIsAPrimaryAndAllOfItsMembersHaveData) {
  EXPECT_TRUE(isReady({member(1, "PRIMARY", kOfThree), member(2, "SECONDARY"), member(3, "ARBITER")}));
  EXPECT_FALSE(isReady({member(1, "SECONDARY"), member(2, "SECONDARY"), member(3, "SECONDARY")})) << "no primary";
  for (const char* state : {"STARTUP2", "RECOVERING", "ROLLBACK", "down", "STARTUP", "no answer"})
    EXPECT_FALSE(isReady({member(1, "PRIMARY", kOfThree), member(2, "SECONDARY"), member(3, state)})) << state;
}

TEST(LocalCluster, DoesNotWaitForMembersThatWereTakenOutOfTheSet) {
  EXPECT_TRUE(isReady({member(1, "PRIMARY", kOfTwo), member(2, "SECONDARY"), member(3, "REMOVED")}));
}

TEST(LocalCluster, AMemberThatIsRecoveringIsBackAfterARestart) {
  const std::vector<MemberReport> all{member(1, "PRIMARY", kOfThree), member(2, "RECOVERING"), member(3, "STARTUP2")};
  EXPECT_TRUE(isBack(all[0], all));
  EXPECT_TRUE(isBack(all[1], all)) << "it may stay so until an operator helps it";
  EXPECT_FALSE(isBack(all[2], all));
}

TEST(LocalCluster, TellsTheStatesThatHaveChanged) {
  const std::vector<MemberReport> before{member(1, "PRIMARY"), member(2, "STARTUP2")};
  EXPECT_EQ(changedStates({}, before), "member 1: PRIMARY, member 2: STARTUP2");
  EXPECT_EQ(changedStates(before, before), "");
  EXPECT_EQ(changedStates(before, {member(1, "PRIMARY"), member(2, "SECONDARY")}), "member 2: SECONDARY");
}

TEST(LocalCluster, OfTwoPrimariesTheLaterTermCounts) {
  const std::vector<MemberReport> two{member(1, "PRIMARY", R"({"term": 3})"_json),
                                      member(2, "PRIMARY", R"({"term": 4})"_json)};
  EXPECT_EQ(primaryOf(two)->member.id, 2);
}

TEST(LocalCluster, FindsThePrimaryWhereverItIs) {
  const std::vector<MemberReport> reports{member(1, "SECONDARY"), member(2, "PRIMARY", kOfTwo)};
  ASSERT_NE(primaryOf(reports), nullptr);
  EXPECT_EQ(primaryOf(reports)->member.id, 2);
  const std::vector<MemberReport> none{member(1, "SECONDARY")};
  EXPECT_EQ(primaryOf(none), nullptr);
}

}  // namespace
}  // namespace troupe::supervisors
