#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include "storage/oplog/operation_applier.hpp"
#include "storage/oplog/oplog_batch.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

// The units of work in which an applier, or a replay, writes entries. Blocking only as storage does.

/// Bounds of one unit of work, whose changes are in the engine's cache until it commits.
struct UnitLimits {
  size_t maxEntries = 500;
  size_t maxBytes = size_t{4} << 20;  ///< of the documents as they become: a small delta may be of a large one
  size_t usualEntries = 0;            ///< `maxEntries` before a unit was too large; 0: it is the usual one
  size_t fitted = 0;                  ///< full units since `maxEntries` was changed
  bool mayShrink = true;              ///< false within a larger unit, which has failed with the first attempt

  /// A unit of that many entries was too large for the cache.
  void shrink(size_t entries);
  /// A unit of that many entries was written. After some full ones twice as many may fit again: the large documents,
  /// or what else filled the cache, may be over.
  void grow(size_t entries);
};

/// Runs `once`, which writes at most `limits.maxEntries` of `available` entries in one unit of work, with half as many
/// as long as the unit is too large for the cache. `limits` is to be kept for the units that follow. The outcome is
/// that of the last attempt; TransactionTooLargeForCache when one entry alone is too large.
template <class Once>
StatusWith<size_t> untilItFits(size_t available, UnitLimits& limits, const Once& once) {
  for (;;) {
    StatusWith<size_t> done = once();
    if (done.isOK()) limits.grow(*done);
    const size_t tried = std::min(available, limits.maxEntries);
    if (done.status() != ErrorCode::kTransactionTooLargeForCache || tried <= 1 || !limits.mayShrink) return done;
    limits.shrink(tried);
  }
}

/// Adds the entries, whose documents stand beside them, to the node's own log, in one unit of work: after a kill it
/// holds all of them or none. Errors: IllegalOperation, when their times do not grow from the newest entry of the log
/// on, or a term goes back: readers of the log would miss some; WriteConflict and its kin (nothing was written, try
/// again); the engine's.
Status logEntries(OperationContext& operation, OplogStore& log, std::span<const OplogEntry> entries,
                  std::span<const bson::Document> documents);

/// Carries out entries of documents from the front in one unit of work: as many as fit, one at least. Says how many.
/// `limits` shrinks where a unit was too large for the cache, and is to be kept for those that follow.
/// Locks are the caller's. Errors: those of OperationApplier::apply; TransactionTooLargeForCache (one entry alone is).
StatusWith<size_t> applyInUnit(const OperationApplier& applier, OperationContext& operation,
                               std::span<const OplogEntry* const> entries, UnitLimits& limits);

}  // namespace troupe::storage
