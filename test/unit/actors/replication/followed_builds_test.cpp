#include "actors/replication/followed_builds.hpp"

#include "test/unit/actors/replication/applier_fixture.hpp"

namespace troupe::replication {

using bson::doc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A build on the primary, and a member that follows it.
class FollowedBuildsTest : public OplogApplierTest {
 protected:
  static constexpr int kDocuments = 600;

  /// The member has applied the start of the build, and its scan is held.
  void SetUp() override {
    for (int i = 1; i <= kDocuments; ++i)
      ASSERT_TRUE(
          addDocument("test.c", i % 3 == 0 ? doc("_id", i, "b", bson::array(i, -i)) : doc("_id", i, "b", i)).isOK());
    auto specs = storage::newIndexes(*catalog, *current(), {kSpec.view()});
    ASSERT_TRUE(specs.isOK());
    rec().abandonSnapshot();
    build = catalog->newUuid();
    builder.emplace(*catalog, current()->ns(), std::move(*specs), build);
    ASSERT_TRUE(builder->start(rec()).isOK());
    member = follow();
    member->scansAwait = "room on the disk";
    pass();
    ASSERT_THAT(scans(), SizeIs(1));
  }
  /// The member gets what the log has grown by.
  void pass() {
    member->push(logFrom(passed));
    passed = log().size();
    member->settle();
    ASSERT_THAT(member->failures, IsEmpty()) << member->failures.front().toString();
  }
  bool hasAll() { return member->ends.back() == opTimeOf(log().back()); }
  void expectTheSame() {
    EXPECT_TRUE(hasAll());
    EXPECT_EQ(member->data.contents(), contents());
    EXPECT_THAT(scans(), IsEmpty());
    EXPECT_EQ(member->locks.inUse(), 0u);
  }
  void letScansGo() {
    member->scansAwait = nullptr;
    member->settle();
  }
  /// Takes what has scanned; of how many documents, if there is any.
  std::optional<int64_t> takeScanned() {
    std::optional<int64_t> documents;
    member->node->start(take(member->builds.get(), build, &documents));
    member->node->run();
    return documents;
  }
  static Task<void> take(FollowedBuilds* builds, bson::Uuid of, std::optional<int64_t>* documents) {
    const auto scanned = co_await builds->takeScanned(of);
    if (scanned) *documents = scanned->documentsScanned();
  }
  std::vector<ActorRow> scans() const { return member->node->registry().rows({.type = "IndexBuildScan"}); }
  void writeMeanwhile() {
    for (int i = 1; i <= 20; ++i) {
      update(i * 7, "b", -i * 1000);
      ASSERT_TRUE(removeOne("test.c", i * 7 + 1).isOK());
      ASSERT_TRUE(addDocument("test.c", doc("_id", 10'000 + i, "b", bson::array(i, i + 1))).isOK());
    }
  }

  const bson::Document kSpec = doc("key", doc("b", 1), "name", "b_1");
  bson::Uuid build;
  std::optional<storage::IndexBuilder> builder;
  std::unique_ptr<Follower> member;
  size_t passed = 0;  ///< entries of the log
};

TEST_P(FollowedBuildsTest, EntriesAreAppliedBesideTheScanAndTheCommitWaitsForIt) {
  writeMeanwhile();
  pass();
  EXPECT_TRUE(hasAll()) << "the scan holds nothing up";
  ASSERT_TRUE(builder->finish(rec()).isOK());
  ASSERT_TRUE(addDocument("test.c", doc("_id", 20'000, "b", 1)).isOK());
  pass();
  EXPECT_FALSE(hasAll()) << "the commit waits";
  EXPECT_EQ(member->locks.inUse(), 0u) << "without a lock";
  letScansGo();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, AnOperatorSeesWhatItScansAndWhatItWaitsFor) {
  ASSERT_THAT(member->scanned, SizeIs(1));
  EXPECT_EQ(member->scanned[0].view()["createIndexes"].toStringOr(), "c");
  EXPECT_EQ(member->scanned[0].view().at("indexes.0.name").toStringOr(), "b_1");
  EXPECT_EQ(member->scanned[0].view()["$db"].toStringOr(), "test");
  EXPECT_EQ(scans()[0].phase, "waiting");
  EXPECT_EQ(scans()[0].phaseMeaning, "room on the disk");
}

TEST_P(FollowedBuildsTest, WhatWasScannedIsCommittedWithoutAnotherScan) {
  letScansGo();
  EXPECT_THAT(scans(), IsEmpty()) << "it has come to the end";
  writeMeanwhile();
  pass();
  EXPECT_EQ(takeScanned(), std::optional<int64_t>(kDocuments));
  EXPECT_FALSE(takeScanned()) << "once";
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();  // the commit, which found no scan, has scanned
}

TEST_P(FollowedBuildsTest, AnAbortEndsTheScan) {
  ASSERT_TRUE(builder->abort(rec()).isOK());
  writeMeanwhile();
  pass();
  letScansGo();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, TheScanEndsWithItsCollection) {
  ASSERT_TRUE(drop("test.c").isOK());
  pass();
  letScansGo();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, TheScanFollowsItsCollectionToAnotherName) {
  ASSERT_TRUE(rename("test.c", "test.d").isOK());
  pass();
  letScansGo();
  EXPECT_THAT(scans(), IsEmpty());
  EXPECT_THAT(member->failedScans, IsEmpty());
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, WhatWasReadOfOtherDataDoesNotCount) {
  letScansGo();
  EXPECT_THAT(member->failedScans, IsEmpty());
  member->builds->forgetAll();
  EXPECT_FALSE(takeScanned());
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, ACommitThatWaitsScansWhenTheScanIsForgotten) {
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  EXPECT_FALSE(hasAll());
  member->builds->forgetAll();
  member->settle();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, AMemberThatLeadsScansNoMore) {
  member->role.leads = true;
  letScansGo();
  EXPECT_THAT(member->failedScans, ElementsAre(ErrorCode::kInterruptedDueToReplStateChange));
  EXPECT_FALSE(takeScanned());
}

TEST_P(FollowedBuildsTest, AnApplierThatIsStartedAgainGoesOnWaiting) {
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  EXPECT_FALSE(hasAll());
  member->node->kill(member->applier, Status(ErrorCode::kInterrupted, "a restart"));
  member->settle();
  member->startApplier();
  member->settle();
  EXPECT_FALSE(hasAll()) << "the commit still waits";
  letScansGo();
  ASSERT_THAT(member->failures, IsEmpty()) << member->failures.front().toString();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, AScanThatFailsLeavesItsWorkToTheCommit) {
  member->node->kill(member->node->address(scans().front().path), Status(ErrorCode::kInternalError, "a defect"));
  member->settle();
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, AStopOfTheNodeDoesNotWaitForTheScan) {
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  member.reset();
}

TROUPE_ON_BOTH_ENGINES(FollowedBuildsTest);

}  // namespace troupe::replication
