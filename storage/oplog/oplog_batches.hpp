#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

/// Reads the log behind a time, forward, in batches of 1,000 entries or 8 MiB. The entries are copies, which outlive
/// the snapshot in which they were read: between two batches none is open. One thread.
class OplogBatches {
 public:
  /// `services` name the pool of sessions; both outlive it.
  OplogBatches(const OplogStore& log, const OperationServices& services, bson::Timestamp after)
      : log_(log), operation_(services, OperationOrigin::kApplier), last_(after) {}

  /// Empty at the end of what is visible.
  StatusWith<std::vector<bson::Document>> next();

 private:
  const OplogStore& log_;
  OperationContext operation_;
  bson::Timestamp last_;
};

/// Calls `use` for each operation of an entry: for the one it is, and for those of a group. Errors: FailedToParse;
/// those of `use`.
Status eachOperation(const LoggedOperation& operation, const std::function<Status(const LoggedOperation&)>& use);

}  // namespace troupe::storage
