#include "storage/oplog/batch_units.hpp"

#include <vector>

#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

/// Full units that have to fit before larger ones are tried: where large documents go on, one in so many is written
/// twice.
constexpr size_t kFitsBeforeGrowth = 16;

Status checkOrder(std::span<const OplogEntry> entries, std::optional<bson::Timestamp> newest) {
  const auto outOfOrder = [](const OplogEntry& entry) {
    return Status(ErrorCode::kIllegalOperation,
                  nameOf(entry) + " is not newer than what the log holds before it: it cannot be added");
  };
  if (!entries.empty() && newest && entries.front().opTime.timestamp <= *newest) return outOfOrder(entries.front());
  for (size_t i = 1; i < entries.size(); ++i) {
    const OpTime &before = entries[i - 1].opTime, &here = entries[i].opTime;
    if (here.timestamp <= before.timestamp || here.term < before.term) return outOfOrder(entries[i]);
  }
  return Status::OK();
}

StatusWith<size_t> applyOnce(const OperationApplier& applier, OperationContext& operation,
                             std::span<const OplogEntry* const> entries, const UnitLimits& limits) {
  WriteUnitOfWork together(operation.recoveryUnit());
  size_t count = 0, bytes = 0;
  while (count < entries.size() && count < limits.maxEntries && bytes < limits.maxBytes) {
    const OplogEntry& entry = *entries[count++];
    const Status applied = applier.apply(operation, entry, &bytes);
    if (!applied.isOK()) return applied.withContext(nameOf(entry));
  }
  TROUPE_TRY(together.commit());
  return count;
}

}  // namespace

void UnitLimits::shrink(size_t entries) {
  if (usualEntries == 0) usualEntries = maxEntries;
  maxEntries = entries / 2;
  fitted = 0;
}

void UnitLimits::grow(size_t entries) {
  if (usualEntries == 0 || entries < maxEntries || ++fitted < kFitsBeforeGrowth) return;
  maxEntries = std::min(2 * maxEntries, usualEntries);
  fitted = 0;
  if (maxEntries == usualEntries) usualEntries = 0;
}

Status logEntries(OperationContext& operation, OplogStore& log, std::span<const OplogEntry> entries,
                  std::span<const bson::Document> documents) {
  RecoveryUnit& unit = operation.recoveryUnit();
  unit.abandonSnapshot();
  TROUPE_ASSIGN(const auto newest, log.newest(unit));
  TROUPE_TRY(checkOrder(entries, newest));
  std::vector<OplogRow> rows;
  rows.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i)
    rows.push_back({entries[i].opTime.timestamp, entries[i].wall.millis, documents[i]});
  WriteUnitOfWork together(unit);
  TROUPE_TRY(log.insert(unit, rows));
  return together.commit();
}

StatusWith<size_t> applyInUnit(const OperationApplier& applier, OperationContext& operation,
                               std::span<const OplogEntry* const> entries, UnitLimits& limits) {
  return untilItFits(entries.size(), limits, [&] { return applyOnce(applier, operation, entries, limits); });
}

}  // namespace troupe::storage
