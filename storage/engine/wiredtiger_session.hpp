#pragma once
#include <wiredtiger.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/engine.hpp"
#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

class WiredTigerSession;

/// A WT_CURSOR opened with overwrite=false. Internal to the WiredTiger engine; the thin hot path: no allocation unless
/// an operation fails or its argument points into the cursor itself.
class WiredTigerCursor final : public Cursor {
 public:
  WiredTigerCursor(WiredTigerSession& session, WT_CURSOR* cursor) : session_(session), cursor_(cursor) {}
  ~WiredTigerCursor() override { cursor_->close(cursor_); }

  StatusWith<bool> seek(std::string_view key) override;
  StatusWith<bool> seekAtOrAfter(std::string_view key) override;
  StatusWith<bool> seekAtOrBefore(std::string_view key) override;
  StatusWith<bool> next() override;
  StatusWith<bool> previous() override;
  std::string_view key() const override;
  std::string_view value() const override;
  Status insert(std::string_view key, std::string_view value) override;
  Status put(std::string_view key, std::string_view value) override;
  Status update(std::string_view key, std::string_view value) override;
  Status remove(std::string_view key) override;
  void reset() override;

  WT_CURSOR* raw() const { return cursor_; }

 private:
  bool positioned() const;
  StatusWith<bool> landed(int code);
  StatusWith<bool> nowhere();
  Status wrote(int code, size_t bytes);
  StatusWith<bool> near(std::string_view key, bool after);
  std::string_view detach(std::string_view bytes, std::string& scratch) const;
  bool standsOn(std::string_view key) const;
  void setKey(std::string_view key);
  void setValue(std::string_view value);
  Status writable() const;
  Status readable() const;

  WiredTigerSession& session_;
  WT_CURSOR* cursor_;
  uint64_t positionedIn_ = 0;  ///< the session's transaction in which the position was taken; 0 is none
  std::string keyScratch_;
  std::string valueScratch_;
};

/// Internal to the WiredTiger engine.
class WiredTigerSession final : public Session {
 public:
  WiredTigerSession(std::shared_ptr<WiredTigerConnection> connection, WT_SESSION* session);
  ~WiredTigerSession() override;

  Status begin(const BeginOptions& options) override;
  Status commit() override;
  void rollback() override;
  bool inTransaction() const override { return inTransaction_; }
  Status setCommitTimestamp(Timestamp ts) override;
  Status prepare(Timestamp prepareTs) override;
  Status commitPrepared(Timestamp commitTs, Timestamp durableTs) override;
  StatusWith<CursorLease> cursor(const Table& table) override;
  Status truncate(const Table& table, std::string_view from, std::string_view to) override;
  void forgetTable(const Table& table) override;

  /// Counts transactions from 1, and reads outside of one; a position of an earlier count is gone.
  uint64_t epoch() const { return epoch_; }
  bool prepared() const { return prepared_; }
  void countBytes(size_t bytes) { bytesWritten_ += static_cast<int64_t>(bytes); }
  /// The Status of a failed operation in this session's transaction.
  Status failure(int code, std::string_view what);

 protected:
  void releaseCursor(uint32_t table, Cursor* cursor) override;

 private:
  struct Idle {
    uint32_t table;
    std::unique_ptr<WiredTigerCursor> cursor;
  };
  static constexpr size_t kMaxIdleCursors = 64;
  void ended();

  std::shared_ptr<WiredTigerConnection> connection_;
  WT_SESSION* session_;
  std::vector<Idle> idle_;  ///< the last used at the back
  uint64_t epoch_ = 1;
  int64_t bytesWritten_ = 0;
  bool inTransaction_ = false;
  bool prepared_ = false;
};

}  // namespace troupe::storage
