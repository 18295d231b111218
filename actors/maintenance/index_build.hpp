#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/storage/collection_writer.hpp"
#include "storage/catalog/index_builder.hpp"

namespace troupe::maintenance {

/// One build of indexes over an existing collection, on a thread of its own below IndexBuilds, which hears when its
/// outcome is certain (BuildDecided) and of its end (BuildDone). It owns the operation that builds: its interrupt,
/// ticket, locks and recovery unit. Short exclusive phases at both ends; in between it scans in slices, each under an
/// intent lock, so that writers go on beside it and an operation that wants the collection for itself waits for the
/// present slice only. While a step-down waits for secondaries the build waits too, and goes on if its term does.
/// However it ends, it leaves no unfinished index, but where the process dies or this member has lost the right to
/// write (discard_build.hpp).
class IndexBuild final : public Actor {
 public:
  /// `server` outlives it. Its operation can be killed from now on.
  IndexBuild(server::ServerContext& server, bson::Uuid build, BuildIndexes wanted);
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  /// Aborts the build, and ends with it.
  void onStopRequested() override;
  bson::Document describe() const override;

  /// Of the operation, for killOp.
  int64_t operationId() const { return operation_->id(); }

 private:
  enum class SetUp { kAwaitsOthers, kComplete, kMustScan };

  Task<void> run();
  Task<StatusWith<IndexesBuilt>> build();
  Task<StatusWith<SetUp>> setUp(IndexesBuilt& built);
  Task<StatusWith<SetUp>> setUpLocked(IndexesBuilt& built);
  Task<Status> createOnEmpty(storage::CollectionPtr collection, std::vector<storage::IndexSpec> specs);
  Task<Status> untilOthersEnded();
  Task<Status> scan();
  Task<StatusWith<bool>> slice();
  StatusWith<bool> scanSlice();
  StatusWith<bool> scanBatch(TimePoint now);
  std::optional<std::chrono::milliseconds> pauseAfter(const Status& outcome);
  Task<Status> commit();
  Task<Status> commitOnce();
  Task<Status> untilWritable();
  Task<void> giveUp();
  void decide();
  Task<Status> reach(const char* phase, storage::OperationContext& operation);
  Task<void> reachWhenEnded(const char* phase);
  bool isHeldAt(std::string_view phase);
  void showProgress();
  std::vector<bson::View> specs() const { return {wanted_.specs.begin(), wanted_.specs.end()}; }

  server::ServerContext& server_;
  const bson::Uuid build_;
  const BuildIndexes wanted_;
  server::ServiceOperation operation_;
  CollectionWriter writer_;
  bool isDecided_ = false;                        ///< IndexBuilds knows that its outcome is certain
  std::optional<storage::IndexBuilder> builder_;  ///< once it is set up, unless there is nothing to scan
  std::vector<bson::Uuid> others_;                ///< builds under way that make some of its indexes
  int64_t estimated_ = 0;                         ///< documents of the collection at the set-up
  int64_t scannedWhenRefused_ = 0;                ///< documents
  int refusals_ = 0;       ///< slices on end that the cache had no room for, without a document between
  int64_t conflicts_ = 0;  ///< batches run again because writers were there first
};

}  // namespace troupe::maintenance
