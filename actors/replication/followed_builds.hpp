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
/// become older ones (forgetAll). A commit that finds no scan, after a restart or a rollback, has one begin that
/// empties the index first. Any thread; outlives the scans' actors.
class FollowedBuilds {
 public:
  struct Parts {
    Node& node;
    storage::Catalog& catalog;
    /// Makes the operation of a scan, of the origin kApplier and admitted without a ticket. currentOp shows the
    /// command; after a killOp the commit has another scan begin, and scans by itself if that one is killed, too.
    std::function<std::shared_ptr<storage::OperationContext>(const bson::Uuid& build, const storage::Namespace& ns,
                                                             bson::Document command)>
        makeOperation;
    /// Asked before each batch of documents, with the number of those scanned: what a scan has to wait for, such as
    /// room on the disk; null: nothing. May be null.
    std::function<const char*(int64_t documents)> awaited = {};
    /// Hears of scans that did not get through, on their threads; must not block. May be null.
    std::function<void(const bson::Uuid& build, const Status& why)> failed = {};
  };
  explicit FollowedBuilds(Parts parts);
  ~FollowedBuilds();
  FollowedBuilds(const FollowedBuilds&) = delete;

  /// The start of the build was applied: its scan begins. Does nothing where the build has left no index to be filled.
  void begin(const bson::Uuid& collection, const bson::Uuid& build);
  /// Waits for the end of the build's scan, and begins one where there is none. Gives what has read the whole
  /// collection, whose commit makes the indexes ready; null: it did not get through, or there is nothing to scan.
  /// Nothing more is known of the build then. Errors: InterruptedDueToReplStateChange while suspended.
  Task<StatusWith<std::unique_ptr<storage::IndexBuilder>>> takeScanned(bson::Uuid collection, bson::Uuid build);
  /// The build was aborted.
  void forget(const bson::Uuid& build);
  /// The data are no longer those that the scans have read (a rollback, another copy), or this member leads.
  void forgetAll();
  /// A rollback begins: all is forgotten, nobody waits for a scan any more, and none begins until `resume`.
  void suspend();
  void resume();

 private:
  struct Scan;
  class ScanActor;
  using ScanPtr = std::shared_ptr<Scan>;
  enum class Table { kNew, kUsed };  ///< kUsed: an earlier scan may have left keys

  /// Null: there is nothing to fill, or it is suspended. The scan of the build that is there already, if there is one.
  ScanPtr beginOn(Table table, const bson::Uuid& collection, const bson::Uuid& build);
  ScanPtr find(const bson::Uuid& build) const;
  bool isSuspended() const;
  void ended(const bson::Uuid& build, const ScanPtr& scan, const Status& outcome);

  const Parts parts_;
  mutable std::mutex mutex_;
  std::map<bson::Uuid, ScanPtr> scans_;  ///< by build
  int64_t begun_ = 0;
  bool suspended_ = false;
};

}  // namespace troupe::replication
