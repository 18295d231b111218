#include "storage/oplog/oplog_replay.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/oplog/batch_units.hpp"

namespace troupe::storage {

namespace {

/// Entries that are read at a time.
constexpr size_t kBatchEntries = 1000;
constexpr size_t kBatchBytes = size_t{8} << 20;

/// Reads the log behind a time in batches; its entries, copied, outlive the snapshot that they were read in.
class LogReader {
 public:
  LogReader(const OplogStore& log, const OperationServices& services, bson::Timestamp after)
      : log_(log), operation_(services, OperationOrigin::kApplier), last_(after) {}

  /// Empty at the end of the log.
  StatusWith<std::vector<bson::Document>> next() {
    RecoveryUnit& unit = operation_.recoveryUnit();
    std::vector<bson::Document> batch;
    {
      TROUPE_ASSIGN(OplogCursor cursor, log_.cursor(unit));
      TROUPE_ASSIGN(bool found, cursor.seek(last_));
      for (size_t bytes = 0; found && batch.size() < kBatchEntries && bytes < kBatchBytes;) {
        if (cursor.time() > last_) {
          batch.emplace_back(cursor.entry());
          last_ = cursor.time();
          bytes += batch.back().view().size();
        }
        TROUPE_ASSIGN(found, cursor.next());
      }
    }
    unit.abandonSnapshot();
    return batch;
  }

 private:
  const OplogStore& log_;
  OperationContext operation_;
  bson::Timestamp last_;
};

std::string nameOf(bson::Timestamp time) {
  return "Timestamp(" + std::to_string(time.seconds) + ", " + std::to_string(time.increment) + ")";
}

/// Entries between the data and the beginning of the log would be left out in silence.
Status checkIsComplete(const OplogStore& log, const OperationServices& services, bson::Timestamp after) {
  OperationContext operation(services, OperationOrigin::kApplier);
  TROUPE_ASSIGN(const auto oldest, log.oldest(operation.recoveryUnit()));
  if (!oldest || *oldest <= after) return {};
  return {ErrorCode::kManualInterventionRequired, "the oplog begins at " + nameOf(*oldest) +
                                                      ", behind the data, which are of " + nameOf(after) +
                                                      ": this member has to be resynced from another one"};
}

/// Writes entries of one batch: those of documents together, as many as a unit of work may hold, commands each by
/// itself.
Status writeBatch(const OperationApplier& applier, const OperationServices& services,
                  const std::vector<OplogEntry>& entries, UnitLimits& limits) {
  std::vector<const OplogEntry*> together;
  for (size_t i = 0; i < entries.size();) {
    OperationContext operation(services, OperationOrigin::kApplier);
    if (isAlone(entries[i])) {
      TROUPE_TRY(applier.apply(operation, entries[i]).withContext(nameOf(entries[i])));
      ++i;
      continue;
    }
    for (together.clear(); i < entries.size() && !isAlone(entries[i]); ++i) together.push_back(&entries[i]);
    for (std::span<const OplogEntry* const> left = together; !left.empty();) {
      TROUPE_ASSIGN(const size_t done, applyInUnit(applier, operation, left, limits));
      left = left.subspan(done);
    }
  }
  return Status::OK();
}

}  // namespace

StatusWith<Replayed> replayOplog(Catalog& catalog, const OplogStore& log, const OperationServices& services,
                                 bson::Timestamp after, const std::function<void(const Replayed&)>& progress) {
  // Data of an unknown time may be later than an entry.
  const ApplyMode mode = after == bson::Timestamp() ? ApplyMode::kReplaying : ApplyMode::kFollowing;
  const OperationApplier applier(catalog, mode);
  if (mode == ApplyMode::kFollowing) TROUPE_TRY(checkIsComplete(log, services, after));
  LogReader reader(log, services, after);
  UnitLimits limits;
  Replayed done;
  for (;;) {
    TROUPE_ASSIGN(const auto batch, reader.next());
    if (batch.empty()) return done;
    std::vector<OplogEntry> entries;
    for (const bson::Document& document : batch) {
      TROUPE_ASSIGN(auto entry, OplogEntry::parse(document));
      entries.push_back(std::move(entry));
    }
    TROUPE_TRY(writeBatch(applier, services, entries, limits).withContext("the log could not be replayed"));
    done.entries += static_cast<int64_t>(entries.size());
    done.last = entries.back().opTime.timestamp;
    if (progress) progress(done);
  }
}

}  // namespace troupe::storage
