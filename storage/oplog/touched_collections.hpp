#pragma once
#include <functional>
#include <set>

#include "messaging/errors/status.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

/// The collections whose numbers of documents and bytes an operation of the log changes. A replay recounts them, at a
/// start and in a rollback: the counters on the disk are of no particular time (RBK-006). All others keep theirs. One
/// thread.
class TouchedCollections {
 public:
  /// Errors: FailedToParse.
  Status note(const LoggedOperation& operation);
  /// Also what is kept of the session that wrote it.
  Status note(const OplogEntry& entry);
  /// All of the log behind a time, as far as it is visible. *Blocks.* Errors: FailedToParse, with the time of the
  /// entry.
  Status noteLog(const OplogStore& log, const OperationServices& services, bson::Timestamp after);
  /// Notes them on the disk (SizeStorer::doubt), before the entries that touch them leave the log.
  Status doubt(Catalog& catalog) const;
  /// Counts the documents of those that are there and of those in doubt, by scans, and settles the doubt. Alone on the
  /// node, without locks; *blocks*. Returns how many collections it has counted.
  StatusWith<int64_t> recount(Catalog& catalog, const OperationServices& services) const;

 private:
  /// With those of sessions.
  std::set<bson::Uuid> uuids(const Catalog& catalog) const;

  std::set<bson::Uuid> collections_;
  bool hasSessions_ = false;
};

/// Before the log is cut behind `point`, at a start or by a rollback: puts in doubt what the entries behind it touch.
/// *Blocks.* Errors: FailedToParse, with the time of the entry.
Status doubtWhatIsCut(Catalog& catalog, const OplogStore& log, const OperationServices& services,
                      bson::Timestamp point);

}  // namespace troupe::storage
