#include "storage/catalog/write_observer.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Writes down what it hears of test.c, and separately what of that was committed.
class Diary final : public WriteObserver {
 public:
  bool observes(const CatalogEntry& entry) const override { return entry.ns.collection() == "c"; }
  Status onDocuments(RecoveryUnit& unit, const Collection&, const DocumentChange& change) override {
    static constexpr const char* kNames[] = {"insert", "update", "remove", "truncate"};
    std::string line = kNames[static_cast<int>(change.kind)];
    for (const bson::View document : change.before) line += " -" + std::to_string(document["_id"].toInt64());
    for (const bson::View document : change.after) line += " +" + std::to_string(document["_id"].toInt64());
    return note(unit, line);
  }
  Status onCollection(RecoveryUnit& unit, const Collection* before, const Collection* after) override {
    return note(unit,
                (before ? before->ns().toString() : "nothing") + " to " + (after ? after->ns().toString() : "nothing"));
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
  EXPECT_THAT(diary.heard, ElementsAre("insert +1 +2", "insert +3", "update -2 +2", "remove -2", "truncate"));
}

TEST_P(WriteObserverTest, HearsOfWhatACappedCollectionRemovesByItself) {
  create("test.c", bson::doc("capped", true, "size", 4096, "max", 1));
  ASSERT_TRUE(insert(bson::doc("_id", 1)).isOK());
  diary.heard.clear();
  ASSERT_TRUE(insert(bson::doc("_id", 2)).isOK());
  EXPECT_THAT(diary.heard, ElementsAre("insert +2", "remove -1"));
}

TEST_P(WriteObserverTest, HearsOfCollectionsThatComeChangeAndGo) {
  create();
  ASSERT_TRUE(write([&] {
                return renameCollection(*catalog, *unit, current(), {"test", "d"}, false).status();
              }).isOK());
  ASSERT_TRUE(write([&] {
                return renameCollection(*catalog, *unit, current("test.d"), {"test", "c"}, false).status();
              }).isOK());
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
  EXPECT_THAT(diary.committed,
              ElementsAre("nothing to test.c", "test.c to test.d", "test.d to test.c", "test.c to nothing"));
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
