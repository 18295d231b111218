// What reports of positions say of members that are alive (REP-049, REP-050).
#include "actors/replication/progress_reporter.hpp"

#include <gmock/gmock.h>

#include "test/probe/test_kit.hpp"

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const bson::ObjectId kSetId{{1}}, kOtherId{{2}};

ReplicaSetConfig configOfFour() {
  ReplicaSetConfig config;
  config.id = "rs";
  for (const char* host : {"a:1", "b:1", "c:1", "p:1"}) {
    MemberConfig member;
    member.id = static_cast<int32_t>(config.members.size());
    member.host = host;
    config.members.push_back(member);
  }
  config.settings.electionTimeoutMillis = Millis(10'000);
  config.settings.replicaSetId = kSetId;
  return config;
}

/// The reporter of "a", which fetches from "p"; "b" fetches from it, and "c" from "b".
class ProgressReporterTest : public ::testing::Test {
 protected:
  ProgressReporterTest() {
    ReplicaView view;
    view.topology.document.self = "a:1";
    view.topology.document.config = configOfFour();
    view.topology.memory.term = 1;
    membership.publish(view);
    progress.setRole({configOfFour(), "a:1", 1, false});
    source.alwaysAnswer<PositionReport>([this](const PositionReport& report) {
      ++reports;
      reported = report.positions;
      reportedSet = report.replicaSetId;
      return CommitPointNews{"p:1", 1, configOfFour().configVersion(), {}};
    });
    kit.start<ProgressReporter>(
        kProgressPath, ProgressReporter::Parts{progress, membership, [this] { return chosen; },
                                               [this](const AppliedAdvanced& news) { applied.push_back(news.applied); },
                                               [](MemberAdvanced) {},
                                               [this](MembersHeard news) {
                                                 for (auto& each : news.members) heard.push_back(std::move(each));
                                               },
                                               [this](TermHeard news) { terms.push_back(news.term); }});
    kit.run();
  }
  static MemberPosition at(const NodeName& host, int32_t distance) { return {host, {1, {++seconds, 1}}, {}, distance}; }
  void reportOfB(int32_t distanceOfC) {
    const PositionReport report{"b:1", 1, configOfFour().configVersion(), {at("b:1", 0), at("c:1", distanceOfC)}};
    below.ask(kit.address(kProgressPath), report).expectAnswer<CommitPointNews>();
  }
  /// As the source has heard of it last; -1: not at all.
  int32_t reportedDistance(const NodeName& host) const {
    for (const MemberPosition& each : reported)
      if (each.host == host) return each.distance;
    return -1;
  }
  std::vector<std::pair<NodeName, int32_t>> takeHeard() {
    std::vector<std::pair<NodeName, int32_t>> found;
    for (const Heard& each : heard) found.emplace_back(each.host, each.distance);
    heard.clear();
    return found;
  }

  static inline uint32_t seconds = 0;
  NodeName chosen = "p:1";
  ReplicationProgress progress;
  Membership membership{"rs", "a:1"};
  std::vector<Heard> heard;
  std::vector<OpTime> applied;  ///< that the topology was told of
  std::vector<int64_t> terms;   ///< that the topology was told of
  std::vector<MemberPosition> reported;
  ReplicaSetId reportedSet;
  int reports = 0;
  probe::TestKit kit{"a:1"};
  probe::Probe source = kit.probe("p:1", kProgressPath), below = kit.probe("b:1", kProgressPath),
               farther = kit.probe("c:1", kProgressPath);
};

TEST_F(ProgressReporterTest, TellsTheTopologyOfEachSignOfLifeOverItsDistance) {
  reportOfB(1);
  EXPECT_THAT(takeHeard(), ElementsAre(std::pair("b:1", 0), std::pair("c:1", 1)));
  reportOfB(1);
  EXPECT_THAT(takeHeard(), IsEmpty()) << "reports may come with every write";
  kit.advance(2s);
  reportOfB(0);
  EXPECT_THAT(takeHeard(), ElementsAre(std::pair("b:1", 0))) << "b has heard nothing of c for long";
}

/// Positions count in no earlier term from then on: a primary that did not know would take writes for nothing.
TEST_F(ProgressReporterTest, TellsTheTopologyOfALaterTerm) {
  reportOfB(1);
  EXPECT_THAT(terms, IsEmpty());
  const PositionReport later{"b:1", 2, configOfFour().configVersion(), {at("b:1", 0)}};
  below.ask(kit.address(kProgressPath), later).expectAnswer<CommitPointNews>();
  EXPECT_THAT(terms, ElementsAre(2));
}

/// Configs of two sets of one name may well have the same version and term.
TEST_F(ProgressReporterTest, TakesNothingFromAnotherSetOfTheSameName) {
  const OpTime end{1, {1000, 1}}, later{9, {5000, 1}};
  progress.noteApplied(end);
  progress.noteDurable(end);
  kit.run();
  EXPECT_EQ(reportedSet, kSetId);
  PositionReport report{"b:1", 9, configOfFour().configVersion(), {{"b:1", later, later, 0}}, kOtherId};
  const int64_t term = progress.report().term;
  const auto before = progress.positions();
  const std::string why =
      below.ask(kit.address(kProgressPath), report).expectFailure(ErrorCode::kInvalidReplicaSetConfig);
  EXPECT_THAT(why, testing::HasSubstr(kOtherId.toString() + ", not " + kSetId.toString()));
  EXPECT_EQ(progress.report().term, term);
  EXPECT_EQ(progress.positions(), before);
  EXPECT_THAT(takeHeard(), IsEmpty()) << "it is no sign of life";
  EXPECT_THAT(terms, IsEmpty());
  CommitPointNews news{"p:1", 1, configOfFour().configVersion(), end, kOtherId};
  source.tell(kit.address(kProgressPath), news);
  kit.run();
  EXPECT_EQ(progress.commitPoint(), OpTime());
  for (const ReplicaSetId& known : {ReplicaSetId(kSetId), ReplicaSetId()}) {
    report.replicaSetId = known;
    report.term = 1;
    const auto answer = below.ask(kit.address(kProgressPath), report).expectAnswer<CommitPointNews>();
    EXPECT_EQ(answer->replicaSetId, kSetId);
  }
  EXPECT_NE(progress.positions(), before);
  news.replicaSetId = kSetId;
  source.tell(kit.address(kProgressPath), news);
  kit.run();
  EXPECT_EQ(progress.commitPoint(), end);
}

// A member is stopped by SIGSTOP, say: its connections stay, and nothing is answered.
TEST_F(ProgressReporterTest, ANewSourceHearsAtOnceWhileAnEarlierOneDoesNotAnswer) {
  chosen = "c:1";
  const OpTime written{1, {++seconds, 1}};
  progress.noteApplied(written);
  kit.run();
  reported.clear();
  chosen = "p:1";
  kit.node().tell(kit.address(kProgressPath), local(SourceChosen{}));
  kit.run();
  ASSERT_THAT(reported, testing::SizeIs(1));
  EXPECT_EQ(reported.front().applied, written);
  kit.advance(20s);
  reported.clear();
  progress.noteDurable(written);
  kit.run();
  EXPECT_THAT(reported, testing::SizeIs(1)) << "the end of the earlier report holds nothing up";
}

TEST_F(ProgressReporterTest, PassesSignsOfLifeOnAsLongAsTheyAreFresh) {
  reportOfB(1);
  kit.advance(10ms);
  EXPECT_EQ(reportedDistance("a:1"), 0);
  EXPECT_EQ(reportedDistance("b:1"), 1);
  EXPECT_EQ(reportedDistance("c:1"), 2);
  kit.advance(6s);
  reportOfB(0);
  kit.advance(5s);
  EXPECT_EQ(reportedDistance("b:1"), 1);
  EXPECT_EQ(reportedDistance("c:1"), 0) << "its position is passed on, and no sign of life";
}

// REP-048.
TEST_F(ProgressReporterTest, OneReportTellsOfWhatIsAppliedAndDurable) {
  const OpTime first{1, {1000, 1}}, second{1, {2000, 1}};
  reports = 0;
  progress.noteApplied(first);
  kit.run();
  EXPECT_EQ(reports, 0) << "its flush is under way";
  progress.noteDurable(first);
  kit.run();
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(reported.front().durable, first);
  kit.advance(1ms);
  EXPECT_EQ(reports, 1) << "there is nothing left to tell";
}

TEST_F(ProgressReporterTest, SlowFlushesDoNotKeepBackWhatIsApplied) {
  const auto apply = [&](uint32_t second, Duration flushTakes) {
    const OpTime end{1, {second, 1}};
    reports = 0;
    progress.noteApplied(end);
    kit.advance(flushTakes);
    const int whileFlushing = reports;
    progress.noteDurable(end);
    kit.run();
    EXPECT_EQ(reported.front().durable, end);
    return whileFlushing;
  };
  EXPECT_EQ(apply(1000, 5ms), 1) << "how long a flush takes is not known yet";
  EXPECT_EQ(apply(2000, 5ms), 1) << "the last one took long";
  EXPECT_EQ(apply(3000, 0ms), 0);
  EXPECT_EQ(apply(4000, 500us), 0) << "each timer costs more than a quick flush";
  EXPECT_EQ(apply(5000, 5ms), 0) << "one flush is waited for, if not for long";
  apply(6000, 0ms);
  EXPECT_EQ(apply(7000, 20ms), 1) << "it hangs";
  EXPECT_EQ(apply(8000, 5ms), 1);
}

/// Each of its writes moves what it has applied; the set waits for the commit point alone.
TEST_F(ProgressReporterTest, OfAPrimaryTellsTheTopologyAtItsPace) {
  chosen.clear();
  progress.setRole({configOfFour(), "a:1", 1, true});
  kit.advance(1s);
  const auto write = [&](uint32_t second) {
    progress.noteApplied({1, {second, 1}});
    kit.run();
  };
  write(1000);
  const auto handled = [&] { return kit.node().registry().row(kProgressPath)->handled; };
  const int64_t before = handled();
  for (uint32_t second = 1001; second <= 1050; ++second) write(second);
  EXPECT_LE(handled(), before + 2);
  applied.clear();
  kit.advance(100ms);
  ASSERT_FALSE(applied.empty());
  EXPECT_EQ(applied.back(), (OpTime{1, {1050, 1}})) << "of the newest, when it is due";
}

TEST_F(ProgressReporterTest, WhatIsAppliedIsReportedAtOnceWhereItCounts) {
  ReplicaSetConfig config = configOfFour();
  config.writeConcernMajorityJournalDefault = false;
  progress.setRole({config, "a:1", 1, false});
  reports = 0;
  progress.noteApplied({1, {1000, 1}});
  kit.run();
  EXPECT_EQ(reports, 1);
}

TEST_F(ProgressReporterTest, TheCommitPointAloneIsNoReasonForAReport) {
  const OpTime end{1, {1000, 1}};
  progress.noteApplied(end);
  progress.noteDurable(end);
  kit.advance(1ms);
  reports = 0;
  source.tell(kit.address(kProgressPath), CommitPointNews{"p:1", 1, configOfFour().configVersion(), end, kSetId});
  kit.advance(10ms);
  ASSERT_EQ(progress.commitPoint(), end);
  EXPECT_EQ(reports, 0);
}

/// The answer to a report carries it; to tell it once more would cost both a message with every write.
TEST_F(ProgressReporterTest, TellsACommitPointToThoseThatHaveNotBeenAnsweredWithIt) {
  progress.setRole({configOfFour(), "a:1", 1, true});
  const auto write = [&](uint32_t second) {
    const OpTime end{1, {second, 1}};
    progress.noteApplied(end);
    progress.noteDurable(end);
    return end;
  };
  const auto answered = [&](probe::Probe& member, const std::vector<MemberPosition>& positions) {
    const PositionReport report{member.address().node(), 1, configOfFour().configVersion(), positions};
    return member.ask(kit.address(kProgressPath), report).expectAnswer<CommitPointNews>()->commitPoint;
  };
  OpTime end = write(1000);
  answered(below, {{"b:1", {}, {}, 0}});
  answered(farther, {{"c:1", {}, {}, 0}});
  EXPECT_EQ(answered(below, {{"b:1", end, end, 0}, {"c:1", end, end, 1}}), end);
  EXPECT_EQ(farther.expect<CommitPointNews>()->commitPoint, end);
  below.expectNone();
  kit.advance(5ms);
  end = write(2000);
  answered(below, {{"b:1", end, end, 0}});
  EXPECT_EQ(answered(farther, {{"c:1", end, end, 0}}), end);
  EXPECT_EQ(below.expect<CommitPointNews>()->commitPoint, end) << "it was answered before the point moved";
  farther.expectNone();
  end = write(3000);
  answered(farther, {{"c:1", end, end, 0}});
  EXPECT_EQ(answered(below, {{"b:1", end, end, 0}}), end);
  farther.expectNone();  // while it moves all the time its own reports may bring it
  kit.advance(5ms);
  EXPECT_EQ(farther.expect<CommitPointNews>()->commitPoint, end);
}

}  // namespace
}  // namespace troupe::replication
