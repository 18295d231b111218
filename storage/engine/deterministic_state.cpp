#include "storage/engine/deterministic_state.hpp"

#include <algorithm>

namespace troupe::storage::deterministic {
namespace {

/// Snapshots from before the preparation will never see its outcome and pass it by.
bool seesPrepared(const Txn& reader, const Txn& prepared) {
  if (prepared.sequence > reader.snapshot) return false;
  return !reader.readTimestamp || *reader.readTimestamp >= prepared.prepareTimestamp;
}

bool sees(const Txn& reader, const Update& update) {
  if (update.txn.get() == &reader) return true;
  if (update.txn->state != Txn::State::kCommitted || update.txn->sequence > reader.snapshot) return false;
  return !reader.readTimestamp || update.timestamp <= *reader.readTimestamp;
}

}  // namespace

TableState* State::find(const Table& table) {
  auto it = tables.find(table.ident);
  return it != tables.end() && it->second->id == table.id ? it->second.get() : nullptr;
}

Visible State::visible(const Row& row, const Txn& reader, const std::string** value) {
  for (auto update = row.rbegin(); update != row.rend(); ++update) {
    if (update->txn.get() != &reader && update->txn->state == Txn::State::kPrepared && !reader.ignorePrepare &&
        seesPrepared(reader, *update->txn)) {
      return Visible::kPreparedConflict;
    }
    if (!sees(reader, *update)) continue;
    if (!update->value) return Visible::kNothing;
    *value = update->value.get();
    return Visible::kValue;
  }
  return Visible::kNothing;
}

bool State::mayWrite(const Row& row, const Txn& writer) { return row.empty() || sees(writer, row.back()); }

std::vector<std::shared_ptr<Txn>> State::activeTransactions() {
  std::vector<std::shared_ptr<Txn>> alive;
  std::erase_if(active, [&](const std::weak_ptr<Txn>& weak) {
    auto txn = weak.lock();
    const bool ended = !txn || txn->state == Txn::State::kCommitted;
    if (!ended) alive.push_back(std::move(txn));
    return ended;
  });
  return alive;
}

void State::trim(TableState& table, Row& row) {
  uint64_t needed = sequence;  // the oldest snapshot that is still read
  Timestamp history = oldest;  // the oldest time that may still be read
  for (const auto& txn : activeTransactions()) {
    needed = std::min(needed, txn->snapshot);
    if (txn->readTimestamp) history = std::min(history, *txn->readTimestamp);
  }
  if (table.options.logged) needed = std::min(needed, flushed);
  // The newest version which all of them see hides those below it.
  for (size_t i = row.size(); i-- > 1;) {
    const Update& update = row[i];
    if (update.txn->state != Txn::State::kCommitted || update.txn->sequence > needed) continue;
    if (update.durable > history) continue;  // a rollback to stable may still undo it
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void State::trimAll() {
  const bool quiet = activeTransactions().empty();
  for (auto& [ident, table] : tables) {
    for (auto it = table->rows.begin(); it != table->rows.end();) {
      Row& row = it->second;
      trim(*table, row);
      const bool removed = row.empty() || (quiet && row.size() == 1 && !row[0].value && row[0].durable <= oldest &&
                                           (!table->options.logged || row[0].txn->sequence <= flushed));
      it = removed ? table->rows.erase(it) : std::next(it);
    }
  }
}

Timestamp State::allDurable() {
  Timestamp result = newestDurable;
  for (const auto& txn : activeTransactions()) {
    if (txn->firstCommitTimestamp == kNoTime) continue;
    result = std::min(result, Timestamp::fromUint64(txn->firstCommitTimestamp.asUint64() - 1));
  }
  return result;
}

const Update* State::newest(const Row& row, uint64_t sequence, std::optional<Timestamp> stable) {
  for (auto update = row.rbegin(); update != row.rend(); ++update) {
    if (update->txn->state != Txn::State::kCommitted || update->txn->sequence > sequence) continue;
    if (stable && update->durable > *stable) continue;
    return &*update;
  }
  return nullptr;
}

void State::writeImage(TableState& table, bool useStable) {
  if (table.imageComplete && table.changed <= table.imageOf) return;
  const std::optional<Timestamp> limit = useStable && stable != kNoTime ? std::optional(stable) : std::nullopt;
  table.image.clear();
  table.imageComplete = true;
  for (const auto& [key, row] : table.rows) {
    const Update* update = newest(row, sequence, limit);
    if (update != newest(row, sequence, std::nullopt)) table.imageComplete = false;
    if (update && update->value) table.image.emplace_hint(table.image.end(), key, *update->value);
  }
  table.imageOf = sequence;
}

DeterministicDisk State::disk() const {
  DeterministicDisk result;
  result.recoveryTimestamp = checkpointStable;
  for (const auto& [ident, table] : tables) {
    auto& image = result.tables[ident];
    image.options = table->options;
    if (!table->options.logged) {
      image.rows = table->image;
      continue;
    }
    for (const auto& [key, row] : table->rows) {
      const Update* update = newest(row, flushed, std::nullopt);
      if (update && update->value) image.rows.emplace_hint(image.rows.end(), key, *update->value);
    }
  }
  return result;
}

}  // namespace troupe::storage::deterministic
