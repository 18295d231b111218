#include "storage/oplog/oplog_replay.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/oplog/batch_units.hpp"
#include "storage/oplog/oplog_batches.hpp"
#include "storage/oplog/touched_collections.hpp"
#include "storage/sessions/applied_sessions.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::storage {

namespace {

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

/// Nobody else writes: what stands in the way, a full cache above all, passes by itself: each attempt waits for
/// room. A start or a rollback that gave up would meet it again the next time.
template <class Work>
Status untilItPasses(OperationContext& operation, const Work& work) {
  for (;;) {
    Status outcome = onSecondaryError(work());
    if (outcome != ErrorCode::kWriteConflict) return outcome;
    operation.recoveryUnit().abandonSnapshot();
  }
}

/// Writes entries of one batch: those of documents together, as many as a unit of work may hold, commands each by
/// itself.
Status writeBatch(const OperationApplier& applier, const AppliedSessions& sessions, const OperationServices& services,
                  const std::vector<OplogEntry>& entries, UnitLimits& limits) {
  std::vector<const OplogEntry*> together;
  for (size_t i = 0; i < entries.size();) {
    OperationContext operation(services, OperationOrigin::kApplier);
    if (isAlone(entries[i])) {
      const auto apply = [&] { return applier.apply(operation, entries[i]).withContext(nameOf(entries[i])); };
      TROUPE_TRY(untilItPasses(operation, apply));
      const OplogEntry* const alone = &entries[i++];
      if (alone->session)
        TROUPE_TRY(untilItPasses(operation, [&] {
          return sessions.putInUnit(operation, {&alone, 1}, limits).status();
        }));
      continue;
    }
    for (together.clear(); i < entries.size() && !isAlone(entries[i]); ++i) together.push_back(&entries[i]);
    for (std::span<const OplogEntry* const> left = together; !left.empty();) {
      TROUPE_TRY(untilItPasses(operation, [&]() -> Status {
        TROUPE_ASSIGN(const size_t done, applyInUnit(applier, operation, left, limits));
        left = left.subspan(done);
        return Status::OK();
      }));
    }
    std::erase_if(together, [](const OplogEntry* each) { return !each->session; });
    for (std::span<const OplogEntry* const> left = together; !left.empty();) {
      TROUPE_TRY(untilItPasses(operation, [&]() -> Status {
        TROUPE_ASSIGN(const size_t done, sessions.putInUnit(operation, left, limits));
        left = left.subspan(done);
        return Status::OK();
      }));
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
  const AppliedSessions sessions(catalog, mode);
  if (mode == ApplyMode::kFollowing) TROUPE_TRY(checkIsComplete(log, services, after));
  OplogBatches reader(log, services, after);
  UnitLimits limits;
  TouchedCollections touched;
  Replayed done;
  for (;;) {
    TROUPE_ASSIGN(const auto batch, reader.next());
    if (batch.empty()) break;
    std::vector<OplogEntry> entries;
    for (const bson::Document& document : batch) {
      TROUPE_ASSIGN(auto entry, OplogEntry::parse(document));
      TROUPE_TRY(touched.note(entry).withContext(nameOf(entry)));
      entries.push_back(std::move(entry));
    }
    TROUPE_TRY(writeBatch(applier, sessions, services, entries, limits).withContext("the log could not be replayed"));
    done.entries += static_cast<int64_t>(entries.size());
    done.last = entries.back().opTime.timestamp;
    if (progress) progress(done);
  }
  TROUPE_ASSIGN(done.recounted, touched.recount(catalog, services));
  return done;
}

Status beginDataAt(Catalog& catalog, bson::Timestamp at) {
  Engine& engine = catalog.engine();
  TROUPE_TRY(engine.setStableTimestamp(at));
  TROUPE_TRY(engine.setOldestTimestamp(at));
  engine.setInitialDataTimestamp(at);
  const Status written = catalog.flush();
  TROUPE_ASSIGN(const auto held, engine.checkpoint({.stable = true}));
  if (!written.isOK()) TROUPE_TRY(catalog.flush());  // the checkpoint has made room in the cache
  if (held >= at) return Status::OK();
  return {ErrorCode::kInternalError, "the checkpoint does not hold the data of " + nameOf(at)};
}

}  // namespace troupe::storage
