// Logs of documents that an index cannot hold: it came later, went earlier or was never finished.
#include "test/unit/storage/catalog/unindexable.hpp"
#include "test/unit/storage/oplog/replay_fixture.hpp"

namespace troupe::storage {
namespace {

class UnindexableEntriesTest : public ReplayFixture {
 protected:
  /// Of each kind of index one.
  template <class Body>
  void forEachKind(const Body& body) {
    int number = 0;
    for (const UnindexableKind& kind : unindexableKinds()) {
      const std::string ns = "test.d" + std::to_string(number++);
      make(ns.c_str());
      body(kind, ns.c_str());
    }
  }
  Status dropIndex(const char* ns) {
    return inUnit([&] { return dropIndexes(*catalog, rec(), current(ns), {"x"}).status(); });
  }
  std::vector<IndexSpec> specsOf(const char* ns, const UnindexableKind& kind) {
    auto specs = newIndexes(*catalog, *current(ns), {kind.spec.view()});
    EXPECT_TRUE(specs.isOK()) << specs.status().toString();
    rec().abandonSnapshot();
    return *specs;
  }
};

TEST_P(UnindexableEntriesTest, TheIndexWasDroppedBeforeTheDocumentCame) {
  forEachKind([&](const UnindexableKind& kind, const char* ns) {
    ASSERT_TRUE(addDocument(ns, kind.good(1)).isOK());
    ASSERT_TRUE(buildIndex(ns, kind.spec).isOK());
    ASSERT_TRUE(dropIndex(ns).isOK());
    ASSERT_TRUE(addDocument(ns, kind.bad(2)).isOK());
  });
  expectThatReplaysEndTheSame();
}

TEST_P(UnindexableEntriesTest, TheDocumentWasMendedBeforeTheIndexCame) {
  forEachKind([&](const UnindexableKind& kind, const char* ns) {
    ASSERT_TRUE(addDocument(ns, kind.bad(1)).isOK());
    ASSERT_TRUE(addDocument(ns, kind.bad(2)).isOK());
    ASSERT_TRUE(replace(ns, kind.bad(1), kind.bad(1, 5)).isOK());
    ASSERT_TRUE(replace(ns, kind.bad(1, 5), kind.good(1, 5)).isOK());
    ASSERT_TRUE(removeOne(ns, 2).isOK());
    ASSERT_TRUE(buildIndex(ns, kind.spec).isOK());
  });
  expectThatReplaysEndTheSame();
}

/// It was listed while it was being built, and so begun by the copy.
TEST_P(UnindexableEntriesTest, TheIndexWasGivenUp) {
  Member member(ApplyMode::kReplaying);
  forEachKind([&](const UnindexableKind& kind, const char* ns) {
    ASSERT_TRUE(addDocument(ns, kind.bad(1)).isOK());
    ASSERT_TRUE(replace(ns, kind.bad(1), kind.bad(1, 5)).isOK());
  });
  member.copy(*catalog, *pool);
  OperationContext copier({.sessions = *member.pool}, OperationOrigin::kApplier);
  copier.setWriteMode(WriteMode::kApplied);
  copier.setAppliedTime(Timestamp{1, 1});
  int number = 0;
  for (const UnindexableKind& kind : unindexableKinds()) {
    const std::string ns = "test.d" + std::to_string(number++);
    const auto specs = specsOf(ns.c_str(), kind);
    const bson::Uuid build = catalog->newUuid();
    IndexBuilder there(*member.catalog, current(ns.c_str())->ns(), specs, build);
    ASSERT_TRUE(there.start(copier.recoveryUnit()).isOK());
    IndexBuilder here(*catalog, current(ns.c_str())->ns(), specs, build);
    ASSERT_TRUE(here.start(rec()).isOK());
    ASSERT_TRUE(here.abort(rec()).isOK());
  }
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

/// A follower scans at another moment than its primary.
TEST_P(UnindexableEntriesTest, TheDocumentWasMendedWhileTheIndexWasBuilt) {
  forEachKind([&](const UnindexableKind& kind, const char* ns) {
    for (const int id : {1, 2}) ASSERT_TRUE(addDocument(ns, kind.bad(id)).isOK());
    ASSERT_TRUE(addDocument(ns, kind.good(3)).isOK());
    IndexBuilder builder(*catalog, Namespace::split(ns), specsOf(ns, kind));
    ASSERT_TRUE(builder.start(rec()).isOK());
    ASSERT_TRUE(removeOne(ns, 1).isOK());
    ASSERT_TRUE(replace(ns, kind.bad(2), kind.good(2)).isOK());
    const Status built = builder.finish(rec());
    ASSERT_TRUE(built.isOK()) << built.toString();
  });
  Member follower;
  ASSERT_TRUE(follower.make(*current("test.c")));
  const Status applied = follower.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(follower.contents(), NodeContents(*catalog, *pool));
  expectThatReplaysEndTheSame();
}

TROUPE_ON_BOTH_ENGINES(UnindexableEntriesTest);

}  // namespace
}  // namespace troupe::storage
