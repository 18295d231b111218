// RBK-006, RBK-007: what a rollback takes away is kept in files.
#include "storage/oplog/rollback_files.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "messaging/bson/validate.hpp"
#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RollbackFilesTest : public OplogWriterFixture {
 protected:
  StatusWith<RollbackFiles> save(bson::Timestamp common, size_t memoryBytes = 1 << 20) {
    return saveUndone(*catalog, *store, {.sessions = *pool}, common, {folder(), "2026-11-24T17-30-05.7", memoryBytes});
  }
  std::string folder() const { return directory.path() + "/rollback"; }
  static std::vector<std::string> documentsIn(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    const std::string bytes = text.str();
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size();) {
      const auto size = bson::load<int32_t>(bytes.data() + at);
      const std::string_view document(bytes.data() + at, static_cast<size_t>(size));
      EXPECT_TRUE(bson::validate(document).isOK());
      found.push_back(bson::toRelaxedJson(bson::View(document.data())));
      at += document.size();
    }
    return found;
  }
  std::string pathOf(const char* ns = "test.c") {
    return folder() + "/" + current(ns)->uuid().toString() + "/removed.2026-11-24T17-30-05.7.bson";
  }
  Status change(int id, const std::function<Status(const RecordId&, bson::View)>& how) {
    return inUnit([&]() -> Status {
      const bson::Value value(id);
      TROUPE_ASSIGN(const auto record, current()->findById(rec(), value.element()));
      bson::Document before;
      TROUPE_TRY(current()->find(rec(), *record, [&](bson::View found) { before = bson::Document(found); }).status());
      return how(*record, before);
    });
  }
  Status updateOne(int id, const bson::Document& after) {
    return change(
        id, [&](const RecordId& record, bson::View before) { return current()->update(rec(), record, before, after); });
  }
  Status removeOne(int id) {
    return change(id,
                  [&](const RecordId& record, bson::View before) { return current()->remove(rec(), record, before); });
  }

  TemporaryDirectory directory;
};

TEST_P(RollbackFilesTest, HoldTheDocumentsThatUndoneEntriesHaveWritten) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  const bson::Timestamp common = writes->slots.newest();
  ASSERT_TRUE(insertAll({4, 5}).isOK());
  ASSERT_TRUE(updateOne(2, doc("_id", 2, "x", "undone")).isOK());
  ASSERT_TRUE(updateOne(4, doc("_id", 4, "x", "changed again")).isOK());
  ASSERT_TRUE(removeOne(5).isOK());
  ASSERT_TRUE(removeOne(3).isOK());
  const auto saved = save(common);
  ASSERT_TRUE(saved.isOK()) << saved.status().toString();
  EXPECT_EQ(saved->operations, 6);
  EXPECT_EQ(saved->documents, 2);
  ASSERT_EQ(saved->files.size(), 1u);
  EXPECT_EQ(saved->files[0].ns.toString(), "test.c");
  EXPECT_EQ(saved->files[0].path, pathOf());
  EXPECT_EQ(saved->files[0].documents, 2);
  EXPECT_THAT(documentsIn(pathOf()),
              UnorderedElementsAre(R"({ "_id" : 4, "x" : "changed again" })", R"({ "_id" : 2, "x" : "undone" })"));
}

TEST_P(RollbackFilesTest, OperationsOfAGroupAreAmongThem) {
  const bson::Timestamp common = writes->slots.newest();
  ASSERT_TRUE(insertAll({4, 5}, UnitLogging::kGrouped).isOK());
  ASSERT_TRUE(save(common).isOK());
  EXPECT_THAT(documentsIn(pathOf()), ElementsAre(R"({ "_id" : 4 })", R"({ "_id" : 5 })"));
}

TEST_P(RollbackFilesTest, EachCollectionHasItsOwn) {
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "d"}, {}).status(); }).isOK());
  const bson::Timestamp common = writes->slots.newest();
  ASSERT_TRUE(insertOne(1).isOK());
  ASSERT_TRUE(insertOne(2, "test.d").isOK());
  const auto saved = save(common);
  ASSERT_TRUE(saved.isOK());
  EXPECT_EQ(saved->files.size(), 2u);
  EXPECT_THAT(documentsIn(pathOf()), ElementsAre(R"({ "_id" : 1 })"));
  EXPECT_THAT(documentsIn(pathOf("test.d")), ElementsAre(R"({ "_id" : 2 })"));
}

TEST_P(RollbackFilesTest, ThereAreNoneForTheServersOwnData) {
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"admin", "system.users"}, {}).status(); }).isOK());
  const bson::Timestamp common = writes->slots.newest();
  ASSERT_TRUE(insertOne(1, "admin.system.users").isOK());
  const auto saved = save(common);
  ASSERT_TRUE(saved.isOK());
  EXPECT_THAT(saved->files, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder())) << "nothing to keep";
}

TEST_P(RollbackFilesTest, MemoryIsBoundedAndNothingIsLostByThat) {
  const bson::Timestamp common = writes->slots.newest();
  std::vector<int> wanted;
  for (int i = 0; i < 500; ++i) wanted.push_back(i);
  ASSERT_TRUE(insertAll(wanted).isOK());
  const auto saved = save(common, 1000);
  ASSERT_TRUE(saved.isOK()) << saved.status().toString();
  EXPECT_EQ(saved->documents, 500);
  const auto found = documentsIn(pathOf());
  ASSERT_EQ(found.size(), 500u);
  EXPECT_EQ(found[499], R"({ "_id" : 499 })");
}

TEST_P(RollbackFilesTest, AFolderThatCannotBeWrittenFailsIt) {
  const bson::Timestamp common = writes->slots.newest();
  ASSERT_TRUE(insertOne(1).isOK());
  std::ofstream(folder()) << "a file in its place";
  const auto saved = save(common);
  EXPECT_FALSE(saved.isOK());
  EXPECT_THAT(saved.status().reason(), ::testing::HasSubstr(folder()));
}

TROUPE_ON_BOTH_ENGINES(RollbackFilesTest);

TEST(RollbackFileTime, IsReadableAndInUtc) { EXPECT_EQ(rollbackFileTime(1'582'088'231'007), "2020-02-19T04-57-11.7"); }

}  // namespace troupe::storage
