#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::replication {

/// Scans for the index builds of another member's log, beside the applier: each begins when the entry of the build's
/// start has been applied, so that the entry of its commit finds the index filled, and holds up nothing that follows.
/// Documents that are applied meanwhile are kept up by their writers, as beside a build on the primary. A scan works in
/// slices, each under an intent lock; its keys have no times, for readers ignore the index. It ends with its index or
/// collection, and on a member that leads, which discards the build; what it has read counts no more when the data
/// become older ones (forgetAll). A build without a scan is scanned by its commit. Any thread; outlives the scans'
/// actors.
class FollowedBuilds {
 public:
  struct Parts {
    Node& node;
    storage::Catalog& catalog;
    /// Makes the operation of a scan: of the origin kApplier, admitted without a ticket. The command is for those who
    /// are shown the operation, and may end it; the commit scans then.
    std::function<std::shared_ptr<storage::OperationContext>(const bson::Uuid& build, const storage::Namespace& ns,
                                                             bson::Document command)>
        makeOperation;
    /// Asked between two slices: what a scan has to wait for, such as room on the disk; null: nothing. May be null.
    std::function<const char*()> awaited = {};
    /// Hears of scans that did not get through, on their threads; must not block. May be null.
    std::function<void(const bson::Uuid& build, const Status& why)> failed = {};
  };
  explicit FollowedBuilds(Parts parts);
  ~FollowedBuilds();
  FollowedBuilds(const FollowedBuilds&) = delete;

  /// The start of the build was applied: its scan begins. Does nothing where the build has left no index to be filled.
  void begin(const bson::Uuid& collection, const bson::Uuid& build);
  /// Waits for the end of the scan. Gives what has read the whole collection, whose commit makes the indexes ready;
  /// null: there is no scan, or it did not get through. Nothing more is known of the build then.
  Task<std::unique_ptr<storage::IndexBuilder>> takeScanned(bson::Uuid build);
  /// The build was aborted.
  void forget(const bson::Uuid& build);
  /// The data are no longer those that the scans have read: a rollback, another copy.
  void forgetAll();

 private:
  struct Scan;
  class ScanActor;
  using ScanPtr = std::shared_ptr<Scan>;

  ScanPtr find(const bson::Uuid& build) const;

  const Parts parts_;
  mutable std::mutex mutex_;
  std::map<bson::Uuid, ScanPtr> scans_;  ///< by build
  int64_t begun_ = 0;
};

}  // namespace troupe::replication
