#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/maintenance/journal_flusher.hpp"
#include "actors/replication/topology_actor.hpp"
#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/listener.hpp"
#include "actors/transport/settings.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/log/log.hpp"
#include "storage/catalog/write_observer.hpp"
#include "storage/engine/engine.hpp"
#include "storage/oplog/truncate_markers.hpp"
#include "storage/validation/repair.hpp"
#include "supervisors/admin/http_server.hpp"
#include "supervisors/tree/service.hpp"

namespace troupe::replication {
struct RollbackParts;
}  // namespace troupe::replication

namespace troupe::supervisors {

/// Options for opening the engine of a node.
struct EngineSetting {
  log::Log& log;
  const server::Parameters& parameters;
  /// The engine cannot be used any more: the node has to end. Any thread.
  std::function<void(const Status&)> failed;
};
/// Opens the engine of a node: WiredTiger for a daemon, the deterministic one for tests and simulations.
using EngineOpener = std::function<StatusWith<std::unique_ptr<storage::Engine>>(const EngineSetting& setting)>;

/// Links of a node to other nodes.
struct LinkOptions {
  std::string key;  ///< the cluster's; empty: no authentication
  link::Anonymous anonymous = link::Anonymous::kNobody;
  link::LinkTimes times;
  std::vector<std::string> peers;  ///< nodes to link to from the start, besides the members of its replica set
};

/// Stages of a node's end.
enum class StopStage { kTree, kStorage };

/// Options of a node's assembly. Fields with a default are the same in a daemon, in a test and in a simulation.
struct AssemblyOptions {
  std::string name = "localhost:27017";  ///< "host:port" by which other nodes know it
  unsigned threads = 0;                  ///< of the pool; 0: one per core
  bool manual = false;                   ///< no threads: tests and simulations run it
  log::Options log;
  /// Identity that commands show; the assembly draws the process id.
  server::ServerIdentity identity;
  /// Sets parameters before anything is opened; null: they keep their defaults.
  std::function<Status(server::Parameters&)> setParameters;

  std::string dataDirectory;  ///< of the disk that is watched; big sorts spill below it
  std::string spillDirectory;
  bool journal = true;
  bool replicated = false;  ///< an oplog recovers replicated collections: their tables are not logged (JRN-001)
  bool repair = false;      ///< damaged tables and catalogs are mended as far as possible
  maintenance::JournalFlusher::Pace flushPace;  ///< of a simulated disk; null: a real one

  std::span<const server::Command> commands;  ///< an extension's; static
  std::vector<Service> services;              ///< an extension's
  /// Hear of writes besides the node's own; they outlive the assembly.
  std::vector<storage::WriteObserver*> observers;
  transport::ListenerOptions listener;
  std::optional<LinkOptions> links;  ///< none: it has no way to other nodes
  std::optional<HttpServerOptions> admin;
  std::string replicaSet;      ///< empty: the node stands alone
  storage::OplogLimits oplog;  ///< of a member's log; the size counts when it is made
  /// Sees the parts of the topology actor before it is made: for simulations that watch or feed it. May be null.
  std::function<void(replication::TopologyParts&)> adjustTopology;
  /// The same for the rollback actor: tests give it another member's log. May be null.
  std::function<void(replication::RollbackParts&)> adjustRollback;

  auth::RandomSource secrets;  ///< for salts and nonces; null: from the environment, which is for tests only
  /// What makes decoy credentials; called with the engine open. Null: drawn at each start, which is for nodes without
  /// users.
  std::function<StatusWith<std::string>()> loginSecret;
  std::function<void()> requestShutdown;
  /// The node has to end: the engine or the root of the tree has failed, or the tree has ended (OK). Any thread.
  std::function<void(const Status& reason)> failed;
  /// `stop` enters a stage. May be null.
  std::function<void(StopStage)> stopping;
};

}  // namespace troupe::supervisors
