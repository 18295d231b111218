#include "storage/catalog/write_observer.hpp"

#include "messaging/bson/json.hpp"
#include "storage/catalog/index_builder.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Writes down what it hears of test.c, and separately what of that was committed.
class Diary final : public WriteObserver {
 public:
  bool observes(const CatalogEntry& entry) const override { return entry.ns.collection() == "c"; }

  Status onInsert(RecoveryUnit& unit, const Collection&, const InsertOperation& inserted) override {
    std::string line = "insert";
    for (size_t i = 0; i < inserted.documents.size(); ++i)
      line += " " + std::to_string(inserted.documents[i]["_id"].toInt64()) + " at record " + inserted.ids[i].toString();
    return note(unit, line);
  }
  Status onUpdate(RecoveryUnit& unit, const Collection&, const UpdateOperation& updated) override {
    return note(unit, "update " + bson::toRelaxedJson(updated.before) + " to " + bson::toRelaxedJson(updated.after));
  }
  Status onRemove(RecoveryUnit& unit, const Collection&, const RemoveOperation& removed) override {
    return note(unit, "remove " + bson::toRelaxedJson(removed.document));
  }
  Status onTruncate(RecoveryUnit& unit, const Collection&, const OpTime&) override { return note(unit, "truncate"); }
  Status onCreate(RecoveryUnit& unit, const Collection& made, const OpTime&) override {
    return note(unit, "create " + made.ns().toString());
  }
  Status onDrop(RecoveryUnit& unit, const Collection& dropped, const OpTime&) override {
    return note(unit, "drop " + dropped.ns().toString());
  }
  Status onRename(RecoveryUnit& unit, const RenameOperation& renamed) override {
    return note(unit, "rename " + renamed.before.ns().toString() + " to " + renamed.after.ns().toString() +
                          (renamed.droppedTarget ? " over " + renamed.droppedTarget->ns().toString() : ""));
  }
  Status onModify(RecoveryUnit& unit, const ModifyOperation& modified) override {
    return note(unit, "modify " + modified.change.validationLevel.value_or("?"));
  }
  Status onCreateIndex(RecoveryUnit& unit, const Collection&, const IndexSpec& spec, const OpTime&) override {
    return note(unit, "create index " + spec.name);
  }
  Status onIndexBuild(RecoveryUnit& unit, const IndexBuildOperation& build) override {
    static constexpr const char* kSteps[] = {"start", "commit", "abort"};
    return note(unit, std::string(kSteps[static_cast<int>(build.step)]) + " build of " + build.specs[0].name);
  }
  Status onDropIndex(RecoveryUnit& unit, const Collection&, const IndexSpec& spec, const OpTime&) override {
    return note(unit, "drop index " + spec.name);
  }
  Status onDropDatabase(RecoveryUnit& unit, std::string_view db, const OpTime&) override {
    return note(unit, "drop database " + std::string(db));
  }

  std::vector<std::string> heard, committed;
  Status answer;

 private:
  Status note(RecoveryUnit& unit, const std::string& line) {
    heard.push_back(line);
    unit.onCommit([this, line](auto) { committed.push_back(line); });
    return answer;
  }
};

class WriteObserverTest : public CatalogFixture {
 protected:
  WriteObserverTest() {
    observers = {&diary};
    restart();
  }
  ~WriteObserverTest() override { close(); }
  Diary diary;
};

TEST_P(WriteObserverTest, HearsOfEveryChangeOfDocuments) {
  create();
  diary.heard.clear();
  const auto one = bson::doc("_id", 1), two = bson::doc("_id", 2), changed = bson::doc("_id", 2, "x", 1);
  const std::vector<bson::View> both{one, two};
  const CollectionPtr c = current();
  ASSERT_TRUE(write([&] { return c->insertMany(*unit, both); }).isOK());
  ASSERT_TRUE(insert(bson::doc("_id", 3)).isOK());
  const auto id = *findById(2);
  ASSERT_TRUE(write([&] { return c->update(*unit, id, two, changed); }).isOK());
  ASSERT_TRUE(write([&] { return c->remove(*unit, id, changed); }).isOK());
  ASSERT_TRUE(write([&] { return c->truncate(*unit); }).isOK());
  EXPECT_THAT(diary.heard, ElementsAre("insert 1 at record 1 2 at record 2", "insert 3 at record 3",
                                       R"(update { "_id" : 2 } to { "_id" : 2, "x" : 1 })",
                                       R"(remove { "_id" : 2, "x" : 1 })", "truncate"));
}

TEST_P(WriteObserverTest, HearsOfWhatACappedCollectionRemovesByItself) {
  create("test.c", bson::doc("capped", true, "size", 4096, "max", 1));
  ASSERT_TRUE(insert(bson::doc("_id", 1)).isOK());
  diary.heard.clear();
  ASSERT_TRUE(insert(bson::doc("_id", 2)).isOK());
  EXPECT_THAT(diary.heard, ElementsAre("insert 2 at record 2", R"(remove { "_id" : 1 })"));
}

TEST_P(WriteObserverTest, HearsOfCollectionsThatComeChangeAndGo) {
  create();
  create("test.d");
  const auto rename = [&](const char* from, const char* to) {
    return write([&] { return renameCollection(*catalog, *unit, current(from), {"test", to}, true).status(); });
  };
  ASSERT_TRUE(rename("test.d", "c").isOK());
  ASSERT_TRUE(rename("test.c", "d").isOK());
  ASSERT_TRUE(rename("test.d", "c").isOK());
  CollectionChange change;
  change.validationLevel = "moderate";
  ASSERT_TRUE(write([&] { return modifyCollection(*catalog, *unit, current(), change).status(); }).isOK());
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
  ASSERT_TRUE(write([&] { return dropDatabase(*catalog, *unit, "test"); }).isOK());
  EXPECT_THAT(diary.committed,
              ElementsAre("create test.c", "rename test.d to test.c over test.c", "rename test.c to test.d",
                          "rename test.d to test.c", "modify moderate", "drop test.c", "drop database test"));
}

TEST_P(WriteObserverTest, HearsOfEachStepOfAnIndexBuildAndOfIndexesThatAreReadyAtOnce) {
  create();
  const auto spec = [&](const char* field) {
    const auto wanted = bson::doc("key", bson::doc(field, 1), "name", std::string(field) + "_1");
    return *newIndexes(*catalog, *current(), {wanted.view()});
  };
  diary.committed.clear();
  ASSERT_TRUE(write([&] { return createEmptyIndex(*catalog, *unit, current(), spec("a")[0]).status(); }).isOK());
  ASSERT_TRUE(insert(bson::doc("_id", 1, "u", 1)).isOK());
  ASSERT_TRUE(IndexBuilder(*catalog, current()->ns(), spec("b")).buildAll(*unit).isOK());
  IndexBuilder given_up(*catalog, current()->ns(), spec("d"));
  ASSERT_TRUE(given_up.start(*unit).isOK());
  ASSERT_TRUE(given_up.abort(*unit).isOK());
  ASSERT_TRUE(write([&] { return dropIndexes(*catalog, *unit, current(), {"a_1", "b_1"}).status(); }).isOK());
  EXPECT_THAT(diary.committed,
              ElementsAre("create index a_1", "insert 1 at record 1", "start build of b_1", "commit build of b_1",
                          "start build of d_1", "abort build of d_1", "drop index a_1", "drop index b_1"));
}

TEST_P(WriteObserverTest, HearsNothingOfWhatItDidNotAskFor) {
  create("test.other");
  ASSERT_TRUE(insert(bson::doc("_id", 1), "test.other").isOK());
  EXPECT_THAT(diary.heard, IsEmpty());
}

TEST_P(WriteObserverTest, ItsFailureUndoesTheWrite) {
  create();
  diary.committed.clear();
  diary.answer = {ErrorCode::kInternalError, "no"};
  EXPECT_EQ(insert(bson::doc("_id", 1)), ErrorCode::kInternalError);
  EXPECT_FALSE(findById(1));
  EXPECT_THAT(diary.committed, IsEmpty());
}

TROUPE_ON_BOTH_ENGINES(WriteObserverTest);

}  // namespace troupe::storage
