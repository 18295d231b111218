#include "storage/engine/wiredtiger_adoption.hpp"

#include <cerrno>
#include <filesystem>

#include "storage/engine/open_failure.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

std::unique_ptr<Engine> openedEngine(const std::string& path) {
  auto opened = openWiredTiger(testOptions(path));
  EXPECT_TRUE(opened.isOK()) << opened.status().toString();
  return opened.isOK() ? std::move(opened).value() : nullptr;
}

int rowsOfT(Engine& engine) {
  EXPECT_EQ(engine.verifyTable("t").toString(), Status::OK().toString());
  const Table table = *engine.openTable("t");
  Transaction t(engine, table);
  auto cursor = t.cursor();
  int rows = 0;
  while (*cursor->next()) ++rows;
  return rows;
}

/// Takes the description of a table's file out of the metadata, and leaves that of the table.
void loseDescription(const std::string& path, const std::string& ident) {
  WT_CONNECTION* connection = nullptr;
  WT_SESSION* session = nullptr;
  constexpr const char* kConfig =
      "log=(enabled=false),extensions=[libwiredtiger_snappy.so,"
      "libwiredtiger_zlib.so,local={entry=troupe_journal_compressor}]";
  ASSERT_EQ(wiredtiger_open(path.c_str(), nullptr, kConfig, &connection), 0);
  ASSERT_EQ(connection->open_session(connection, nullptr, nullptr, &session), 0);
  EXPECT_EQ(session->drop(session, ("file:" + ident + ".wt").c_str(), "remove_files=false"), 0);
  EXPECT_EQ(connection->close(connection, nullptr), 0);
}

TEST(WiredTigerAdoption, ATableWhoseFileIsNotDescribedAnyMoreIsTakenUpWithAllThatItHolds) {
  for (const char* compressor : {"none", "snappy", "zlib"}) {
    TemporaryDirectory directory;
    {
      auto engine = openedEngine(directory.path());
      const Table table =
          *engine->createTable("t", {.logged = false, .blockCompressor = compressor, .appMetadata = "recordIds=bytes"});
      Transaction t(*engine, table);
      for (int i = 0; i < 5000; ++i) t.put("key" + std::to_string(100000 + i), std::string(200, 'v'));
      ASSERT_TRUE(t.commit().isOK());
    }
    loseDescription(directory.path(), "t");
    auto engine = openedEngine(directory.path());
    EXPECT_FALSE(engine->verifyTable("t").isOK());
    ASSERT_EQ(engine->salvageTable("t").toString(), Status::OK().toString()) << compressor;
    EXPECT_EQ(rowsOfT(*engine), 5000) << compressor;
    EXPECT_NE(engine->tableMetadata("t").value().find("recordIds=bytes"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(directory.path() + "/t.wt.kept"));
    engine.reset();
    engine = openedEngine(directory.path());
    EXPECT_EQ(rowsOfT(*engine), 5000) << compressor;
  }
}

/// What the file was renamed to is all that a kill may leave.
TEST(WiredTigerAdoption, AKillWhileATableIsTakenUpCostsNothing) {
  TemporaryDirectory directory;
  {
    auto engine = openedEngine(directory.path());
    const Table table = *engine->createTable("t", {});
    Transaction t(*engine, table);
    t.put("a", "1");
    ASSERT_TRUE(t.commit().isOK());
  }
  loseDescription(directory.path(), "t");
  std::filesystem::rename(directory.path() + "/t.wt", directory.path() + "/t.wt.kept");
  auto engine = openedEngine(directory.path());
  ASSERT_EQ(engine->salvageTable("t").toString(), Status::OK().toString());
  EXPECT_EQ(rowsOfT(*engine), 1);
}

TEST(WiredTigerOpenFailure, ADiskThatFailsIsNoReasonForARepairToCutTheLog) {
  const std::string text = "x.wt: handle-read: pread: failed to read 512 bytes at offset 0: Input/output error";
  EXPECT_FALSE(isOfDamage(openFailure(WT_PANIC, text, /*reportsDamage=*/true, "/data")));
  EXPECT_FALSE(isOfDamage(openFailure(EIO, "", false, "/data")));
  EXPECT_TRUE(isOfDamage(openFailure(WT_PANIC, "x.wt: read checksum error", true, "/data")));
}

}  // namespace
}  // namespace troupe::storage
