#include "supervisors/cli/actor_details.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

bson::Document fromText(std::string_view json) { return *bson::fromJson(json); }

TEST(ActorDetailsText, ShowsRowStateMachineAndMessages) {
  const auto details = fromText(R"({
    "row": {"path": "/node/x", "phase": "asking", "handled": 12}, "state": {"lease": "a"},
    "machine": {"name": "errand", "phases": [{"name": "asking", "meaning": "the peer has not agreed"},
                                             {"name": "telling", "meaning": "waits"}], "transitions": []},
    "received": [{"message": "Agreed", "peer": "/peer", "peerNode": "b:1", "at": {"$date": {"$numberLong": "1000"}}}],
    "sent": []})");
  EXPECT_EQ(renderActorDetails(details, 6000, 100, Paint(false)),
            "path              /node/x\n"
            "phase             asking\n"
            "handled           12\n"
            "\n"
            "state\n"
            "  lease             a\n"
            "\n"
            "machine errand\n"
            "> asking              the peer has not agreed\n"
            "  telling             waits\n"
            "\n"
            "received, newest first\n"
            "  message  peer           when\n"
            "  ───────  ────────  ─────────\n"
            "  Agreed   b:1/peer  5.0 s ago\n");
}

TEST(ActorDetailsText, TellsTransitionsAsAStory) {
  const std::vector<bson::Document> newestFirst = {
      fromText(
          R"({"at": {"$date": {"$numberLong": "2500"}}, "path": "/x", "event": "TooLate", "from": "asking", "to": "",
                "revision": 0, "effects": [], "outcome": "ExceededTimeLimit: nobody answered"})"),
      fromText(R"({"at": {"$date": {"$numberLong": "1000"}}, "path": "/x", "event": "Nudge", "from": "asking",
                "to": "asking", "revision": 2, "cause": "b:1/peer", "effects": ["reply Sum"]})"),
      fromText(R"({"at": {"$date": {"$numberLong": "0"}}, "path": "/x", "event": "resumed", "from": "", "to": "asking",
                "revision": 0, "effects": []})")};
  EXPECT_EQ(renderTransitions(newestFirst, false, Paint(false)),
            "1970-01-01 00:00:00.000  resumed  → asking\n"
            "1970-01-01 00:00:01.000  Nudge  asking  document 2  from b:1/peer\n"
            "    reply Sum\n"
            "1970-01-01 00:00:02.500  TooLate  asking → end  ExceededTimeLimit: nobody answered\n");
  EXPECT_NE(renderTransitions(newestFirst, true, Paint(false)).find("  /x  resumed"), std::string::npos);
  const std::vector<bson::Document> ofMembers = {
      fromText(R"({"node": "c:3", "path": "/node", "unreachable": "HostUnreachable: refused"})"),
      fromText(R"({"at": {"$date": {"$numberLong": "0"}}, "node": "b:2", "path": "/x", "event": "resumed", "from": "",
                   "to": "asking", "revision": 0, "effects": []})")};
  EXPECT_EQ(renderTransitions(ofMembers, true, Paint(false)),
            "1970-01-01 00:00:00.000  b:2/x  resumed  → asking\n"
            "c:3  cannot be asked: HostUnreachable: refused\n");
}

}  // namespace
}  // namespace troupe::supervisors
