#include "actors/replication/election_figures.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace troupe::replication::test {
namespace {

/// From one phase to another, in the same term or a later one.
void step(ElectionFigures& figures, Topology::Phase from, Topology::Phase to, int64_t termsLater = 0) {
  Snapshot<Topology> before;
  before.memory.phase = from;
  machines::Outcome<Topology> outcome;
  outcome.next.memory.phase = to;
  outcome.next.memory.term = before.memory.term + termsLater;
  figures.count(before, outcome);
}

TEST(ElectionFigures, CountHowOftenTheNodeBecameASecondary) {
  using enum Topology::Phase;
  ElectionFigures figures;
  step(figures, kFollower, kFollower);
  EXPECT_EQ(figures.timesSecondary(), 0);
  step(figures, kPrimary, kFollower);
  EXPECT_EQ(figures.timesSecondary(), 1);
  step(figures, kFollower, kPrimary);
  EXPECT_EQ(figures.timesSecondary(), 1);
}

/// ELE-036.
TEST(ElectionFigures, CountStepDownsAndThoseThatALaterTermCaused) {
  using enum Topology::Phase;
  ElectionFigures figures;
  const auto counted = [&] {
    bson::Builder out;
    figures.appendElections(out);
    const bson::Document all = out.finish();
    return std::pair(all["numStepDowns"].toInt64(-1), all["numStepDownsCausedByHigherTerm"].toInt64(-1));
  };
  step(figures, kFollower, kFollower, 1);
  EXPECT_EQ(counted(), std::pair(int64_t{0}, int64_t{0}));
  step(figures, kPrimary, kFollower);
  EXPECT_EQ(counted(), std::pair(int64_t{1}, int64_t{0}));
  step(figures, kPrimary, kFollower, 1);
  EXPECT_EQ(counted(), std::pair(int64_t{2}, int64_t{1}));
}

/// ELE-036. Of the last change of the role alone.
TEST(ElectionFigures, TellWhichOperationsAChangeOfTheRoleHasEndedAndWhichWentOn) {
  using enum Topology::Phase;
  ElectionFigures figures;
  const auto shown = [&] {
    bson::Builder out;
    figures.appendStateTransitions(out);
    return out.finish();
  };
  const auto transition = [](const char* last, int64_t killed, int64_t left) {
    return bson::doc("lastStateTransition", last, "totalOperationsKilled", killed, "totalOperationsRunning", left);
  };
  EXPECT_EQ(shown(), transition("", 0, 0));
  figures.countOperations(3, 2);
  step(figures, kPrimary, kFollower);
  EXPECT_EQ(shown(), transition("stepDown", 3, 2));
  step(figures, kFollower, kPrimary);
  figures.countOperations(0, 5);
  EXPECT_EQ(shown(), transition("stepUp", 0, 5));
}

/// "me:1" of three members, as it has voted in its term.
Snapshot<Topology> votedFor(const NodeName& candidate, int64_t term) {
  Snapshot<Topology> now;
  now.document.self = "me:1";
  now.document.lastVote = {term, candidate};
  ReplicaSetConfig& config = now.document.config.emplace();
  config.members.resize(3);
  config.members[0] = {.id = 4, .host = "me:1", .priority = 2.5};
  config.members[1] = {.id = 5, .host = "other:1"};
  config.members[2] = {.id = 6, .host = "third:1"};
  config.settings.electionTimeoutMillis = ConfigMillis{7000};
  now.memory.term = term;
  now.memory.applied = {3, {30, 2}};
  return now;
}

bson::Document candidacyIn(const ElectionFigures& figures, int64_t term) {
  bson::Builder out;
  figures.appendCandidacy(out, term);
  return out.finish();
}

bson::Document lastVoteOf(const ElectionFigures& figures) {
  bson::Builder out;
  figures.appendLastVote(out);
  return out.finish();
}

TEST(ElectionFigures, TellHowACandidateStoodInItsTerm) {
  ElectionFigures figures;
  figures.noteVote(votedFor("third:1", 3), votedFor("me:1", 4), {1000});
  EXPECT_EQ(candidacyIn(figures, 4),
            bson::doc("lastSeenOpTimeAtElection", bson::doc("ts", bson::Timestamp{30, 2}, "t", int64_t{3}),
                      "numVotesNeeded", 2, "priorityAtElection", 2.5, "electionTimeoutMillis", int64_t{7000}));
  EXPECT_TRUE(candidacyIn(figures, 5).view().empty()) << "of another term nothing is known";
  EXPECT_TRUE(lastVoteOf(figures).view().empty()) << "its own vote is that of a candidate";
}

TEST(ElectionFigures, TellOfTheLastVoteForAnotherMember) {
  ElectionFigures figures;
  figures.noteVote(votedFor("me:1", 4), votedFor("third:1", 5), {1000});
  figures.noteVote(votedFor("third:1", 5), votedFor("other:1", 6), {2000});
  figures.noteVote(votedFor("other:1", 6), votedFor("other:1", 6), {3000});
  const auto voted = bson::doc("votedForCandidate", true, "electionTerm", int64_t{6}, "lastVoteDate", bson::Date{2000},
                               "electionCandidateMemberId", 5, "voteReason", "", "lastAppliedOpTimeAtElection",
                               bson::doc("ts", bson::Timestamp{30, 2}, "t", int64_t{3}), "priorityAtElection", 2.5);
  EXPECT_EQ(lastVoteOf(figures), bson::doc("electionParticipantMetrics", voted));
  EXPECT_TRUE(candidacyIn(figures, 6).view().empty());
}

/// Its document tells of the vote, but not how it came to it.
TEST(ElectionFigures, TellNothingOfAVoteBeforeTheStart) {
  ElectionFigures figures;
  figures.noteVote({}, votedFor("other:1", 6), {1000});
  figures.noteVote({}, votedFor("me:1", 7), {2000});
  EXPECT_TRUE(lastVoteOf(figures).view().empty());
  EXPECT_TRUE(candidacyIn(figures, 7).view().empty());
}

}  // namespace
}  // namespace troupe::replication::test
