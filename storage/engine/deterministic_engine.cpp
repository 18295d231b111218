#include "storage/engine/deterministic_engine.hpp"

#include "storage/engine/deterministic_session.hpp"
#include "storage/engine/deterministic_state.hpp"
#include "storage/engine/ident.hpp"
#include "storage/engine/no_blocks.hpp"

namespace troupe::storage {
namespace deterministic {
namespace {

/// The copy is what a crash would have left when the backup began.
class ImageBackup final : public Backup {
 public:
  explicit ImageBackup(std::shared_ptr<State> state) : state_(std::move(state)), disk_(state_->disk()) {
    state_->backup = true;
  }
  ~ImageBackup() override { state_->backup = false; }
  const std::vector<std::string>& files() const override { return files_; }
  Timestamp checkpointTimestamp() const override { return disk_.recoveryTimestamp; }
  StatusWith<std::vector<std::string>> logFiles() override { return files_; }
  const DeterministicDisk& disk() const { return disk_; }

 private:
  std::shared_ptr<State> state_;
  DeterministicDisk disk_;
  std::vector<std::string> files_;
};

/// Rows are kept aside until all are there. The open cursor that it counts as keeps the table.
class RowsLoad final : public BulkLoad {
 public:
  RowsLoad(std::shared_ptr<State> state, Table table) : state_(std::move(state)), table_(std::move(table)) {
    ++state_->find(table_)->cursors;
  }
  ~RowsLoad() override {
    if (TableState* table = state_->find(table_)) --table->cursors;
  }
  Status add(std::string_view key, std::string_view value) override {
    if (key.empty() || (!rows_.empty() && key <= rows_.back().first))
      return {ErrorCode::kBadValue, "rows are filled in the order of their keys: " + table_.ident};
    rows_.emplace_back(key, value);
    return {};
  }
  Status finish() override {
    TableState* const table = state_->find(table_);
    if (!table || state_->closed) return {ErrorCode::kShutdownInProgress, "the storage engine is closed"};
    auto filled = std::make_shared<Txn>();
    filled->state = Txn::State::kCommitted;
    filled->sequence = table->changed = ++state_->sequence;
    for (auto& [key, value] : rows_)
      table->rows[std::move(key)].push_back(
          {filled, kNoTime, std::make_shared<const std::string>(std::move(value)), kNoTime});
    rows_.clear();
    return {};
  }

 private:
  std::shared_ptr<State> state_;
  Table table_;
  std::vector<std::pair<std::string, std::string>> rows_;
};

class EngineImpl final : public DeterministicEngine {
 public:
  explicit EngineImpl(DeterministicDisk disk);
  ~EngineImpl() override { state_->closed = true; }

  StatusWith<std::unique_ptr<Session>> openSession() override;
  StatusWith<Table> createTable(std::string_view ident, const TableOptions& options) override;
  StatusWith<Table> openTable(std::string_view ident) override;
  Status dropTable(std::string_view ident) override;
  std::vector<std::string> listTables() override;
  StatusWith<std::string> tableMetadata(std::string_view ident) override;
  int64_t tableBytes(const Table& table) override;
  int64_t freeBytes(const Table&) override { return 0; }
  StatusWith<std::unique_ptr<BulkLoad>> bulkLoad(const Table& table) override;
  StatusWith<bool> compactTable(const Table&) override { return true; }  // there is no file
  Status verifyTable(std::string_view ident) override { return openTable(ident).status(); }
  std::unique_ptr<BlockCheck> checkBlocks(std::string_view ident) override {
    return std::make_unique<NoBlocks>(blockFault_ ? blockFault_(ident) : Status::OK());
  }
  Status salvageTable(std::string_view ident) override { return openTable(ident).status(); }
  Status flushLog() override;
  StatusWith<Timestamp> checkpoint(const CheckpointOptions& options) override;
  Timestamp lastCheckpointTimestamp() override { return state_->checkpointStable; }
  Status setLogged(std::span<const TableLogging> wanted) override;
  StatusWith<bool> isLogged(std::string_view ident) override;
  Status setStableTimestamp(Timestamp ts) override;
  Status setOldestTimestamp(Timestamp ts) override;
  Timestamp allDurableTimestamp() override { return state_->allDurable(); }
  Timestamp stableTimestamp() override { return state_->stable; }
  Timestamp oldestTimestamp() override { return state_->oldest; }
  Timestamp recoveryTimestamp() override { return state_->recovery; }
  Status rollbackToStable() override;
  StatusWith<std::unique_ptr<Backup>> beginBackup() override;
  EngineStatistics statistics() override;
  std::string version() const override { return "deterministic 1"; }
  Status close() override;

  DeterministicDisk crash() override;
  DeterministicDisk disk() const override { return state_->disk(); }
  DeterministicDisk backupDisk(const Backup& backup) const override {
    return dynamic_cast<const ImageBackup&>(backup).disk();
  }
  void setDiskFault(DiskFault fault) override { fault_ = std::move(fault); }
  void setBlockFault(BlockFault fault) override { blockFault_ = std::move(fault); }
  void pretendDirty(int64_t bytes) override { state_->statistics.cacheBytesDirty = bytes; }

 private:
  Status usable() const {
    return state_->closed ? Status(ErrorCode::kShutdownInProgress, "the storage engine is closed") : Status::OK();
  }
  Status fault(DiskOperation operation) const { return fault_ ? fault_(operation) : Status::OK(); }

  std::shared_ptr<State> state_;
  DiskFault fault_;
  BlockFault blockFault_;
};

EngineImpl::EngineImpl(DeterministicDisk disk) : state_(std::make_shared<State>()) {
  state_->decisions = preparedDecisions_;
  state_->recovery = state_->stable = state_->oldest = state_->checkpointStable = disk.recoveryTimestamp;
  auto recovered = std::make_shared<Txn>();
  recovered->state = Txn::State::kCommitted;
  for (auto& [ident, image] : disk.tables) {
    auto table = std::make_unique<TableState>();
    table->id = state_->nextTable++;
    table->options = std::move(image.options);
    for (const auto& [key, value] : image.rows) {
      table->rows[key].push_back({recovered, kNoTime, std::make_shared<const std::string>(value)});
    }
    table->image = std::move(image.rows);
    state_->tables.emplace(ident, std::move(table));
  }
}

StatusWith<std::unique_ptr<Session>> EngineImpl::openSession() {
  TROUPE_TRY(usable());
  return std::unique_ptr<Session>(std::make_unique<DeterministicSession>(state_));
}

StatusWith<Table> EngineImpl::createTable(std::string_view ident, const TableOptions& options) {
  TROUPE_TRY(usable());
  TROUPE_TRY(checkIdent(ident));
  TROUPE_TRY(checkTableOptions(options));
  auto [it, created] = state_->tables.try_emplace(std::string(ident));
  if (!created) return Status(ErrorCode::kNamespaceExists, "the table exists already: " + std::string(ident));
  it->second = std::make_unique<TableState>();
  it->second->id = state_->nextTable++;
  it->second->options = options;
  it->second->changed = it->second->imageOf = state_->sequence;
  return Table{it->first, it->second->id};
}

StatusWith<Table> EngineImpl::openTable(std::string_view ident) {
  TROUPE_TRY(usable());
  auto it = state_->tables.find(ident);
  if (it == state_->tables.end()) return Status(ErrorCode::kNoSuchKey, "no such table: " + std::string(ident));
  return Table{it->first, it->second->id};
}

StatusWith<std::unique_ptr<BulkLoad>> EngineImpl::bulkLoad(const Table& table) {
  TROUPE_TRY(usable());
  const TableState* const state = state_->find(table);
  if (!state) return Status(ErrorCode::kNoSuchKey, "no such table: " + table.ident);
  if (state->options.logged) return Status(ErrorCode::kIllegalOperation, "a logged table is not filled");
  if (!state->rows.empty()) return Status(ErrorCode::kIllegalOperation, "the table is not empty: " + table.ident);
  if (state->cursors > 0) return Status(ErrorCode::kObjectIsBusy, "cursors of the table are open: " + table.ident);
  return std::unique_ptr<BulkLoad>(std::make_unique<RowsLoad>(state_, table));
}

Status EngineImpl::dropTable(std::string_view ident) {
  TROUPE_ASSIGN(const Table table, openTable(ident));
  const TableState& state = *state_->find(table);
  if (state_->backup) return {ErrorCode::kObjectIsBusy, "a backup is being taken; wait for its end"};
  if (state.cursors > 0) return {ErrorCode::kObjectIsBusy, "cursors of the table are open: " + table.ident};
  if (state.changed > state.imageOf) {
    return {ErrorCode::kObjectIsBusy, "the table has changes since the last checkpoint: " + table.ident};
  }
  state_->tables.erase(table.ident);
  return {};
}

std::vector<std::string> EngineImpl::listTables() {
  std::vector<std::string> idents;
  for (const auto& [ident, table] : state_->tables) idents.push_back(ident);
  return idents;
}

StatusWith<std::string> EngineImpl::tableMetadata(std::string_view ident) {
  TROUPE_TRY(checkIdent(ident));
  TROUPE_ASSIGN(const Table table, openTable(ident));
  return state_->find(table)->options.appMetadata;
}

int64_t EngineImpl::tableBytes(const Table& table) {
  const TableState* state = state_->find(table);
  int64_t bytes = 0;
  if (!state) return bytes;
  for (const auto& [key, row] : state->rows) {
    const Update* update = State::newest(row, state_->sequence, std::nullopt);
    if (update && update->value) bytes += static_cast<int64_t>(key.size() + update->value->size());
  }
  return bytes;
}

Status EngineImpl::flushLog() {
  TROUPE_TRY(usable());
  TROUPE_TRY(fault(DiskOperation::kFlushLog));
  state_->flushed = state_->sequence;
  ++state_->statistics.logSyncs;
  return {};
}

StatusWith<Timestamp> EngineImpl::checkpoint(const CheckpointOptions& options) {
  TROUPE_TRY(usable());
  const bool stable = isStable(options);  // what changes while it is being written does not change its kind
  TROUPE_TRY(fault(DiskOperation::kCheckpoint));
  for (auto& [ident, table] : state_->tables) {
    if (table->options.logged) {
      table->imageOf = state_->sequence;
    } else {
      state_->writeImage(*table, stable);
    }
  }
  state_->flushed = state_->sequence;
  state_->checkpointStable = stable ? state_->stable : kNoTime;
  ++state_->statistics.checkpoints;
  state_->trimAll();
  return state_->checkpointStable;
}

StatusWith<bool> EngineImpl::isLogged(std::string_view ident) {
  TROUPE_ASSIGN(const Table table, openTable(ident));
  return state_->find(table)->options.logged;
}

Status EngineImpl::setLogged(std::span<const TableLogging> wanted) {
  std::vector<TableState*> changes;
  for (const auto& [ident, logged] : wanted) {
    TROUPE_ASSIGN(const Table table, openTable(ident));
    TableState* state = state_->find(table);
    if (state->options.logged == logged) continue;
    if (state->cursors > 0) return {ErrorCode::kObjectIsBusy, "cursors of the table are open: " + ident};
    changes.push_back(state);
  }
  if (changes.empty()) return {};
  for (TableState* state : changes) {
    state->options.logged = !state->options.logged;
    state->imageComplete = false;  // a logged table keeps no image
  }
  return checkpoint({}).status();
}

StatusWith<std::unique_ptr<Backup>> EngineImpl::beginBackup() {
  TROUPE_TRY(usable());
  if (state_->backup) return Status(ErrorCode::kObjectIsBusy, "another backup is being taken; wait for its end");
  return std::unique_ptr<Backup>(std::make_unique<ImageBackup>(state_));
}

Status EngineImpl::setStableTimestamp(Timestamp ts) {
  TROUPE_TRY(usable());
  if (ts == kNoTime) return {ErrorCode::kBadValue, "stable_timestamp must not be zero"};
  if (ts <= state_->stable) return {};
  if (ts < state_->oldest) return {ErrorCode::kBadValue, "the stable timestamp must not be older than the oldest one"};
  state_->stable = ts;
  return {};
}

Status EngineImpl::setOldestTimestamp(Timestamp ts) {
  TROUPE_TRY(usable());
  if (ts == kNoTime) return {ErrorCode::kBadValue, "oldest_timestamp must not be zero"};
  if (ts <= state_->oldest) return {};
  if (state_->stable != kNoTime && ts > state_->stable) {
    return {ErrorCode::kBadValue, "the oldest timestamp must not be newer than the stable one"};
  }
  state_->oldest = ts;
  return {};
}

Status EngineImpl::rollbackToStable() {
  TROUPE_TRY(usable());
  if (state_->stable == kNoTime) return {ErrorCode::kIllegalOperation, "there is no stable timestamp to roll back to"};
  const auto written = [](const Row& row) { return !row.empty() && row.back().txn->state != Txn::State::kCommitted; };
  for (const auto& [ident, table] : state_->tables) {
    for (const auto& [key, row] : table->rows) {
      if (written(row)) {
        return {ErrorCode::kObjectIsBusy, "transactions are active; end them before rolling back to the stable time"};
      }
    }
  }
  for (auto& [ident, table] : state_->tables) {
    if (table->options.logged) continue;
    for (auto it = table->rows.begin(); it != table->rows.end();) {
      std::erase_if(it->second, [this](const Update& update) { return update.durable > state_->stable; });
      it = it->second.empty() ? table->rows.erase(it) : std::next(it);
    }
    table->changed = state_->sequence;
    table->imageComplete = false;
  }
  state_->newestDurable = state_->stable;
  return {};
}

EngineStatistics EngineImpl::statistics() {
  EngineStatistics result = state_->statistics;
  for (const auto& [ident, table] : state_->tables) result.cacheBytesInUse += tableBytes({ident, table->id});
  result.cacheBytesMax = int64_t{1} << 30;
  return result;
}

Status EngineImpl::close() {
  if (state_->closed) return {};
  const Status status = checkpoint({}).status();
  state_->closed = true;
  preparedDecisions_->increment();
  return status;
}

DeterministicDisk EngineImpl::crash() {
  state_->closed = true;
  preparedDecisions_->increment();
  return state_->disk();
}

}  // namespace
}  // namespace deterministic

std::unique_ptr<DeterministicEngine> DeterministicEngine::open(DeterministicDisk disk) {
  return std::make_unique<deterministic::EngineImpl>(std::move(disk));
}

}  // namespace troupe::storage
