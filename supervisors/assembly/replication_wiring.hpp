#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "actors/machines/storage_access.hpp"
#include "actors/replication/primary_progress.hpp"
#include "actors/replication/progress_reporter.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/replication/state_transition.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::supervisors {

/// The change of a member between the two ways in which its data grow: by its own writes, as primary, and by another
/// member's log. Carries out what the topology decides, in order. Made with make_shared; what it refers to outlives the
/// topology actor. Any thread.
class DataRole : public std::enable_shared_from_this<DataRole> {
 public:
  DataRole(server::ServerContext& server, std::shared_ptr<replication::StateTransition> transition);

  /// All that was fetched is applied, nothing more comes, and the last role has ended: the log goes on here, in that
  /// term.
  void beginTerm(int64_t term);
  /// Writes of the term are welcome. Its first one is a note, which lets the commit point move (REP-043).
  void acceptWrites(int64_t term);
  /// This node does not write, or no longer.
  void follow();

 private:
  static Task<void> leaveTerm(std::shared_ptr<DataRole> self, int64_t term);
  static Task<void> noteTerm(std::shared_ptr<DataRole> self, int64_t term);
  /// The first entry of a set's log says so; whether the log is all of its data, too.
  Task<Status> noteBeginning();
  bool hasReplicatedData() const;

  server::ServerContext& server_;
  const std::shared_ptr<replication::StateTransition> transition_;
  const std::shared_ptr<replication::PrimaryProgress> writes_;
  std::mutex mutex_;
  int64_t term_ = 0;   ///< in which this node may write; 0: it follows
  int64_t noted_ = 0;  ///< the last term that was noted in the log
};

/// Awaits, for state documents, that all that was written so far in the present term is acknowledged by a majority.
/// Fails with InterruptedDueToReplStateChange when this node loses its right to write first.
std::function<Task<Status>()> majorityWait(server::ServerContext& server);

/// The reporter of positions, which tells the topology what is applied.
replication::ProgressReporter::Parts wireProgress(server::ServerContext& server);

/// What is stable for the engine, and the history that it keeps (minSnapshotHistoryWindowInSeconds).
std::function<void(const OpTime&)> stableTimeSetter(storage::Engine& engine, const server::Parameters& parameters);

}  // namespace troupe::supervisors
