#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/deterministic_state.hpp"

namespace troupe::storage::deterministic {

class DeterministicSession;

/// A position is a key: rows may come and go around it.
class DeterministicCursor final : public Cursor {
 public:
  DeterministicCursor(DeterministicSession& session, Table table);
  ~DeterministicCursor() override;

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
  void reset() override { positionedIn_ = 0; }

 private:
  enum class Expect { kAny, kAbsent, kPresent };
  using Rows = std::map<std::string, Row, std::less<>>;
  bool positioned() const;
  Status readable() const;
  StatusWith<bool> forward(Rows::iterator from);
  StatusWith<bool> backward(Rows::iterator after);
  StatusWith<bool> lookAt(Rows::iterator it);
  Status write(std::string_view key, std::shared_ptr<const std::string> value, Expect expect, bool keepsPlace);

  DeterministicSession& session_;
  Table table_;
  uint64_t positionedIn_ = 0;
  std::string key_;
  std::string value_;
};

class DeterministicSession final : public Session {
 public:
  explicit DeterministicSession(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~DeterministicSession() override;

  Status begin(const BeginOptions& options) override;
  Status commit() override;
  void rollback() override;
  bool inTransaction() const override { return txn_ != nullptr; }
  Status setCommitTimestamp(Timestamp ts) override;
  Status prepare(Timestamp prepareTs) override;
  Status commitPrepared(Timestamp commitTs, Timestamp durableTs) override;
  StatusWith<CursorLease> cursor(const Table& table) override;
  Status truncate(const Table& table, std::string_view from, std::string_view to) override;
  void forgetTable(const Table& table) override;

 protected:
  void releaseCursor(uint32_t table, Cursor* cursor) override;

 private:
  friend class DeterministicCursor;
  bool prepared() const { return txn_ && txn_->state == Txn::State::kPrepared; }
  Status usable() const;
  /// The transaction's view, or outside of one the newest data.
  Txn reader() const;
  void record(const Table& table, std::string_view key, Row& row, std::shared_ptr<const std::string> value);
  Status finish(Timestamp durable);
  void ended();

  std::shared_ptr<State> state_;
  std::shared_ptr<Txn> txn_;
  uint64_t epoch_ = 1;
  std::vector<std::pair<Table, std::string>> written_;
  bool wroteLogged_ = false;
  std::vector<std::pair<uint32_t, std::unique_ptr<DeterministicCursor>>> idle_;
};

}  // namespace troupe::storage::deterministic
