#pragma once
#include <functional>
#include <set>

#include "messaging/errors/status.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

/// The collections whose numbers of documents and bytes an operation of the log changes. A replay and a rollback
/// recount them: the counters on the disk are of no particular time (RBK-006). All others keep theirs. One thread.
class TouchedCollections {
 public:
  /// Errors: FailedToParse.
  Status note(const LoggedOperation& operation);
  /// Also what is kept of the session that wrote it.
  Status note(const OplogEntry& entry);
  /// All of the log behind a time, as far as it is visible. *Blocks.* Errors: FailedToParse, with the time of the
  /// entry.
  Status noteLog(const OplogStore& log, const OperationServices& services, bson::Timestamp after);
  /// Counts the documents of those that are there, by scans. Alone on the node, without locks; *blocks*.
  Status recount(const Catalog& catalog, const OperationServices& services) const;
  size_t size() const { return collections_.size(); }

 private:
  std::set<bson::Uuid> collections_;
  bool hasSessions_ = false;
};

}  // namespace troupe::storage
