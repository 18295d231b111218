#include "storage/engine/log_files.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

constexpr int kRows = 20;

/// What a kill leaves of an engine that has written rows, each in a transaction of its own and on the disk.
class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    TemporaryDirectory directory;
    auto engine = std::move(openWiredTiger(testOptions(directory.path()))).value();
    const Table table = *engine->createTable("t", {.logged = true, .blockCompressor = "none", .appMetadata = ""});
    std::mt19937 random(7);
    for (int i = 0; i < kRows; ++i) {
      std::string value(1500, '\0');
      for (char& each : value) each = static_cast<char>(random());
      Transaction t(*engine, table);
      EXPECT_TRUE(t.put("row" + std::to_string(100 + i), value).commit().isOK());
      EXPECT_TRUE(engine->flushLog().isOK());
    }
    original_ = frozenCopy(directory.path());
    path_ = "/journal/WiredTigerLog.0000000001";
    const LogFile file = std::move(LogFile::read(original_->path() + path_)).value();
    for (size_t at = 0, length; (length = file.recordAt(at)) > 0; at += length)
      if (length > 1500) rows_.push_back({at, length});
    EXPECT_EQ(rows_.size(), kRows);
  }

  struct Record {
    size_t at = 0, length = 0;
  };

  /// How many rows a start finds after `change` of the log; -1: it is refused as damaged.
  int rowsAfter(const std::function<void(std::string&)>& change, bool repair = false) {
    const auto copy = frozenCopy(original_->path());
    std::string bytes(std::move(LogFile::read(copy->path() + path_)).value().bytes());
    change(bytes);
    std::ofstream(copy->path() + path_, std::ios::binary | std::ios::trunc) << bytes;
    WiredTigerOptions options = testOptions(copy->path());
    options.salvageMetadata = repair;
    auto opened = openWiredTiger(options);
    if (!opened.isOK()) {
      EXPECT_EQ(opened.status(), ErrorCode::kDataCorruptionDetected) << opened.status().toString();
      return -1;
    }
    Transaction t(**opened, *(*opened)->openTable("t"));
    auto cursor = t.cursor();
    int rows = 0;
    while (*cursor->next()) ++rows;
    return rows;
  }

  std::unique_ptr<TemporaryDirectory> original_;
  std::string path_;
  std::vector<Record> rows_;  ///< in the log
};

TEST_F(LogTest, AllOfItIsReadAfterAKill) {
  EXPECT_EQ(rowsAfter([](std::string&) {}), kRows);
}

TEST_F(LogTest, DamageThatARecordFollowsIsNotItsEnd) {
  const Record damaged = rows_[kRows / 2];
  for (const size_t at : {size_t{0}, size_t{1}, size_t{4}, size_t{200}, damaged.length - 200}) {
    const auto flip = [&](std::string& bytes) { bytes[damaged.at + at] ^= 1; };
    EXPECT_EQ(rowsAfter(flip), -1) << at;
    EXPECT_EQ(rowsAfter(flip, /*repair=*/true), kRows / 2) << at;
  }
}

TEST_F(LogTest, WhatAKillMayLeaveIsItsEnd) {
  const Record last = rows_.back();
  EXPECT_EQ(rowsAfter([&](std::string& bytes) { bytes[last.at + 200] ^= 1; }), kRows - 1)
      << "a record that is not whole";
  EXPECT_EQ(
      rowsAfter([&](std::string& bytes) { bytes.replace(last.at + 500, last.length - 500, last.length - 500, '\0'); }),
      kRows - 1);
  const Record hole = rows_[kRows - 3];
  EXPECT_EQ(rowsAfter([&](std::string& bytes) { bytes.replace(hole.at, hole.length, hole.length, '\0'); }), kRows - 3)
      << "written by a thread that was not done";
  EXPECT_EQ(
      rowsAfter([&](std::string& bytes) { bytes.replace(hole.at + 800, hole.length - 800, hole.length - 800, '\0'); }),
      kRows - 3)
      << "of which a part was written";
}

/// Where the log goes on in another file.
TEST(LogFiles, ADamagedLastRecordBeforeAnotherFileIsNotItsEnd) {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/journal");
  const std::string record = LogFile::makeRecord(std::string(1300, 'x'));
  const auto write = [&](int number, const std::string& bytes) {
    std::ofstream(directory.path() + "/journal/WiredTigerLog.000000000" + std::to_string(number), std::ios::binary)
        << bytes << std::string(4096, '\0');
  };
  std::string damaged = record, torn = record;
  damaged[700] ^= 1;
  torn.replace(512, torn.size() - 512, torn.size() - 512, '\0');

  write(1, record + damaged);
  EXPECT_TRUE(checkLog(testOptions(directory.path())).isOK()) << "cannot be told from a kill";
  write(2, record);
  EXPECT_EQ(checkLog(testOptions(directory.path())), ErrorCode::kDataCorruptionDetected);
  write(1, record + torn);
  EXPECT_TRUE(checkLog(testOptions(directory.path())).isOK());
  write(1, record + record);
  EXPECT_TRUE(checkLog(testOptions(directory.path())).isOK());
  write(2, damaged + record);
  EXPECT_EQ(checkLog(testOptions(directory.path())), ErrorCode::kDataCorruptionDetected);
  for (const auto& [checkpoint, isRead] : {std::pair{"2,128", true}, {"3,128", true}, {"4,128", false}}) {
    std::ofstream(directory.path() + "/WiredTiger.turtle")
        << "file:WiredTiger.wt\ncheckpoint_lsn=(" << checkpoint << ")\n";
    EXPECT_EQ(checkLog(testOptions(directory.path())).isOK(), !isRead)
        << "a recovery may begin a file before the checkpoint that is named, and no earlier";
  }
}

/// Pages and sectors are written in any order; the least that may be missing of a record is what it has of its last
/// one.
TEST(LogFiles, ARecordThatLacksTheEndOfItsLastSectorIsTheEnd) {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/journal");
  const std::string first = LogFile::makeRecord(std::string(1024 - LogFile::kHeaderBytes, 'x'));
  std::string torn = LogFile::makeRecord(std::string(1152 - LogFile::kHeaderBytes, 'x'));
  torn.replace(1024, 128, 128, '\0');
  for (const std::string& follows : {std::string(), first}) {
    const std::string path = directory.path() + "/journal/WiredTigerLog.000000000";
    std::ofstream(path + "1", std::ios::binary) << first + torn + follows + std::string(4096, '\0');
    std::ofstream(path + "2", std::ios::binary) << first + std::string(4096, '\0');
    EXPECT_TRUE(checkLog(testOptions(directory.path())).isOK());
  }
}

/// Of records that a client has stored none is taken for one of the log.
TEST(LogFiles, WhatATornRecordHoldsDoesNotFollowIt) {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/journal");
  const std::string inner = LogFile::makeRecord(std::string(100, 'x'));
  std::string torn =
      LogFile::makeRecord(std::string(128 - LogFile::kHeaderBytes, 'x') + inner + std::string(2000, 'x'));
  torn.replace(1024, torn.size() - 1024, torn.size() - 1024, '\0');
  std::ofstream(directory.path() + "/journal/WiredTigerLog.0000000001", std::ios::binary)
      << LogFile::makeRecord("x") + torn + std::string(4096, '\0');
  EXPECT_TRUE(checkLog(testOptions(directory.path())).isOK());
}

}  // namespace
}  // namespace troupe::storage
