#include "supervisors/cli/actor_rows.hpp"

#include <gtest/gtest.h>

namespace troupe::supervisors {
namespace {

using bson::doc;

bson::Document row(const char* path, const char* parent, const char* phase, int handled = 0, int restarts = 0,
                   const char* error = "") {
  return doc("path", path, "parent", parent, "phase", phase, "type", "T", "handled", handled, "restarts", restarts,
             "lastError", error, "strategy", "");
}
const std::vector<bson::Document> kRows = {row("/node", "", "running"),
                                           row("/node/b", "/node", "parked", 0, 3, "disk full"),
                                           row("/node/a", "/node", "idle", 1200), row("/node/a/x", "/node/a", "idle")};

TEST(ActorTree, DrawsEachActorBelowItsParent) {
  EXPECT_EQ(renderActorTree(kRows, 100, Paint(false)),
            "/node    running\n"
            "├─ b     parked   restarted 3 times, disk full\n"
            "└─ a     idle     1,200 handled\n"
            "   └─ x  idle\n");
}

TEST(ActorTree, DrawsMembersAsTheFirstLevel) {
  const auto shown = treeOfMembers({doc("node", "a:1", "path", "/node", "parent", "", "phase", "running"),
                                    doc("node", "a:1", "path", "/node/storage", "parent", "/node", "phase", "idle"),
                                    doc("node", "b:2", "path", "/node", "unreachable", "HostUnreachable: refused")});
  const std::string tree = renderActorTree(shown, 100, Paint(false));
  EXPECT_EQ(tree,
            "a:1         running\n"
            "└─ storage  idle\n"
            "b:2         unreachable  HostUnreachable: refused\n");
  EXPECT_EQ(summarizeActors(shown), "3 actors: 2 well, 1 unreachable");
  EXPECT_EQ(actorsBelow(shown, (*findActor(shown, "a:1"))["path"].asString()).size(), 2U);
}

TEST(ActorTree, ShowsASubtreeAndOrphans) {
  EXPECT_EQ(renderActorTree(kRows, 100, Paint(false), "/node/a"), "/node/a  idle  1,200 handled\n└─ x     idle\n");
  EXPECT_EQ(renderActorTree({row("/lost/x", "/lost", "idle")}, 100, Paint(false)), "/lost/x  idle\n");
}

TEST(ActorTree, FindsAnActorByAsMuchAsNamesItAlone) {
  EXPECT_EQ((*findActor(kRows, "/node/a"))["path"].asString(), "/node/a");
  EXPECT_EQ((*findActor(kRows, "x"))["path"].asString(), "/node/a/x");
  EXPECT_EQ((*findActor(kRows, "a/x/"))["path"].asString(), "/node/a/x");
  EXPECT_EQ(findActor(kRows, "y"), nullptr);
  EXPECT_EQ(findActor({row("/n/w", "/n", ""), row("/m/w", "/m", "")}, "w"), nullptr);
}

TEST(ActorTree, SumsUpAndSorts) {
  EXPECT_EQ(summarizeActors(kRows), "4 actors: 3 well, 1 parked");
  EXPECT_EQ(summarizeActors({kRows[0]}), "1 actor, all well");
  EXPECT_EQ(sortedActors(kRows, "handled")[0]["path"].asString(), "/node/a");
  EXPECT_EQ(sortedActors(kRows, "restarts")[0]["path"].asString(), "/node/b");
  EXPECT_EQ(sortedActors(kRows, "path")[1]["path"].asString(), "/node/a");
}

TEST(ActorTree, DescribesFieldsForPeople) {
  const auto fields = doc("n", 1200, "at", bson::Date{1000}, "busyShare", 0.5, "s", "text", "none", bson::Null{});
  EXPECT_EQ(describeField(fields["n"], 0), "1,200");
  EXPECT_EQ(describeField(fields["at"], 6000), "5.0 s ago");
  EXPECT_EQ(describeField(fields["busyShare"], 0), "50.0%");
  EXPECT_EQ(describeField(fields["s"], 0), "text");
  EXPECT_EQ(describeField(fields["none"], 0), "");
}

}  // namespace
}  // namespace troupe::supervisors
