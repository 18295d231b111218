#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "actors/maintenance/blocking_worker.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "actors/replication/flow_control.hpp"
#include "actors/replication/initial_syncer.hpp"
#include "actors/replication/kept_history.hpp"
#include "actors/replication/oplog_applier.hpp"
#include "actors/replication/oplog_fetcher.hpp"
#include "actors/replication/progress_reporter.hpp"
#include "actors/replication/remote_members.hpp"
#include "actors/replication/rollback_actor.hpp"
#include "actors/replication/topology_actor.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/links.hpp"
#include "actors/transport/listener.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/oplog/truncate_after_point.hpp"
#include "supervisors/admin/http_server.hpp"
#include "supervisors/supervision/tree.hpp"

namespace troupe::supervisors {

/// Dependencies of the actors that make a node a member of a replica set.
struct MemberParts {
  replication::TopologyParts topology;
  replication::KeptHistory* history = nullptr;
  replication::ProgressReporter::Parts progress;
  replication::OplogApplier::Parts applier;
  replication::FetcherParts fetcher;
  replication::RollbackParts rollback;
  replication::InitialSyncParts initialSync;
  replication::FlowControl::Parts flow;
};

/// Dependencies of the actors of a node's tree; outlives the tree.
struct TreeParts {
  server::ServerContext* server = nullptr;
  storage::OplogStore* oplog = nullptr;             ///< null: no member of a replica set
  storage::TruncateAfterPoint* endOfLog = nullptr;  ///< null: the log recovers no data
  storage::FlushKind flushKind = storage::FlushKind::kLog;
  maintenance::JournalFlusher::Pace flushPace;  ///< of a simulated disk; null: a real one
  transport::ListenerOptions listener;
  std::shared_ptr<transport::Network> network;
  std::shared_ptr<link::Links> links;                 ///< to the other nodes; null: none
  std::shared_ptr<replication::RemoteMembers> nodes;  ///< runs commands on the other nodes, and on this one
  std::optional<MemberParts> member;                  ///< none: it stands alone
  std::optional<HttpServerOptions> admin;             ///< none: no admin endpoint
  std::vector<ChildSpec> services;                    ///< of extensions, under kServicesPath
  int blockingWorkers = 3;
  std::shared_ptr<maintenance::JobQueue> jobs;  ///< what the blocking workers take their work from
};

/// The supervision tree of a node that holds data, in start order: storage first, then links, replication (on a
/// member of a replica set) and services, the front last.
Tree dataNodeTree(const TreeParts& parts);

inline constexpr const char* kServicesPath = "/node/services";
inline constexpr const char* kJournalFlusherPath = "/node/storage/journal-flusher";
inline constexpr const char* kCheckpointerPath = "/node/storage/checkpointer";
std::string blockingWorkerPath(int worker);

}  // namespace troupe::supervisors
