#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/engine/deterministic_engine.hpp"
#include "storage/engine/engine.hpp"
#include "storage/engine/wiredtiger_engine.hpp"

namespace troupe::storage {

/// A fresh directory, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// One implementation of the contract with the ways it can stop and start.
class EngineHarness {
 public:
  virtual ~EngineHarness() = default;
  virtual Engine& engine() = 0;
  /// Closes cleanly and opens again. Sessions must be gone.
  virtual void reopen() = 0;
  /// Dies with what is on disk at this moment, and opens that. Sessions must be gone.
  virtual void crash() = 0;
  /// Opens what a crash at this moment would leave, beside this one; sessions and transactions may be open.
  virtual std::unique_ptr<EngineHarness> afterACrash() = 0;
  /// Whether the log may reach the disk without being asked to: WiredTiger writes it every 50 ms.
  virtual bool flushesByItself() const = 0;
  /// Copies what an open backup of this engine lists, now, and opens the copy.
  virtual std::unique_ptr<EngineHarness> restore(const Backup& backup) = 0;
};

inline WiredTigerOptions testOptions(const std::string& path) {
  WiredTigerOptions options;
  options.path = path;
  options.cacheBytes = 64 << 20;
  options.logFileMaxBytes = 1 << 20;
  return options;
}

/// Names and sizes of all files below a directory.
inline std::string listing(const std::string& path) {
  std::map<std::string, std::uintmax_t> files;
  std::error_code gone;
  for (std::filesystem::recursive_directory_iterator it(path, gone), end; it != end; it.increment(gone)) {
    files[it->path().string()] = it->is_regular_file(gone) ? it->file_size(gone) : 0;
  }
  std::string text;
  for (const auto& [name, size] : files) text.append(name).append(":").append(std::to_string(size)).append("\n");
  return text;
}

/// Copies a directory as it is at one moment: again, when a log file came or went meanwhile.
inline std::unique_ptr<TemporaryDirectory> frozenCopy(const std::string& path) {
  for (;;) {
    auto copy = std::make_unique<TemporaryDirectory>();
    const std::string before = listing(path);
    std::error_code error;
    std::filesystem::copy(path, copy->path(), std::filesystem::copy_options::recursive, error);
    if (!error && listing(path) == before) return copy;
  }
}

/// A kill is a copy of the directory as it is while the engine runs: what only the process knows is not in it.
class WiredTigerHarness final : public EngineHarness {
 public:
  WiredTigerHarness() : WiredTigerHarness(std::make_unique<TemporaryDirectory>()) {}
  explicit WiredTigerHarness(std::unique_ptr<TemporaryDirectory> directory, bool journal = true)
      : directory_(std::move(directory)), journal_(journal) {
    open();
  }
  Engine& engine() override { return *engine_; }
  bool flushesByItself() const override { return true; }
  void reopen() override {
    EXPECT_EQ(engine_->close().toString(), Status::OK().toString());
    engine_.reset();
    open();
  }
  void crash() override {
    auto survivor = frozenCopy(directory_->path());
    engine_.reset();
    directory_ = std::move(survivor);
    open();
  }
  std::unique_ptr<EngineHarness> afterACrash() override {
    return std::make_unique<WiredTigerHarness>(frozenCopy(directory_->path()), journal_);
  }
  std::unique_ptr<EngineHarness> restore(const Backup& backup) override {
    auto copy = std::make_unique<TemporaryDirectory>();
    for (const std::string& path : backup.files()) {
      const auto target = copy->path() / std::filesystem::relative(path, directory_->path());
      std::filesystem::create_directories(target.parent_path());
      std::filesystem::copy_file(path, target);
    }
    return std::make_unique<WiredTigerHarness>(std::move(copy));
  }

 private:
  void open() {
    WiredTigerOptions options = testOptions(directory_->path());
    options.journalEnabled = journal_;
    auto opened = openWiredTiger(options);
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    engine_ = std::move(opened).value();
  }
  std::unique_ptr<TemporaryDirectory> directory_;
  const bool journal_;
  std::unique_ptr<Engine> engine_;
};

class DeterministicHarness final : public EngineHarness {
 public:
  explicit DeterministicHarness(DeterministicDisk disk = {}) : engine_(DeterministicEngine::open(std::move(disk))) {}
  Engine& engine() override { return *engine_; }
  bool flushesByItself() const override { return false; }
  void reopen() override {
    EXPECT_TRUE(engine_->close().isOK());
    engine_ = DeterministicEngine::open(engine_->disk());
  }
  void crash() override { engine_ = DeterministicEngine::open(engine_->crash()); }
  std::unique_ptr<EngineHarness> afterACrash() override {
    return std::make_unique<DeterministicHarness>(engine_->disk());
  }
  std::unique_ptr<EngineHarness> restore(const Backup& backup) override {
    return std::make_unique<DeterministicHarness>(engine_->backupDisk(backup));
  }

 private:
  std::unique_ptr<DeterministicEngine> engine_;
};

inline Timestamp at(uint64_t value) { return Timestamp::fromUint64(value); }

/// A transaction on one table, read as a sentence: `Transaction(engine, table).put("k", "v").commit(at(3))`.
class Transaction {
 public:
  Transaction(Engine& engine, const Table& table, const BeginOptions& options = {}) : table_(table) {
    auto opened = engine.openSession();
    EXPECT_TRUE(opened.isOK()) << opened.status().toString();
    session_ = std::move(opened).value();
    begun_ = session_->begin(options);
  }
  const Status& begun() const { return begun_; }
  Session& session() { return *session_; }
  Session::CursorLease cursor() {
    auto lease = session_->cursor(table_);
    EXPECT_TRUE(lease.isOK()) << lease.status().toString();
    return std::move(lease).value();
  }
  Transaction& put(std::string_view key, std::string_view value) {
    EXPECT_EQ(cursor()->put(key, value).toString(), Status::OK().toString());
    return *this;
  }
  Transaction& commitAt(uint64_t ts) {
    EXPECT_EQ(session_->setCommitTimestamp(at(ts)).toString(), Status::OK().toString());
    return *this;
  }
  Status commit() { return session_->commit(); }
  /// The value at `key`, "-" when there is none, the error's name when it cannot be read.
  std::string read(std::string_view key) {
    auto lease = cursor();
    auto found = lease->seek(key);
    if (!found.isOK()) return errorName(found.status().code());
    return *found ? std::string(lease->value()) : "-";
  }
  /// All rows as "a=1 b=2".
  std::string rows() {
    std::string text;
    auto lease = cursor();
    for (auto more = lease->next(); more.isOK() && *more; more = lease->next()) {
      text.append(text.empty() ? "" : " ").append(lease->key()).append("=").append(lease->value());
    }
    return text;
  }

 private:
  const Table table_;  ///< it may have been a temporary
  std::unique_ptr<Session> session_;
  Status begun_;
};

}  // namespace troupe::storage
