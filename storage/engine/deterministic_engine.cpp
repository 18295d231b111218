#include "storage/engine/deterministic_engine.hpp"

#include "storage/engine/deterministic_session.hpp"
#include "storage/engine/deterministic_state.hpp"
#include "storage/engine/ident.hpp"

namespace troupe::storage {
namespace deterministic {
namespace {

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
  Status verifyTable(std::string_view ident) override { return openTable(ident).status(); }
  Status salvageTable(std::string_view ident) override { return openTable(ident).status(); }
  Status flushLog() override;
  Status checkpoint(const CheckpointOptions& options) override;
  Status setStableTimestamp(Timestamp ts) override;
  Status setOldestTimestamp(Timestamp ts) override;
  Timestamp allDurableTimestamp() override { return state_->allDurable(); }
  Timestamp stableTimestamp() override { return state_->stable; }
  Timestamp oldestTimestamp() override { return state_->oldest; }
  Timestamp recoveryTimestamp() override { return state_->recovery; }
  Status rollbackToStable() override;
  Status backup(const std::function<Status(const std::string& path)>&) override {
    return {ErrorCode::kIllegalOperation, "the in-memory engine has no files to back up"};
  }
  EngineStatistics statistics() override;
  std::string version() const override { return "deterministic 1"; }
  Status close() override;

  DeterministicDisk crash() override;
  DeterministicDisk disk() const override { return state_->disk(); }
  void setDiskFault(DiskFault fault) override { fault_ = std::move(fault); }

 private:
  Status usable() const {
    return state_->closed ? Status(ErrorCode::kShutdownInProgress, "the storage engine is closed") : Status::OK();
  }
  Status fault(DiskOperation operation) const { return fault_ ? fault_(operation) : Status::OK(); }

  std::shared_ptr<State> state_;
  DiskFault fault_;
};

EngineImpl::EngineImpl(DeterministicDisk disk) : state_(std::make_shared<State>()) {
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

Status EngineImpl::dropTable(std::string_view ident) {
  TROUPE_ASSIGN(const Table table, openTable(ident));
  const TableState& state = *state_->find(table);
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

Status EngineImpl::checkpoint(const CheckpointOptions& options) {
  TROUPE_TRY(usable());
  TROUPE_TRY(fault(DiskOperation::kCheckpoint));
  for (auto& [ident, table] : state_->tables) {
    if (table->options.logged) {
      table->imageOf = state_->sequence;
    } else {
      state_->writeImage(*table, options.stable);
    }
  }
  state_->flushed = state_->sequence;
  state_->checkpointStable = options.stable ? state_->stable : kNoTime;
  ++state_->statistics.checkpoints;
  state_->trimAll();
  return {};
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
      std::erase_if(it->second, [this](const Update& update) { return update.timestamp > state_->stable; });
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
  Status status = checkpoint({});
  state_->closed = true;
  return status;
}

DeterministicDisk EngineImpl::crash() {
  state_->closed = true;
  return state_->disk();
}

}  // namespace
}  // namespace deterministic

std::unique_ptr<DeterministicEngine> DeterministicEngine::open(DeterministicDisk disk) {
  return std::make_unique<deterministic::EngineImpl>(std::move(disk));
}

}  // namespace troupe::storage
