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
    member->node->start(take(member->builds.get(), current()->uuid(), build, &documents, &refusal));
    member->settle();
    return documents;
  }
  static Task<void> take(FollowedBuilds* builds, bson::Uuid collection, bson::Uuid of,
                         std::optional<int64_t>* documents, Status* failure) {
    const auto scanned = co_await builds->takeScanned(collection, of);
    *failure = scanned.status();
    if (scanned.isOK() && *scanned) *documents = (*scanned)->documentsScanned();
  }
  std::vector<ActorRow> scans() const { return member->node->registry().rows({.type = "IndexBuildScan"}); }
  /// As of a scan of other data: the value `b` of a document that is not there, for a record that is.
  void leaveKey(const char* value, int64_t record) {
    storage::OperationContext operation(member->services(), storage::OperationOrigin::kApplier);
    operation.setWriteMode(storage::WriteMode::kApplied);
    storage::RecoveryUnit& unit = operation.recoveryUnit();
    const auto collection = member->data.catalog->find(storage::Namespace::split("test.c"));
    const storage::IndexEntry& index = *collection->findIndex("b_1");
    storage::WriteUnitOfWork work(unit);
    ASSERT_TRUE(storage::admitDerived(unit, collection->ns(), {index.access->table().id}).isOK());
    storage::KeySet keys;
    ASSERT_TRUE(index.access->generator().generate(doc("b", value), keys).isOK());
    ASSERT_TRUE(index.access->insertForBuild(unit, keys.keys.front(), storage::RecordId(record)).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
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
  Status refusal;     ///< of the last `takeScanned`
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

TEST_P(FollowedBuildsTest, WhatWasScannedIsTakenOnceAndTheNextTakerHasAnotherScan) {
  letScansGo();
  EXPECT_THAT(scans(), IsEmpty()) << "it has come to the end";
  writeMeanwhile();
  pass();
  EXPECT_EQ(takeScanned(), std::optional<int64_t>(kDocuments));
  EXPECT_THAT(member->scanned, SizeIs(1));
  EXPECT_EQ(takeScanned(), std::optional<int64_t>(kDocuments)) << "20 were removed, and 20 are new";
  EXPECT_THAT(member->scanned, SizeIs(2));
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, WritesBetweenTwoSlicesAreKeptUp) {
  member->scansGoTo = kDocuments / 2;
  member->settle();
  ASSERT_THAT(scans(), SizeIs(1));
  writeMeanwhile();  // behind the scan, and before it
  for (int i = kDocuments - 40; i < kDocuments; ++i) update(i, "b", -i);
  ASSERT_TRUE(rename("test.c", "test.d").isOK());
  pass();
  EXPECT_TRUE(hasAll());
  letScansGo();
  EXPECT_THAT(member->failedScans, IsEmpty());
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();
  EXPECT_THAT(member->scanned, SizeIs(1)) << "the scan has come to its end";
}

TEST_P(FollowedBuildsTest, AnAbortEndsTheScanThatIsHeld) {
  ASSERT_TRUE(builder->abort(rec()).isOK());
  writeMeanwhile();
  pass();
  EXPECT_THAT(scans(), IsEmpty());
  EXPECT_THAT(member->failedScans, ElementsAre(ErrorCode::kIndexBuildAborted));
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

TEST_P(FollowedBuildsTest, ScansBeginAnewAfterARollback) {
  letScansGo();
  EXPECT_THAT(member->failedScans, IsEmpty());
  member->builds->forgetAll();
  EXPECT_EQ(takeScanned(), std::optional<int64_t>(kDocuments));
  EXPECT_THAT(member->scanned, SizeIs(2)) << "what was read of other data does not count";
}

TEST_P(FollowedBuildsTest, WhatIsForgottenBeforeItsTakerHearsOfItDoesNotCount) {
  std::optional<int64_t> documents;
  member->node->start(take(member->builds.get(), current()->uuid(), build, &documents, &refusal));
  member->node->run();
  member->scansAwait = nullptr;
  member->time->advanceTo(member->time->now() + std::chrono::milliseconds(20));
  while (!scans().empty()) ASSERT_TRUE(member->node->step());
  EXPECT_THAT(member->failedScans, IsEmpty());
  member->builds->forgetAll();
  member->settle();
  EXPECT_TRUE(refusal.isOK());
  EXPECT_FALSE(documents);
}

/// Keys of a scan have no times: they are there after a crash that takes back documents, whose records may then be
/// others'.
TEST_P(FollowedBuildsTest, KeysThatAnEarlierScanHasLeftGo) {
  letScansGo();
  ASSERT_THAT(scans(), IsEmpty());
  leaveKey("stray", 3);
  member->builds->forgetAll();
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, KeysThatAnEarlierScanHasLeftGoAlsoWhenTheCommitScansByItself) {
  letScansGo();
  leaveKey("stray", 3);
  member->builds->forgetAll();
  member->role.leads = true;  // and ends scans
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  expectTheSame();
}

TEST_P(FollowedBuildsTest, ACommitThatWaitsIsGivenUpWhenARollbackBegins) {
  ASSERT_TRUE(builder->finish(rec()).isOK());
  pass();
  EXPECT_FALSE(hasAll());
  const size_t logged = member->logged().size();
  member->builds->suspend();
  const auto paused = member->ask(Pause{});
  member->settle();
  EXPECT_TRUE(paused->isDone()) << "nobody waits for the scan";
  EXPECT_EQ(member->logged().size(), logged) << "nothing of the batch is there";
  EXPECT_FALSE(takeScanned());
  EXPECT_EQ(refusal, ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_THAT(scans(), IsEmpty());
  member->builds->resume();
  member->node->tell(member->applier, local(Resume{}));
  letScansGo();
  ASSERT_THAT(member->failures, IsEmpty()) << member->failures.front().toString();
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
  ASSERT_THAT(scans(), IsEmpty());
  ASSERT_TRUE(builder->finish(rec()).isOK());
  letScansGo();
  pass();
  EXPECT_THAT(member->scanned, SizeIs(2)) << "it has another one begin";
  expectTheSame();
}

/// A killed operation of the commit's own scan stands for a shutdown: its batch is given up, and a start writes it.
TEST_P(FollowedBuildsTest, AShutdownEndsTheScanOfACommit) {
  member->role.leads = true;  // no scan beside the batches
  letScansGo();
  ASSERT_TRUE(builder->finish(rec()).isOK());
  member->writer->endScans();
  pass();
  EXPECT_FALSE(hasAll());
  EXPECT_EQ(phaseOf(*member), "paused");
}

TROUPE_ON_BOTH_ENGINES(FollowedBuildsTest);

}  // namespace troupe::replication
