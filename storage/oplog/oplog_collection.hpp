#pragma once
#include "storage/catalog/catalog.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

/// local.oplog.rs
Namespace oplogName();

/// Shows the oplog to clients as the capped collection local.oplog.rs, without indexes (OPL-001): a row of the catalog
/// over the store's own table, so that finds, tails and counts go the way of every collection, and its forward scans
/// end at the visibility point. Nobody writes through it: IllegalOperation. Called when a member starts; finds what an
/// earlier start has made, whose size stands whatever `limits` say. Errors: UnsupportedFormat, when a collection of
/// that name has a table of its own.
StatusWith<CollectionPtr> showOplog(Catalog& catalog, const OplogLimits& limits);

/// Gives the collection the size that the log has from now on, for listCollections and the next start. Inside a unit of
/// work, under its X lock. Errors: WriteConflict.
Status resizeShownOplog(Catalog& catalog, RecoveryUnit& unit, int64_t bytes);

/// OpTime of the newest entry in the unit's snapshot, whether readers of the log see it yet or not: whatever else the
/// snapshot holds was written at that time or before. The null OpTime where there is no log, or an empty one.
StatusWith<OpTime> lastLogged(const Catalog& catalog, RecoveryUnit& unit);

}  // namespace troupe::storage
