#include "storage/oplog/oplog_replay.hpp"

#include <string>
#include <utility>
#include <vector>

#include "storage/oplog/operation_applier.hpp"
#include "storage/oplog/oplog_batches.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

std::string nameOf(bson::Timestamp time) {
  return "Timestamp(" + std::to_string(time.seconds) + ", " + std::to_string(time.increment) + ")";
}

std::string nameOf(const OplogEntry& entry) { return "the entry of " + nameOf(entry.opTime.timestamp); }

/// Entries between the data and the beginning of the log would be left out in silence.
Status checkIsComplete(const OplogStore& log, const OperationServices& services, bson::Timestamp after) {
  OperationContext operation(services, OperationOrigin::kApplier);
  TROUPE_ASSIGN(const auto oldest, log.oldest(operation.recoveryUnit()));
  if (!oldest || *oldest <= after) return {};
  return {ErrorCode::kManualInterventionRequired, "the oplog begins at " + nameOf(*oldest) +
                                                      ", behind the data, which are of " + nameOf(after) +
                                                      ": this member has to be resynced from another one"};
}

bool isAlone(const OplogEntry& entry) { return entry.operation.kind == OplogKind::kCommand; }

/// Writes entries of one batch: those of documents together, commands each by itself.
Status writeBatch(const OperationApplier& applier, const OperationServices& services,
                  const std::vector<OplogEntry>& entries) {
  for (size_t i = 0; i < entries.size();) {
    OperationContext operation(services, OperationOrigin::kApplier);
    if (isAlone(entries[i])) {
      TROUPE_TRY(applier.apply(operation, entries[i]).withContext(nameOf(entries[i])));
      ++i;
      continue;
    }
    WriteUnitOfWork together(operation.recoveryUnit());
    for (; i < entries.size() && !isAlone(entries[i]); ++i)
      TROUPE_TRY(applier.apply(operation, entries[i]).withContext(nameOf(entries[i])));
    TROUPE_TRY(together.commit());
  }
  return Status::OK();
}

}  // namespace

StatusWith<Replayed> replayOplog(Catalog& catalog, const OplogStore& log, const OperationServices& services,
                                 bson::Timestamp after, const std::function<void(const Replayed&)>& progress,
                                 TouchedCollections touched) {
  // Data of an unknown time may be later than an entry.
  const ApplyMode mode = after == bson::Timestamp() ? ApplyMode::kReplaying : ApplyMode::kFollowing;
  const OperationApplier applier(catalog, mode);
  if (mode == ApplyMode::kFollowing) TROUPE_TRY(checkIsComplete(log, services, after));
  OplogBatches reader(log, services, after);
  Replayed done;
  for (;;) {
    TROUPE_ASSIGN(const auto batch, reader.next());
    if (batch.empty()) break;
    std::vector<OplogEntry> entries;
    for (const bson::Document& document : batch) {
      TROUPE_ASSIGN(auto entry, OplogEntry::parse(document));
      TROUPE_TRY(touched.note(entry.operation).withContext(nameOf(entry)));
      entries.push_back(std::move(entry));
    }
    TROUPE_TRY(writeBatch(applier, services, entries).withContext("the log could not be replayed"));
    done.entries += static_cast<int64_t>(entries.size());
    done.last = entries.back().opTime.timestamp;
    if (progress) progress(done);
  }
  TROUPE_TRY(touched.recount(catalog, services));
  done.recounted = static_cast<int64_t>(touched.size());
  return done;
}

}  // namespace troupe::storage
