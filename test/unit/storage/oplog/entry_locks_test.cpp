#include "storage/oplog/entry_locks.hpp"

#include "storage/oplog/logged_command.hpp"
#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Locks of entries as text: "test.c X".
class EntryLocksTest : public OplogWriterFixture {
 protected:
  static std::string textOf(const EntryLock& lock) { return lock.name + (lock.mode == LockMode::kX ? " X" : " IX"); }
  std::vector<std::string> locksFor(const LoggedOperation& operation, ApplyMode mode = ApplyMode::kFollowing) {
    const auto locks = locksOf(*catalog->snapshot(), operation, mode);
    EXPECT_TRUE(locks.isOK()) << locks.status().toString();
    std::vector<std::string> texts;
    if (!locks.isOK()) return texts;
    for (const EntryLock& each : *locks) texts.push_back(textOf(each));
    return texts;
  }
  std::vector<std::string> locksFor(const LoggedCommand& command, ApplyMode mode = ApplyMode::kFollowing,
                                    std::optional<bson::Uuid> uuid = bson::Uuid{{7}}) {
    const CommandObjects objects = encode(command);
    // Not that of any collection: the names of the command hold.
    return locksFor({.kind = OplogKind::kCommand,
                     .ns = "test.$cmd",
                     .uuid = uuid,
                     .object = objects.object,
                     .other = objects.other},
                    mode);
  }
  bson::Document element(const LoggedOperation& operation) {
    bson::Builder builder;
    operation.appendTo(builder);
    return builder.finish();
  }
  void make(const char* ns, const bson::Document& options) {
    const auto parsed = parseCollectionOptions(options);
    ASSERT_TRUE(
        inUnit([&] { return createCollection(*catalog, rec(), Namespace::split(ns), *parsed).status(); }).isOK());
  }
};

TEST_P(EntryLocksTest, DocumentsAreWrittenBesideOthersButForThoseOfACappedCollection) {
  make("test.capped", doc("capped", true, "size", 4096));
  const auto snapshot = catalog->snapshot();
  EXPECT_EQ(textOf(documentLock(*snapshot, current()->uuid(), "test.earlier")), "test.c IX");
  EXPECT_EQ(textOf(documentLock(*snapshot, current("test.capped")->uuid(), "")), "test.capped X");
  EXPECT_EQ(textOf(documentLock(*snapshot, bson::Uuid{}, "test.gone")), "test.gone IX");
}

TEST_P(EntryLocksTest, ACommandLocksWhatItChanges) {
  EXPECT_THAT(locksFor(LoggedCreate{.collection = "d", .options = {}, .idIndex = {}}), ElementsAre("test.d X"));
  EXPECT_THAT(locksFor(LoggedDrop{"d", {}}), ElementsAre("test.d X"));
  EXPECT_THAT(locksFor(LoggedRename{.from = "test.x", .to = "test.a", .dropTarget = {}, .records = {}}),
              ElementsAre("test.a X", "test.x X"));
  EXPECT_THAT(locksFor(LoggedDropDatabase{}, ApplyMode::kFollowing, std::nullopt), ElementsAre("test X"));
  EXPECT_THAT(locksFor(LoggedDropIndex{"d", "i", {}}), ElementsAre("test.d X"));
  EXPECT_THAT(locksFor(LoggedTruncate{"d"}), ElementsAre("test.d X"));
  EXPECT_THAT(locksFor({.kind = OplogKind::kNoop, .ns = "", .object = {}}), IsEmpty());
}

TEST_P(EntryLocksTest, AReplayMayHaveToPutAnotherCollectionAside) {
  EXPECT_THAT(locksFor(LoggedCreate{.collection = "d", .options = {}, .idIndex = {}}, ApplyMode::kReplaying),
              ElementsAre("test X"));
}

TEST_P(EntryLocksTest, AGroupLocksAllThatItsOperationsDoEachOnceAndInOrder) {
  make("test.a", {});
  make("other.b", {});
  const bson::Document document = doc("_id", 1);
  const auto insert = [&](const char* ns) {
    return element({.kind = OplogKind::kInsert, .ns = ns, .uuid = current(ns)->uuid(), .object = document});
  };
  const CommandObjects drop = encode(LoggedDropDatabase{});
  const auto whole = element({.kind = OplogKind::kCommand, .ns = "other.$cmd", .object = drop.object});
  EXPECT_THAT(locksFor(LoggedGroup{{insert("test.c"), insert("test.a"), insert("test.c")}}),
              ElementsAre("test.a IX", "test.c IX"));
  EXPECT_THAT(locksFor(LoggedGroup{{insert("test.c"), insert("other.b"), whole}}), ElementsAre("other X", "test.c IX"));
}

TROUPE_ON_BOTH_ENGINES(EntryLocksTest);

}  // namespace troupe::storage
