#include "storage/oplog/operation_applier.hpp"

#include "test/unit/storage/oplog/replay_fixture.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::ElementsAre;

class OperationApplierTest : public ReplayFixture {};

// OPL-010.
TEST_P(OperationApplierTest, TheLogGivesAMemberTheDocumentsOfThePrimary) {
  workOnDocuments(400);
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

TEST_P(OperationApplierTest, EveryCommandIsCarriedOut) {
  workOnTheCatalog();
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

TEST_P(OperationApplierTest, AnEntryIsWrittenAtItsOwnTime) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const auto entries = log();
  ASSERT_TRUE(member.applyAll(entries).isOK());
  for (size_t i = 0; i < entries.size(); ++i)
    EXPECT_EQ(member.countAt(entries[i]["ts"].asTimestamp(), "test.c"), static_cast<int64_t>(i) + 1);
}

// A batch that broke off may be carried out again over its own documents.
TEST_P(OperationApplierTest, AnInsertOverADocumentThatIsThereReplacesIt) {
  make("test.d");
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("a", 1), "name", "a_1")).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1, "a", bson::array(1, 2, 3))).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 2, "a", 5)).isOK());
  const NodeContents wanted(*catalog, *pool);
  auto entries = log();
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  ASSERT_TRUE(member.applyAll(entries).isOK());
  EXPECT_EQ(member.contents(), wanted);

  OplogEntry again = *OplogEntry::parse(entries.back());
  const bson::Document other = doc("_id", 1, "a", 8);
  again.operation.object = other;
  again.opTime.timestamp = {again.opTime.timestamp.seconds + 1, 1};
  ASSERT_TRUE(member.apply(again.toDocument()).isOK());
  EXPECT_FALSE(member.contents() == wanted);
  EXPECT_EQ(member.current("test.d")->records().count(), 2) << "nothing was left behind by the attempt to insert it";
  const bson::Document back = doc("_id", 1, "a", bson::array(1, 2, 3));
  again.operation.object = back;
  again.opTime.timestamp = {again.opTime.timestamp.seconds + 1, 1};
  ASSERT_TRUE(member.apply(again.toDocument()).isOK());
  EXPECT_EQ(member.contents(), wanted);
}

// REC-007: the data may hold later entries already.
TEST_P(OperationApplierTest, AReplayOverLaterDataEndsWithTheDataOfTheLastEntry) {
  workOnDocuments(60);
  workOnTheCatalog();
  const auto entries = log();
  const NodeContents wanted(*catalog, *pool);
  for (size_t from = 0; from < entries.size(); from += 3) {
    Member member(ApplyMode::kReplaying);
    member.copy(*catalog, *pool);
    const Status applied = member.applyAll({entries.begin() + static_cast<ptrdiff_t>(from), entries.end()});
    ASSERT_TRUE(applied.isOK()) << "from " << from << ": " << applied.toString();
    EXPECT_EQ(member.contents(), wanted) << "from " << from;
  }
}

// The index may have gone since, or another may have its name; what else the command changed counts.
TEST_P(OperationApplierTest, AReplayedChangeOfAnotherIndexKeepsItsOtherParts) {
  make("test.d");
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1, "l", 1)).isOK());
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("l", 1), "name", "l")).isOK());
  const auto set = [&](const char* level, const char* index, const SpecChange& ofIndex) {
    CollectionChange change;
    change.validationLevel = level;
    change.index = index;
    change.indexChange = ofIndex;
    return modify("test.d", change);
  };
  SpecChange hidden, prepared;
  hidden.hidden = true;
  prepared.prepareUnique = true;
  ASSERT_TRUE(set("moderate", "", {}).isOK());
  ASSERT_TRUE(set("off", "l", prepared).isOK());  // a hashed index cannot be
  ASSERT_TRUE(inUnit([&] { return dropIndexes(*catalog, rec(), current("test.d"), {"l"}).status(); }).isOK());
  expectThatReplaysEndTheSame();
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("l", "hashed"), "name", "l")).isOK());
  expectThatReplaysEndTheSame();
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("m", 1), "name", "m")).isOK());
  ASSERT_TRUE(set("strict", "", {}).isOK());
  ASSERT_TRUE(set("moderate", "m", hidden).isOK());
  ASSERT_TRUE(inUnit([&] { return dropIndexes(*catalog, rec(), current("test.d"), {"m"}).status(); }).isOK());
  expectThatReplaysEndTheSame();
}

TEST_P(OperationApplierTest, AReplayEndsWithTheOrderOfACappedCollection) {
  make("test.d", doc("capped", true, "size", 4096));
  for (const int id : {1, 2, 3}) ASSERT_TRUE(addDocument("test.d", doc("_id", id)).isOK());
  ASSERT_TRUE(removeOne("test.d", 1).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1)).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 4)).isOK());
  const auto entries = log();
  for (size_t from = 0; from < entries.size(); ++from) {
    Member member(ApplyMode::kReplaying);
    member.copy(*catalog, *pool);
    ASSERT_TRUE(member.applyAll({entries.begin() + static_cast<ptrdiff_t>(from), entries.end()}).isOK());
    EXPECT_THAT(member.ids("test.d"), ElementsAre(2, 3, 1, 4)) << "from " << from;
    EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool)) << "from " << from;
  }
}

/// On one engine: in tests the cache of the other is too small for units of work of such a size.
class LargeReplayTest : public ReplayFixture {};
INSTANTIATE_TEST_SUITE_P(Deterministic, LargeReplayTest, testing::Values(StorageUnderTest::kDeterministic));

TEST_P(LargeReplayTest, MayPassTheLimitOfADocumentInBetween) {
  make("test.d");
  const std::string half(10 << 20, 'x'), kept(1000, 'k');
  const bson::Document none = doc("_id", 1, "kept", kept);
  const bson::Document first = doc("_id", 1, "kept", kept, "a", half), last = doc("_id", 1, "kept", kept, "b", half);
  ASSERT_TRUE(addDocument("test.d", none).isOK());
  ASSERT_TRUE(replace("test.d", none, first).isOK());
  ASSERT_TRUE(replace("test.d", first, none).isOK());
  ASSERT_TRUE(replace("test.d", none, last).isOK());
  Member member(ApplyMode::kReplaying);
  member.copy(*catalog, *pool);
  const auto entries = log();
  const Status applied = member.applyAll({entries.begin() + 2, entries.end()});  // behind the insert
  ASSERT_TRUE(applied.isOK()) << static_cast<int>(applied.code());
  EXPECT_TRUE(member.contents() == NodeContents(*catalog, *pool));
}

// Entries about a view name it and have no UUID: the name may be a collection's by now.
TEST_P(OperationApplierTest, AViewsEntriesLeaveTheCollectionAloneThatHasTakenItsName) {
  make("test.v", doc("viewOn", "c", "pipeline", bson::array(doc("$match", doc("a", 1)))));
  CollectionChange change;
  change.viewOn = "d";
  ASSERT_TRUE(modify("test.v", change).isOK());
  make("test.x");
  ASSERT_TRUE(addDocument("test.x", doc("_id", 1)).isOK());
  ASSERT_TRUE(drop("test.v").isOK());
  ASSERT_TRUE(rename("test.x", "test.v").isOK());
  const auto entries = log();
  ASSERT_EQ(entries.size(), 6u);
  expectThatReplaysEndTheSame();
  Member follower;
  follower.makeAnother("test.v");
  for (const size_t ofView : {size_t{1}, size_t{4}})
    EXPECT_EQ(follower.apply(entries[ofView]).code(), ErrorCode::kNamespaceNotFound)
        << bson::toRelaxedJson(entries[ofView]);
  EXPECT_NE(follower.current("test.v"), nullptr);
}

// It may have kept, for its own profile, a database that the primary has dropped.
TEST_P(OperationApplierTest, ACreateIsCarriedOutWhateverTheCaseOfAnotherDatabasesName) {
  make("Shop.orders");
  ASSERT_TRUE(addDocument("Shop.orders", doc("_id", 1)).isOK());
  Member member;
  member.makeAnother("shop.orders");
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  ASSERT_NE(member.current("Shop.orders"), nullptr);
  EXPECT_EQ(member.current("Shop.orders")->records().count(), 1);
}

TEST_P(OperationApplierTest, AFollowerNoticesThatItsDataAreNotThoseOfTheLog) {
  make("test.d");
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1, "a", std::string(100, 'x'))).isOK());
  ASSERT_TRUE(inUnit([&]() -> Status {
                const bson::Value key(1);
                TROUPE_ASSIGN(const auto at, current("test.d")->findById(rec(), key.element()));
                return current("test.d")->update(rec(), *at, doc("_id", 1, "a", std::string(100, 'x')),
                                                 doc("_id", 1, "a", 2));
              }).isOK());
  const auto entries = log();
  ASSERT_EQ(entries.size(), 3u);
  Member member;
  EXPECT_EQ(member.apply(entries[1]).code(), ErrorCode::kNamespaceNotFound);
  ASSERT_TRUE(member.apply(entries[0]).isOK());
  EXPECT_EQ(member.apply(entries[2]).code(), ErrorCode::kNoSuchKey);
  const auto refusedOf = [&](const bson::Document& entry) { return member.apply(entry).code(); };
  workOnTheCatalog();
  int commands = 0;
  for (const bson::Document& entry : log()) {
    const bson::View object = entry["o"].asDocument();
    const std::string_view name = object.empty() ? "" : object.first().name();
    if (entry["op"].asString() != "c" || name == "create" || name == "dropDatabase" || name == "applyOps") continue;
    ++commands;
    const ErrorCode refused = refusedOf(entry);
    EXPECT_TRUE(refused == ErrorCode::kNamespaceNotFound || refused == ErrorCode::kIndexNotFound)
        << bson::toRelaxedJson(entry);
  }
  EXPECT_GE(commands, 9) << "drop, rename, collMod, emptycapped, createIndexes, dropIndexes, start, commit, abort";
  Member other;
  other.makeAnother("test.d");
  EXPECT_EQ(other.apply(entries[0]).code(), ErrorCode::kNamespaceExists) << "of another UUID";
}

// Writers of a batch need no order among documents: what was unique on the primary may meet in between.
TEST_P(OperationApplierTest, AUniqueKeyMayMoveBetweenDocumentsInAnyOrder) {
  make("test.d");
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("u", 1), "name", "u_1", "unique", true)).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1, "u", 7)).isOK());
  ASSERT_TRUE(removeOne("test.d", 1).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 2, "u", 7)).isOK());
  auto entries = log();
  std::swap(entries[entries.size() - 1], entries[entries.size() - 2]);
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(entries);
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

// The commit scans the collection in units of work of its own, so that it cannot be a part of a larger one.
TEST_P(OperationApplierTest, AGroupHoldsNoCommitOfAnIndexBuild) {
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const bson::Document commit = doc("commitIndexBuild", "c", "indexBuildUUID", current("test.c")->uuid(), "indexes",
                                    bson::array(doc("v", 2, "key", doc("a", 1), "name", "a_1")));
  bson::Builder operation;
  LoggedOperation{.kind = OplogKind::kCommand, .ns = "test.$cmd", .uuid = current("test.c")->uuid(), .object = commit}
      .appendTo(operation);
  const CommandObjects group = encode(LoggedGroup{{operation.finish()}});
  OplogEntry entry;
  entry.operation = {.kind = OplogKind::kCommand, .ns = "admin.$cmd", .object = group.object};
  entry.opTime = {1, {2000, 1}};
  EXPECT_EQ(member.apply(entry.toDocument()).code(), ErrorCode::kFailedToParse);
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool)) << "nothing was started in its place";
}

// `buildIndexes: false`
TEST_P(OperationApplierTest, AMemberThatBuildsNoIndexesKeepsThoseOfTheIdsAlone) {
  workOnDocuments(60);
  workOnTheCatalog();
  for (const ApplyMode mode : {ApplyMode::kFollowing, ApplyMode::kReplaying}) {
    Member member(mode);
    member.catalog->setBuildsIndexes(false);
    ASSERT_TRUE(member.make(*current("test.c")));
    const Status applied = member.applyAll(log());
    ASSERT_TRUE(applied.isOK()) << applied.toString();
    EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool, ShownIndexes::kOfIdsAlone))
        << "also what a collMod changes beside an index";
  }
}

TEST_P(OperationApplierTest, AMemberThatBuildsNoIndexesHasThoseThatTheNodeNeeds) {
  make("config.needed");
  ASSERT_TRUE(buildIndex("config.needed", doc("key", doc("a", 1), "name", "a_1")).isOK());
  Member member;
  member.catalog->setBuildsIndexes(false);
  ASSERT_TRUE(member.make(*current("test.c")));
  ASSERT_TRUE(member.applyAll(log()).isOK());
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

// A member that was added anew with `buildIndexes: false`, over the data that it had.
TEST_P(OperationApplierTest, IndexesThatAreThereFollowTheLogThoughNoOthersAreBuilt) {
  make("test.d");
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("a", 1), "name", "a_1")).isOK());
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("b", 1), "name", "b_1")).isOK());
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  ASSERT_TRUE(member.applyAll(log()).isOK());
  const size_t before = log().size();
  CollectionChange change;
  change.index = "a_1";
  change.indexChange.hidden = true;
  ASSERT_TRUE(modify("test.d", change).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1, "a", 5, "b", bson::array(1, 2))).isOK());
  ASSERT_TRUE(inUnit([&] { return dropIndexes(*catalog, rec(), current("test.d"), {"b_1"}).status(); }).isOK());
  auto entries = log();
  entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(before));
  member.catalog->setBuildsIndexes(false);
  const Status applied = member.applyAll(entries);
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

TROUPE_ON_BOTH_ENGINES(OperationApplierTest);

}  // namespace troupe::storage
