// Promises of the WiredTiger engine beyond the contract: opening, options, real kills and damage.
#include "storage/engine/wiredtiger_engine.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wiredtiger.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <random>

#include "storage/engine/repair_mark.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

std::unique_ptr<Engine> openOrFail(const WiredTigerOptions& options) {
  auto opened = openWiredTiger(options);
  EXPECT_TRUE(opened.isOK()) << opened.status().toString();
  return opened.isOK() ? std::move(opened).value() : nullptr;
}

/// Overwrites the middle of a file.
void damage(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  ASSERT_TRUE(file) << path;
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 2));
  file << std::string(256, 'X');
}

TEST(WiredTigerEngine, ASecondOpenerIsToldWhoHasIt) {
  TemporaryDirectory directory;
  auto engine = openOrFail(testOptions(directory.path()));
  const Status second = openWiredTiger(testOptions(directory.path())).status();
  EXPECT_EQ(second.code(), ErrorCode::kDBPathInUse);
  EXPECT_NE(second.reason().find(std::to_string(::getpid())), std::string::npos);
  engine.reset();
  EXPECT_TRUE(openWiredTiger(testOptions(directory.path())).isOK());
}

TEST(WiredTigerEngine, ForeignAndNewerDataIsRefused) {
  TemporaryDirectory directory;
  openOrFail(testOptions(directory.path())).reset();
  std::ofstream(directory.path() + "/troupe.format") << "formatVersion: 99\n";
  EXPECT_EQ(openWiredTiger(testOptions(directory.path())).status().code(), ErrorCode::kUnsupportedFormat);
  std::filesystem::remove(directory.path() + "/troupe.format");
  EXPECT_EQ(openWiredTiger(testOptions(directory.path())).status().code(), ErrorCode::kUnsupportedFormat);
}

TEST(WiredTigerEngine, AMissingDirectoryIsAClearError) {
  EXPECT_EQ(openWiredTiger(testOptions("/nonexistent/data")).status().code(), ErrorCode::kNonExistentPath);
}

TEST(WiredTigerEngine, AMissingFileIsAClearError) {
  TemporaryDirectory directory;
  auto engine = openOrFail(testOptions(directory.path()));
  ASSERT_TRUE(engine->createTable("t", {}).isOK());
  engine.reset();
  std::filesystem::remove(directory.path() + "/t.wt");
  const Status opened = openWiredTiger(testOptions(directory.path())).status();
  EXPECT_EQ(opened.code(), ErrorCode::kDataCorruptionDetected);
  EXPECT_NE(opened.reason().find("lacks files of tables: t.wt"), std::string::npos) << opened.reason();
}

/// A table of declared column groups has no file until these are made, as one has whose creation a kill cut short.
TEST(WiredTigerEngine, ATableWhoseCreationWasCutShortStopsNoStart) {
  TemporaryDirectory directory;
  openOrFail(testOptions(directory.path())).reset();
  WT_CONNECTION* connection = nullptr;
  WT_SESSION* session = nullptr;
  const char* config = "extensions=[local={entry=troupe_journal_compressor}],log=(enabled=true,path=journal)";
  ASSERT_EQ(wiredtiger_open(directory.path().c_str(), nullptr, config, &connection), 0);
  ASSERT_EQ(connection->open_session(connection, nullptr, nullptr, &session), 0);
  ASSERT_EQ(session->create(session, "table:cut", "key_format=u,value_format=u,columns=(k,v),colgroups=(rows)"), 0);
  ASSERT_EQ(connection->close(connection, nullptr), 0);

  const auto engine = openOrFail(testOptions(directory.path()));
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->listTables(), std::vector<std::string>{"cut"});
  EXPECT_TRUE(engine->dropTable("cut").isOK());
  EXPECT_TRUE(engine->listTables().empty());
}

TEST(WiredTigerEngine, DamagedMetadataIsAClearError) {
  TemporaryDirectory directory;
  openOrFail(testOptions(directory.path())).reset();
  std::ofstream(directory.path() + "/WiredTiger.turtle", std::ios::trunc) << "garbage";
  std::string messages;
  WiredTigerOptions options = testOptions(directory.path());
  options.onMessage = [&](WiredTigerOptions::Level, std::string_view text) { messages.append(text); };
  const Status status = openWiredTiger(options).status();
  EXPECT_EQ(status.code(), ErrorCode::kManualInterventionRequired) << status.toString();
  EXPECT_NE(status.reason().find("restore a backup"), std::string::npos);
  EXPECT_EQ(status.reason().find('\n'), std::string::npos);
  EXPECT_FALSE(messages.empty());
}

TEST(WiredTigerEngine, OpensNoDirectoryThatLacksTheFileOfATable) {
  TemporaryDirectory directory;
  {
    auto engine = openOrFail(testOptions(directory.path()));
    for (const char* ident : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(engine->createTable(ident, {}).isOK());
  }
  for (const char* file : {"/a.wt", "/b.wt", "/c.wt", "/d.wt"}) std::filesystem::remove(directory.path() + file);
  const Status status = openWiredTiger(testOptions(directory.path())).status();
  EXPECT_EQ(status.code(), ErrorCode::kDataCorruptionDetected) << status.toString();
  EXPECT_NE(status.reason().find("a.wt, b.wt, c.wt and 1 more"), std::string::npos) << status.reason();
  WiredTigerOptions repair = testOptions(directory.path());
  repair.salvageMetadata = true;
  EXPECT_TRUE(openWiredTiger(repair).isOK());
}

TEST(WiredTigerEngine, ADamagedTableIsFoundByVerifyAndRescuedBySalvage) {
  TemporaryDirectory directory;
  {
    auto engine = openOrFail(testOptions(directory.path()));
    const Table table = *engine->createTable("t", {.logged = false, .blockCompressor = "none", .appMetadata = ""});
    Transaction t(*engine, table);
    for (int i = 0; i < 5000; ++i) t.put("key" + std::to_string(100000 + i), std::string(200, 'v'));
    ASSERT_TRUE(t.commit().isOK());
  }
  damage(directory.path() + "/t.wt");
  auto engine = openOrFail(testOptions(directory.path()));
  EXPECT_EQ(engine->verifyTable("t").code(), ErrorCode::kManualInterventionRequired);
  ASSERT_EQ(engine->salvageTable("t").toString(), Status::OK().toString());
  EXPECT_EQ(engine->verifyTable("t").toString(), Status::OK().toString());
  const Table table = *engine->openTable("t");
  Transaction t(*engine, table);
  auto cursor = t.cursor();
  int rows = 0;
  while (*cursor->next()) ++rows;
  EXPECT_GT(rows, 4000);
  EXPECT_LT(rows, 5000);
}

/// What a kill leaves of two tables with 3000 rows in a checkpoint, 2000 more in the log, and a table made since.
std::unique_ptr<TemporaryDirectory> killedDirectory() {
  TemporaryDirectory directory;
  auto engine = openOrFail(testOptions(directory.path()));
  const auto put = [&](const char* ident, int from, int to) {
    const Table table = *engine->openTable(ident);
    Transaction t(*engine, table);
    for (int i = from; i < to; ++i) t.put("key" + std::to_string(100000 + i), std::string(200, 'v'));
    EXPECT_TRUE(t.commit().isOK());
  };
  for (const char* ident : {"a", "b"}) EXPECT_TRUE(engine->createTable(ident, {}).isOK());
  for (const char* ident : {"a", "b"}) put(ident, 0, 3000);
  EXPECT_TRUE(engine->checkpoint({}).isOK());
  EXPECT_TRUE(engine->createTable("late", {}).isOK());
  for (const char* ident : {"a", "b", "late"}) put(ident, 3000, 5000);
  EXPECT_TRUE(engine->flushLog().isOK());
  return frozenCopy(directory.path());
}

int rowsOf(Engine& engine, const char* ident) {
  EXPECT_EQ(engine.verifyTable(ident).toString(), Status::OK().toString()) << ident;
  const Table table = *engine.openTable(ident);
  Transaction t(engine, table);
  auto cursor = t.cursor();
  int rows = 0;
  while (*cursor->next()) ++rows;
  return rows;
}

/// Changes the killed directory, which then must not open, and opens it for a repair. Returns its rows of the tables.
std::vector<int> rowsAfterARepair(const std::function<void(const std::string&)>& change, const std::string& damaged) {
  const auto directory = killedDirectory();
  change(directory->path());
  WiredTigerOptions options = testOptions(directory->path());
  const Status refused = openWiredTiger(options).status();
  EXPECT_TRUE(refused == ErrorCode::kDataCorruptionDetected || refused == ErrorCode::kManualInterventionRequired)
      << refused.toString();
  options.salvageMetadata = true;
  auto engine = openOrFail(options);
  EXPECT_EQ(RepairMark(options.path).damaged(), std::set<std::string>{damaged});
  EXPECT_FALSE(std::filesystem::exists(options.path + "/troupe.rescue"));
  std::vector<int> rows;
  for (const char* ident : {"a", "b", "late"}) rows.push_back(engine ? rowsOf(*engine, ident) : -1);
  return rows;
}

TEST(WiredTigerEngine, ADamagedTableCostsNoOtherTableWhatTheLogHolds) {
  const std::vector<int> rows = rowsAfterARepair(
      [](const std::string& path) {
        const std::string file = path + "/b.wt";
        std::string content;
        {
          std::ifstream in(file, std::ios::binary);
          content.assign(std::istreambuf_iterator<char>(in), {});
        }
        // All but the first blocks of rows: the log's first row for the table meets one.
        for (size_t at = content.size() / 3; at < content.size(); at += 512) content[at + 100] ^= 1;
        std::ofstream(file, std::ios::binary) << content;
      },
      "b");
  EXPECT_EQ(rows[0], 5000);
  EXPECT_GE(rows[1], 2000) << "what the log holds";
  EXPECT_LT(rows[1], 5000);
  EXPECT_EQ(rows[2], 2000);
}

TEST(WiredTigerEngine, ATableWithDamagedFirstBytesIsRescuedWhole) {
  EXPECT_EQ(rowsAfterARepair(
                [](const std::string& path) {
                  std::fstream(path + "/b.wt", std::ios::in | std::ios::out | std::ios::binary) << "XXXXXXXX";
                },
                "b"),
            (std::vector<int>{5000, 5000, 2000}));
}

TEST(WiredTigerEngine, OfAMissingTableTheLogIsKept) {
  EXPECT_EQ(rowsAfterARepair([](const std::string& path) { std::filesystem::remove(path + "/b.wt"); }, "b"),
            (std::vector<int>{5000, 2000, 2000}));
}

TEST(WiredTigerEngine, ADamagedTableThatNoCheckpointKnowsIsMadeOfTheLog) {
  EXPECT_EQ(
      rowsAfterARepair([](const std::string& path) { std::filesystem::resize_file(path + "/late.wt", 300); }, "late"),
      (std::vector<int>{5000, 5000, 2000}));
}

TEST(WiredTigerEngine, OpeningADamagedFileIsDataCorruption) {
  for (const int from : {0, 512}) {  // its header, or all but that: the table's root is not to be had
    SCOPED_TRACE(from);
    TemporaryDirectory directory;
    {
      auto engine = openOrFail(testOptions(directory.path()));
      const Table table = *engine->createTable("t", {});
      Transaction t(*engine, table);
      t.put("k", "v");
      ASSERT_TRUE(t.commit().isOK());
    }
    const std::string path = directory.path() + "/t.wt";
    const auto bytes = std::filesystem::file_size(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(from);
    file << std::string(from == 0 ? 8 : bytes - static_cast<size_t>(from), '\0');
    file.close();
    auto engine = openOrFail(testOptions(directory.path()));
    const Table table = *engine->openTable("t");
    auto session = std::move(engine->openSession()).value();
    ASSERT_TRUE(session->begin({}).isOK());
    const Status opened = session->cursor(table).status();
    EXPECT_EQ(opened, ErrorCode::kDataCorruptionDetected) << opened.toString();
  }
}

TEST(WiredTigerEngine, ReadingADamagedBlockPanicsOnceAndClosesCleanly) {
  TemporaryDirectory directory;
  {
    auto engine = openOrFail(testOptions(directory.path()));
    const Table table = *engine->createTable("t", {.logged = false, .blockCompressor = "none", .appMetadata = ""});
    Transaction t(*engine, table);
    for (int i = 0; i < 5000; ++i) t.put("key" + std::to_string(100000 + i), std::string(200, 'v'));
    ASSERT_TRUE(t.commit().isOK());
  }
  damage(directory.path() + "/t.wt");
  std::atomic<int> panics{0};
  WiredTigerOptions options = testOptions(directory.path());
  options.onPanic = [&](const Status&) { ++panics; };
  std::string said;
  options.onMessage = [&](WiredTigerOptions::Level, std::string_view text) { said.append(text).append("\n"); };
  auto engine = openOrFail(options);
  const Table table = *engine->openTable("t");
  Status failure;
  {
    Transaction t(*engine, table);
    auto cursor = t.cursor();
    auto more = cursor->next();
    while (more.isOK() && *more) more = cursor->next();
    failure = more.status();
  }
  EXPECT_EQ(failure.code(), ErrorCode::kDataCorruptionDetected) << failure.toString();
  EXPECT_NE(failure.reason().find("t.wt"), std::string::npos) << failure.reason();
  EXPECT_EQ(engine->flushLog().code(), ErrorCode::kDataCorruptionDetected);
  EXPECT_EQ(panics, 1);
  EXPECT_NE(said.find("checksum error"), std::string::npos) << said;
  EXPECT_EQ(said.find("chunk"), std::string::npos) << "the block's contents are in the log: " << said;
  engine.reset();
  EXPECT_TRUE(openWiredTiger(testOptions(directory.path())).isOK());
}

int logFiles(const std::string& directory) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/journal"))
    count += entry.path().filename().string().starts_with("WiredTigerLog.");
  return count;
}

TEST(WiredTigerEngine, TheLogIsCompressedAndItsOldFilesGoAfterACheckpoint) {
  TemporaryDirectory directory;
  auto engine = openOrFail(testOptions(directory.path()));  // log files of one megabyte
  const Table table = *engine->createTable("t", {});
  constexpr int kRows = 200, kBytes = 100'000;
  const auto before = engine->statistics().logBytesWritten;
  std::mt19937 random(1);
  for (int i = 0; i < kRows; ++i) {
    std::string value(kBytes, 'v');
    for (int k = 0; k < kBytes / 4; ++k)
      value[static_cast<size_t>(k)] = static_cast<char>(random());  // a quarter is noise
    ASSERT_TRUE(Transaction(*engine, table).put("key" + std::to_string(i), value).commit().isOK());
  }
  ASSERT_TRUE(engine->flushLog().isOK());
  const auto written = engine->statistics().logBytesWritten - before;
  EXPECT_GT(written, int64_t{kRows} * kBytes / 4);
  EXPECT_LT(written, int64_t{kRows} * kBytes / 2);
  EXPECT_GE(logFiles(directory.path()), 5);
  // The engine's own thread removes them; it wakes with the log's use.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int i = 0; logFiles(directory.path()) > 2; ++i) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << logFiles(directory.path()) << " files are left";
    ASSERT_TRUE(Transaction(*engine, table).put("again", std::to_string(i)).commit().isOK());
    ASSERT_TRUE(engine->flushLog().isOK());
    ASSERT_TRUE(engine->checkpoint().isOK());
  }
}

TEST(WiredTigerEngine, ShortRecordsOfTheLogAreNotCompressed) {
  TemporaryDirectory directory;
  auto engine = openOrFail(testOptions(directory.path()));
  const Table table = *engine->createTable("t", {});
  constexpr int kRows = 100;
  const auto bytesWritten = [&](const std::string& prefix, size_t bytes) {
    const auto before = engine->statistics().logBytesWritten;
    for (int i = 0; i < kRows; ++i) {
      const Status committed =
          Transaction(*engine, table).put(prefix + std::to_string(i), std::string(bytes, 'v')).commit();
      EXPECT_TRUE(committed.isOK()) << committed.toString();
    }
    EXPECT_TRUE(engine->flushLog().isOK());
    return engine->statistics().logBytesWritten - before;
  };
  EXPECT_GT(bytesWritten("short", 1000), kRows * 1000);
  EXPECT_LT(bytesWritten("long", 10'000), kRows * 2'000);
}

/// A crash leaves records of both lengths in the log, which the other compressor has to read.
TEST(WiredTigerEngine, LogsOfTheEnginesOwnSnappyModuleAndOursAreReadByEachOther) {
  const std::string shortValue(500, 's'), longValue(50'000, 'l');
  for (const auto& [writer, reader] : {std::pair<std::string, std::string>{"snappy", kJournalCompressor},
                                       std::pair<std::string, std::string>{kJournalCompressor, "snappy"}}) {
    TemporaryDirectory directory;
    WiredTigerOptions options = testOptions(directory.path());
    options.logCompressor = writer;
    auto engine = openOrFail(options);
    const Table table = *engine->createTable("t", {});
    ASSERT_TRUE(engine->checkpoint().isOK());
    ASSERT_TRUE(Transaction(*engine, table).put("short", shortValue).commit().isOK());
    ASSERT_TRUE(Transaction(*engine, table).put("long", longValue).commit().isOK());
    ASSERT_TRUE(engine->flushLog().isOK());
    const auto survivor = frozenCopy(directory.path());
    options.path = survivor->path();
    options.logCompressor = reader;
    auto recovered = openOrFail(options);
    ASSERT_TRUE(recovered) << writer << " read by " << reader;
    const Table again = *recovered->openTable("t");
    EXPECT_EQ(Transaction(*recovered, again).read("short"), shortValue) << reader;
    EXPECT_EQ(Transaction(*recovered, again).read("long"), longValue) << reader;
  }
}

TEST(WiredTigerEngine, WithoutAJournalAFlushIsACheckpoint) {
  TemporaryDirectory directory;
  WiredTigerOptions options = testOptions(directory.path());
  options.journalEnabled = false;
  auto engine = openOrFail(options);
  const Table table = *engine->createTable("t", {});
  ASSERT_TRUE(Transaction(*engine, table).put("k", "v").commit().isOK());
  ASSERT_TRUE(engine->flushLog().isOK());
  EXPECT_EQ(engine->statistics().checkpoints, 1);
  const auto survivor = frozenCopy(directory.path());
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/journal"));
  options.path = survivor->path();
  auto recovered = openOrFail(options);
  const Table again = *recovered->openTable("t");
  EXPECT_EQ(Transaction(*recovered, again).read("k"), "v");
}

TEST(WiredTigerEngine, UnloggedWritesCanBeRecordedForDebuggingWithoutBeingRecovered) {
  TemporaryDirectory directory;
  WiredTigerOptions options = testOptions(directory.path());
  options.logUnloggedTables = true;
  auto engine = openOrFail(options);
  const Table table = *engine->createTable("u", {.logged = false, .blockCompressor = "none", .appMetadata = ""});
  ASSERT_TRUE(engine->checkpoint().isOK());
  const int64_t before = engine->statistics().logBytesWritten;
  std::string noise(100'000, ' ');  // which the log cannot compress
  std::mt19937 random(7);
  for (char& c : noise) c = static_cast<char>(random());
  ASSERT_TRUE(Transaction(*engine, table).put("k", noise).commit().isOK());
  ASSERT_TRUE(engine->flushLog().isOK());
  EXPECT_GT(engine->statistics().logBytesWritten, before + 50'000);
  const auto survivor = frozenCopy(directory.path());
  options.path = survivor->path();
  auto recovered = openOrFail(options);
  const Table again = *recovered->openTable("u");
  EXPECT_EQ(Transaction(*recovered, again).read("k"), "-");
}

TEST(WiredTigerEngine, ABackupKeepsTheLogAndListsWhatComesLater) {
  WiredTigerHarness harness;
  Engine& engine = harness.engine();
  const Table table = *engine.createTable("t", {});
  ASSERT_TRUE(engine.checkpoint().isOK());
  auto backup = std::move(engine.beginBackup()).value();
  const auto logs = *backup->logFiles();
  for (int i = 0; i < 30; ++i) {  // log files of one megabyte
    std::string noise(200'000, ' ');
    std::mt19937 random(static_cast<uint32_t>(i));
    for (char& c : noise) c = static_cast<char>(random());
    ASSERT_TRUE(Transaction(engine, table).put("k" + std::to_string(i), noise).commit().isOK());
  }
  ASSERT_TRUE(engine.flushLog().isOK());
  ASSERT_TRUE(engine.checkpoint().isOK());
  const auto later = *backup->logFiles();
  EXPECT_GT(later.size(), logs.size() + 3);
  for (const std::string& file : backup->files()) EXPECT_TRUE(std::filesystem::exists(file)) << file;
  for (const std::string& file : later) EXPECT_TRUE(std::filesystem::exists(file)) << file;
}

/// What a SIGKILL leaves would be there without a sync, too: the kernel has it. Only the counter tells that it reaches
/// the disk.
TEST(WiredTigerEngine, EachFlushOfTheLogSyncsItsFile) {
  TemporaryDirectory directory;
  auto engine = openOrFail(testOptions(directory.path()));
  ASSERT_TRUE(engine->createTable("t", {}).isOK());
  const Table table = *engine->openTable("t");
  auto session = std::move(engine->openSession()).value();
  for (int i = 0; i < 20; ++i) {
    const int64_t before = engine->statistics().logSyncs;
    ASSERT_TRUE(session->begin().isOK());
    ASSERT_TRUE(std::move(session->cursor(table)).value()->put(std::to_string(i), "v").isOK());
    ASSERT_TRUE(session->commit().isOK());
    ASSERT_TRUE(engine->flushLog().isOK());
    EXPECT_GT(engine->statistics().logSyncs, before) << "flush " << i;
  }
}

TEST(WiredTigerEngine, MoreCursorsThanAreCachedWork) {
  WiredTigerHarness harness;
  std::vector<Table> tables;
  for (int i = 0; i < 100; ++i) tables.push_back(*harness.engine().createTable("t" + std::to_string(i), {}));
  auto session = std::move(harness.engine().openSession()).value();
  ASSERT_TRUE(session->begin().isOK());
  for (int round = 0; round < 2; ++round) {
    for (const Table& table : tables) ASSERT_TRUE((*session->cursor(table))->put(table.ident, "v").isOK());
  }
  ASSERT_TRUE(session->commit().isOK());
  EXPECT_EQ(Transaction(harness.engine(), tables[99]).rows(), "t99=v");
}

/// A child process that writes rows and flushes, telling the number of each flushed row through a pipe until it is
/// killed.
[[noreturn]] void writeUntilKilled(const std::string& path, int pipe) {
  auto opened = openWiredTiger(testOptions(path));
  if (!opened.isOK()) ::_exit(1);
  Engine& engine = *opened.value();
  auto table = engine.createTable("t", {});
  auto session = engine.openSession();
  for (uint32_t i = 0; table.isOK() && session.isOK(); ++i) {
    const std::string key = std::to_string(1'000'000 + i);
    (void)(*session)->begin();
    (void)(*(*session)->cursor(*table))->insert(key, key);
    if (!(*session)->commit().isOK() || !engine.flushLog().isOK()) break;
    if (::write(pipe, &i, sizeof i) != sizeof i) break;
  }
  ::_exit(2);
}

TEST(WiredTigerEngine, AKilledProcessLosesNothingThatWasFlushed) {
  TemporaryDirectory directory;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) writeUntilKilled(directory.path(), ends[1]);
  ::close(ends[1]);
  uint32_t acknowledged = 0;
  while (acknowledged < 50 && ::read(ends[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
  }
  ::kill(child, SIGKILL);
  int how = 0;
  ::waitpid(child, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how));
  for (uint32_t more = 0; ::read(ends[0], &more, sizeof more) == sizeof more;) acknowledged = more;
  ::close(ends[0]);
  auto engine = openOrFail(testOptions(directory.path()));
  const Table table = *engine->openTable("t");
  Transaction t(*engine, table);
  for (uint32_t i = 0; i <= acknowledged; ++i) {
    const std::string key = std::to_string(1'000'000 + i);
    ASSERT_EQ(t.read(key), key);
  }
}

}  // namespace
}  // namespace troupe::storage
