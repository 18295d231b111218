#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/replication/flow_control_state.hpp"
#include "actors/replication/followed_builds.hpp"
#include "actors/replication/member_figures.hpp"
#include "actors/replication/oplog_applier.hpp"
#include "actors/replication/oplog_fetcher.hpp"
#include "actors/replication/rollback_actor.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::supervisors {

/// Those who wait for the end of the rollback that is under way. Any thread.
class RollbackTurn {
 public:
  Future<Done> await();
  void ended();
  /// When it has ended the data are to be copied from another member.
  void copyAnew() { copiesAnew_ = true; }
  bool takeCopyAnew() { return copiesAnew_.exchange(false); }

 private:
  std::mutex mutex_;
  std::vector<Promise<Done>> waiting_;
  std::atomic<bool> copiesAnew_{false};
};

/// What a member follows others with: the buffer between its fetcher and its applier, the writer of batches, and what
/// outlives the actors; the context names what of it is shown. Goes after the node has shut down and before its storage
/// does.
struct Following {
  Following(server::ServerContext& server, storage::OperationServices services);
  /// The node shuts down: no batch of a log scans any more.
  void endScans() {
    writer.endScans();
    copyWriter.endScans();
  }

  std::unique_ptr<replication::RemoteMembers> members;
  replication::OplogBuffer buffer;
  replication::FollowedBuilds builds;
  replication::BatchWriter writer;
  replication::BatchWriter copyWriter;  ///< of an initial sync: what it carries out may be in the copy already
  replication::ApplierMemory applied;
  std::shared_ptr<replication::FetcherState> fetching;
  replication::FetchFigures fetched;
  replication::RollbackFigures rolledBack;
  replication::FlowControlState flow;
  const replication::MemberFigures figures{buffer, applied.figures, fetched, rolledBack};
  /// An initial sync has begun and not ended, in this life of the process or the one before.
  const std::shared_ptr<std::atomic<bool>> isCopying = std::make_shared<std::atomic<bool>>(false);
  /// A rollback has entered its state and not ended.
  const std::shared_ptr<std::atomic<bool>> isRollingBack = std::make_shared<std::atomic<bool>>(false);
  /// The fetcher has found that nobody has what this member lacks.
  const std::shared_ptr<std::atomic<bool>> isTooStale = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<RollbackTurn> rollbackTurn = std::make_shared<RollbackTurn>();
};

/// Before a rollback or a copy, whose actor answers for the way back: no scan reads data that are about to be undone
/// (RBK-003), no batch waits for one, and what was fetched is not applied any more. Errors: the applier's.
Task<Status> stopFollowing(Node* node, Following* following);
void followAgain(Node& node, Following& following);

/// `failed` ends the node.
replication::OplogApplier::Parts wireApplier(server::ServerContext& server, Following& following,
                                             std::function<void(const Status&)> failed);
replication::FetcherParts wireFetcher(server::ServerContext& server, Following& following);
/// Adds to the parts of a rollback what fetches and applies.
void wireFollowing(server::ServerContext& server, Following& following, replication::RollbackParts& rollback);

}  // namespace troupe::supervisors
