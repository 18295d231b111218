// Tables of older formats get checksums on every block; a copy that a kill interrupted is finished or made again.
#include "storage/engine/wiredtiger_rewrite.hpp"

#include <wiredtiger.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

using Rows = std::map<std::string, std::string>;

constexpr const char* kOldConfig =
    "key_format=u,value_format=u,allocation_size=512,leaf_value_max=64MB,block_compressor=snappy,log=(enabled=true),"
    "app_metadata=(formatVersion=1)";

Rows sampleRows() {
  Rows rows;
  for (int i = 0; i < 3000; ++i)
    rows["key" + std::to_string(100000 + i)] = std::string(300, static_cast<char>('a' + i % 7));
  return rows;
}

/// The directory's database as WiredTiger itself sees it.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path) {
    EXPECT_EQ(wiredtiger_open(path.c_str(), nullptr,
                              "extensions=[libwiredtiger_snappy.so,libwiredtiger_zlib.so,"
                              "local={entry=troupe_journal_compressor}],log=(enabled=true,path=journal,file_max=1MB,"
                              "compressor=snappy-journal)",
                              &connection_),
              0);
    EXPECT_EQ(connection_->open_session(connection_, nullptr, nullptr, &session_), 0);
  }
  ~RawDatabase() { connection_->close(connection_, nullptr); }

  void create(const std::string& ident, const char* config, const Rows& rows) {
    ASSERT_EQ(session_->create(session_, ("table:" + ident).c_str(), config), 0);
    WT_CURSOR* cursor = nullptr;
    ASSERT_EQ(session_->open_cursor(session_, ("table:" + ident).c_str(), nullptr, nullptr, &cursor), 0);
    for (const auto& [key, value] : rows) {
      WT_ITEM keyItem{}, valueItem{};
      keyItem.data = key.data();
      keyItem.size = key.size();
      valueItem.data = value.data();
      valueItem.size = value.size();
      cursor->set_key(cursor, &keyItem);
      cursor->set_value(cursor, &valueItem);
      ASSERT_EQ(cursor->insert(cursor), 0);
    }
    cursor->close(cursor);
  }
  /// Its metadata only, as a kill within a drop may leave a table.
  void forgetFile(const std::string& ident) {
    ASSERT_EQ(session_->drop(session_, ("file:" + ident + ".wt").c_str(), "remove_files=false"), 0);
  }
  std::string metadata(const std::string& uri) {
    WT_CURSOR* cursor = nullptr;
    EXPECT_EQ(session_->open_cursor(session_, "metadata:", nullptr, nullptr, &cursor), 0);
    cursor->set_key(cursor, uri.c_str());
    const char* config = "";
    if (cursor->search(cursor) == 0) (void)cursor->get_value(cursor, &config);
    std::string found = config;
    cursor->close(cursor);
    return found;
  }

 private:
  WT_CONNECTION* connection_ = nullptr;
  WT_SESSION* session_ = nullptr;
};

class RewriteTest : public ::testing::Test {
 protected:
  RewriteTest() { open().reset(); }

  std::unique_ptr<Engine> open(WiredTigerOptions options) {
    auto opened = openWiredTiger(options);
    EXPECT_TRUE(opened.isOK()) << opened.status().toString();
    return opened.isOK() ? std::move(opened).value() : nullptr;
  }
  std::unique_ptr<Engine> open() { return open(testOptions(directory_.path())); }

  Rows rows(Engine& engine, const std::string& ident) {
    Rows found;
    auto session = std::move(engine.openSession()).value();
    EXPECT_TRUE(session->begin().isOK());
    auto cursor = std::move(session->cursor(*engine.openTable(ident))).value();
    for (auto more = cursor->next(); more.isOK() && *more; more = cursor->next())
      found.emplace(cursor->key(), cursor->value());
    return found;
  }
  bool isChecksummed(const std::string& ident) {
    return RawDatabase(directory_.path()).metadata("file:" + ident + ".wt").find("checksum=on") != std::string::npos;
  }

  TemporaryDirectory directory_;
};

TEST_F(RewriteTest, TablesWithoutChecksumsGetThemAndKeepRowsAndSettings) {
  const Rows wanted = sampleRows();
  RawDatabase(directory_.path()).create("old", kOldConfig, wanted);
  ASSERT_FALSE(isChecksummed("old"));
  {
    auto engine = open();
    EXPECT_EQ(rows(*engine, "old"), wanted);
    EXPECT_EQ(*engine->tableMetadata("old"), "formatVersion=1");
    EXPECT_TRUE(*engine->isLogged("old"));
    EXPECT_EQ(engine->listTables(), std::vector<std::string>{"old"});
    EXPECT_TRUE(engine->verifyTable("old").isOK());
  }
  EXPECT_TRUE(isChecksummed("old"));
}

TEST_F(RewriteTest, UnloggedTablesStayUnlogged) {
  const char* config = "key_format=u,value_format=u,block_compressor=zlib,log=(enabled=false)";
  RawDatabase(directory_.path()).create("old", config, sampleRows());
  auto engine = open();
  EXPECT_EQ(rows(*engine, "old"), sampleRows());
  EXPECT_FALSE(*engine->isLogged("old"));
}

TEST_F(RewriteTest, WhatTheEngineCreatesNeedsNoRewriting) {
  std::vector<std::string> notices;
  auto engine = open();
  ASSERT_TRUE(engine->createTable("new", {}).isOK());
  engine.reset();
  EXPECT_TRUE(isChecksummed("new"));
  WiredTigerOptions options = testOptions(directory_.path());
  options.onMessage = [&](WiredTigerOptions::Level level, std::string_view text) {
    if (level == WiredTigerOptions::Level::kNotice) notices.emplace_back(text);
  };
  engine = open(options);
  EXPECT_TRUE(notices.empty()) << notices.front();
}

TEST_F(RewriteTest, ACopyBesideItsOriginalIsMadeAgain) {
  {
    RawDatabase raw(directory_.path());
    raw.create("old", kOldConfig, sampleRows());
    raw.create("rewritten-old", kOldConfig, {{"key", "half a copy"}});
  }
  auto engine = open();
  EXPECT_EQ(rows(*engine, "old"), sampleRows());
  EXPECT_EQ(engine->listTables(), std::vector<std::string>{"old"});
}

TEST_F(RewriteTest, ACopyWhoseOriginalIsGoneTakesItsPlace) {
  RawDatabase(directory_.path()).create("rewritten-old", kOldConfig, sampleRows());
  auto engine = open();
  EXPECT_EQ(rows(*engine, "old"), sampleRows());
  EXPECT_EQ(engine->listTables(), std::vector<std::string>{"old"});
}

/// WiredTiger removes the file of a dropped table after its metadata: a kill in between leaves it.
TEST_F(RewriteTest, AFileThatADroppedOriginalLeftIsNotInTheWay) {
  RawDatabase(directory_.path()).create("rewritten-old", kOldConfig, sampleRows());
  std::ofstream(directory_.path() + "/old.wt") << "what a kill left";
  auto engine = open();
  EXPECT_EQ(rows(*engine, "old"), sampleRows());
}

TEST_F(RewriteTest, ACopyTakesThePlaceOfAnOriginalWhoseDropWasCutShort) {
  {
    RawDatabase raw(directory_.path());
    raw.create("rewritten-old", kOldConfig, sampleRows());
    raw.create("old", kOldConfig, {});
  }
  RawDatabase(directory_.path()).forgetFile("old");
  auto engine = open();
  ASSERT_TRUE(engine);
  EXPECT_EQ(rows(*engine, "old"), sampleRows());
  EXPECT_EQ(engine->listTables(), std::vector<std::string>{"old"});
}

TEST_F(RewriteTest, ACopyWhoseFileWasRenamedBeforeItsMetadataIsFound) {
  RawDatabase(directory_.path()).create("rewritten-old", kOldConfig, sampleRows());
  std::filesystem::rename(directory_.path() + "/rewritten-old.wt", directory_.path() + "/old.wt");
  auto engine = open();
  EXPECT_EQ(rows(*engine, "old"), sampleRows());
}

TEST_F(RewriteTest, ACopyIsNotGivenUpForATableThatWasMadeAnew) {
  open()->createTable("old", {}).status();
  RawDatabase(directory_.path()).create("rewritten-old", kOldConfig, sampleRows());
  const auto opened = openWiredTiger(testOptions(directory_.path()));
  EXPECT_EQ(opened.status(), ErrorCode::kManualInterventionRequired);
}

TEST_F(RewriteTest, ARepairFinishesAnInterruptedCopy) {
  RawDatabase(directory_.path()).create("rewritten-old", kOldConfig, sampleRows());
  WiredTigerOptions options = testOptions(directory_.path());
  options.rewriteOldTables = false;
  options.salvageMetadata = true;
  auto engine = open(options);
  EXPECT_EQ(rows(*engine, "old"), sampleRows());
}

TEST_F(RewriteTest, ARepairLooksForDamageFirst) {
  RawDatabase(directory_.path()).create("old", kOldConfig, sampleRows());
  WiredTigerOptions options = testOptions(directory_.path());
  options.rewriteOldTables = false;
  open(options).reset();
  EXPECT_FALSE(isChecksummed("old"));
}

/// The check of whole blocks is what a table gains: of flips in compressed blocks most were returned as data before.
TEST_F(RewriteTest, AFlippedBitInACompressedBlockIsDetected) {
  {
    auto engine = open();
    const Table table = *engine->createTable("t", {});
    auto session = std::move(engine->openSession()).value();
    ASSERT_TRUE(session->begin().isOK());
    auto cursor = std::move(session->cursor(table)).value();
    for (const auto& [key, value] : sampleRows()) ASSERT_TRUE(cursor->put(key, value).isOK());
    cursor.reset();
    ASSERT_TRUE(session->commit().isOK());
  }
  // Behind the first 64 bytes of the first block, which had a checksum before as well.
  std::fstream file(directory_.path() + "/t.wt", std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(512 + 400);
  const int byte = file.get();
  file.seekp(512 + 400);
  file.put(static_cast<char>(byte ^ 4));
  file.close();
  auto engine = open();
  EXPECT_EQ(engine->verifyTable("t").code(), ErrorCode::kManualInterventionRequired);
}

}  // namespace
}  // namespace troupe::storage
