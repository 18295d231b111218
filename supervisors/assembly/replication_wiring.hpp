#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "actors/replication/flow_control.hpp"
#include "actors/replication/progress_reporter.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/replication/source_candidates.hpp"
#include "actors/server/server_context.hpp"
#include "storage/oplog/unlogged_changes.hpp"

namespace troupe::supervisors {

/// Awaits, for state documents, that all that was written so far in the present term is acknowledged by a majority.
/// Fails with InterruptedDueToReplStateChange when this node loses its right to write first.
std::function<Task<Status>(std::optional<int64_t> term)> majorityWait(server::ServerContext& server);

/// Asks the topology, which answers at once, unless it is being started anew. `node` outlives the task.
Task<Status> askTopology(Node* node, Payload question);
/// What a member knows of the others as sources of its log, at each call.
std::function<replication::Candidates()> sourceCandidates(server::ServerContext& server);
/// Whether there is replicated data. Sessions that a standalone node has noted are nobody's data.
bool holdsReplicatedData(const storage::Catalog& catalog);

/// The reporter of positions, which tells the topology what is applied.
replication::ProgressReporter::Parts wireProgress(server::ServerContext& server);

/// Flow control, whose state the context has.
replication::FlowControl::Parts wireFlowControl(server::ServerContext& server);

/// What the first entry of a log says in which all data of its set are.
inline constexpr std::string_view kWholeLogBegins = "initiating set";

/// The data of this node begin with the first entry of its log, which all members have and none ever undoes: from that
/// time on they are consistent, and a rollback has a time to go back to (CKP-002). Once; later calls change nothing.
/// Only for data that were older than that entry when the log was begun, or replayed.
Status beginHistory(storage::Engine& engine, const storage::OplogStore& oplog, storage::SessionPool& sessions);

/// The log has the size it was made with, or was given since by replSetResizeOplog, whatever is configured by now.
void takeSizeOfLog(storage::OplogStore& oplog, const storage::Collection& shown, log::Log& log);

/// A member's directory keeps the data of its set, or says that it does not: `isMember`, the directory is refused if
/// they were changed without the set (UnloggedChanges::checkNone). Of a node that stands alone over such data: what is
/// to hear of its changes, and from now on the node changes nothing by itself (expiry, records of sessions), and its
/// checkpoints keep the time that its data are of; null over data of its own. `damaged`: what a repair has found.
/// *Blocks.*
StatusWith<std::unique_ptr<storage::UnloggedChanges>> guardLeftData(storage::Engine& engine,
                                                                    server::Parameters& parameters, bool isMember,
                                                                    const std::set<std::string>& damaged);

/// Cuts off what a kill has left behind the end of the log without holes (REC-005): others may have what is missing in
/// it.
Status cutBehindHoles(storage::Catalog& catalog, storage::OplogStore& oplog, bson::Timestamp end,
                      storage::SessionPool& sessions, log::Log& log);

/// The failure to carry out entries of the log, as the reason for which the node ends: ManualInterventionRequired where
/// another start would meet it again, since the data of this node are not those of the log. All else may pass, and is
/// left as it is: conflicts, a lack of the machine (space, files, memory), failures of the engine, a batch cut off.
Status endOfMisfitData(const Status& failure);

/// Before that: where the last life was not stopped in order (`endOfLog`, the truncate-after point, is not zero),
/// entries that others have read may be missing in this log. The rollback id moves, durably (RBK-005).
Status noteLostEnd(storage::Catalog& catalog, bson::Timestamp endOfLog, storage::SessionPool& sessions, log::Log& log);

/// What a start has found of replicated data, before it has carried out the log over them.
enum class DataFound {
  kNotWhole,        ///< an initial sync has not ended
  kBesideNoLog,     ///< a new node, or one that stood alone
  kOfRecoveryTime,  ///< those of a stable checkpoint
  kOlderThanLog,    ///< none, and a log that begins with its set: of a founder or its followers, just begun
  kOfUnknownTime,   ///< those of a full checkpoint, which may be later than entries of the log
};
StatusWith<DataFound> findData(storage::Catalog& catalog, const storage::OplogStore& oplog,
                               storage::SessionPool& sessions);

/// The times of a member at its start, when its log has been carried out: its data are those at the end of it. They are
/// consistent from the recovery time on, or from the beginning of the log where they were older. Data of an unknown
/// time are not consistent before that end, and are in a checkpoint of it before anything is served: as of the log's
/// beginning they would be later than what they are said to be, and the next replay would not fit. *Blocks.*
Status startTimes(storage::Catalog& catalog, const storage::OplogStore& oplog, storage::SessionPool& sessions,
                  replication::ReplicationProgress& progress, DataFound found);

}  // namespace troupe::supervisors
