#include "test/model/reduction.hpp"

#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/mutation.hpp"
#include "test/model/subjects/election.hpp"

namespace troupe::model {
namespace {

using replication::Topology;
using replication::VoteReply;
using replication::VoteRequest;
using Bug = Mutation<Topology>;
using Now = machines::Snapshot<Topology>;

Report explored(bool reduced, int crashes = 0) {
  return check(elections({.members = votingMembers(3), .terms = 1, .crashes = crashes, .reduced = reduced}));
}

TEST(Reduction, OfStatesThatDifferInNamesOnlyOneIsExplored) {
  const Report all = explored(false), some = explored(true);
  EXPECT_TRUE(all.clean()) << all;
  EXPECT_TRUE(some.clean()) << some;
  EXPECT_LT(some.states, all.states / 3) << "of 6 ways to call three nodes";
}

TEST(Reduction, FindsABugAsSoonAndTellsItWithoutChangingNames) {
  const Bug forgetsVotes = Bug::on<VoteRequest>([](const Bug::Decide& real, const Now& now, const VoteRequest& e) {
    auto step = real(now, e);
    step.document.reset();
    return step;
  });
  const Report all = explored(false, 1), some = explored(true, 1);
  EXPECT_NE(all.broken, "");
  EXPECT_NE(some.broken, "");
  EXPECT_EQ(some.depth, all.depth) << all << some;
  EXPECT_NE(some.story.find("n3"), std::string::npos) << some;
}

TEST(Reduction, NoticesAMachineThatIsNotSymmetric) {
  const Bug prefersItself = Bug::on<VoteRequest>([](const Bug::Decide& real, const Now& now, const VoteRequest& e) {
    return now.document.self == "n2" ? Topology::stay() : real(now, e);
  });
  EXPECT_NE(explored(true).broken.find("is not symmetric"), std::string::npos) << explored(true);
}

TEST(Reduction, NoticesAMessageThatIsCalledInertAndIsNot) {
  Model model = elections({.members = votingMembers(3), .terms = 1});
  model.inertOnce<Topology, VoteReply>([](const Now&, const VoteReply&) { return true; });
  EXPECT_NE(check(model).broken.find("is not inert"), std::string::npos);
}

TEST(Reduction, NoticesAMessageThatDoesNotStayInert) {
  Model model = elections({.members = votingMembers(3), .terms = 1});
  model.inertOnce<Topology, VoteReply>([](const Now& now, const VoteReply&) {
    return now.memory.phase == Topology::Phase::kFollower && now.memory.term == 0;
  });
  EXPECT_NE(check(model).broken.find("is not inert for ever"), std::string::npos);
}

}  // namespace
}  // namespace troupe::model
