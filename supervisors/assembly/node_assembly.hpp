#pragma once
#include <memory>
#include <set>
#include <string>

#include "actors/environment/environment.hpp"
#include "actors/machines/storage_access.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/network.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/oplog/truncate_after_point.hpp"
#include "supervisors/assembly/assembly_options.hpp"

namespace troupe::supervisors {

/// A whole node: parameters, log, storage, what commands work with (ServerContext), the kernel, and the supervised tree
/// of actors. The one place where they are put together: the daemon gives it the machine's clock, WiredTiger and TCP;
/// the simulator and the tests of commands give it virtual time, the deterministic engine and a simulated network, or
/// none. It lies above the tree because it starts the tree; tests of lower rooms link it for that reason.
///
/// A part is a member of `Parts`, in the order of construction: it may use what stands before it, and goes before
/// that. Parts that commands use are members of ServerContext as well, which `Parts::makeContext` fills.
///
/// Used by one thread: the main thread, or the test.
class NodeAssembly {
 public:
  NodeAssembly(std::shared_ptr<Environment> environment, EngineOpener engine,
               std::shared_ptr<transport::Network> network, AssemblyOptions options);
  /// Calls `stop`, also after an `open` or `begin` that failed half-way.
  ~NodeAssembly();
  NodeAssembly(const NodeAssembly&) = delete;
  NodeAssembly& operator=(const NodeAssembly&) = delete;

  /// Sets the parameters, opens the engine and the catalog. Errors: those of the engine; BadValue for a parameter.
  Status open();
  /// After `open`: makes the kernel, and starts the tree. Ready when the future says so; a manual node has to be run
  /// meanwhile. Errors: BadValue for TLS files and options.
  StatusWith<Future<Status>> begin();
  /// `begin`, and waits until all of the tree is ready. Errors: also those of StartedTree::ready (a port in use).
  Status startTree();
  /// Drains: hello tells drivers to go, running requests get time to end, the tree stops in order, storage closes.
  /// Once; also what a failed `open` or `begin` has left is taken down.
  void stop();
  /// Ends the node as the death of the process does: no flush, no notice to peers and drivers. Writes that are not
  /// durable are lost with the engine; a simulation has taken a copy of its disk before.
  void crash();

  const AssemblyOptions& options() const;
  log::Log& log();
  Environment& environment();
  server::Parameters& parameters();
  storage::Catalog& catalog();              ///< after `open`
  storage::Engine& engine();                ///< after `open`
  storage::OplogStore* oplog();             ///< after `open`; null when the node stands alone
  storage::TruncateAfterPoint* endOfLog();  ///< after `open`; null where the log recovers no data
  /// Tables that a repair found damaged; after `open`.
  const std::set<std::string>& damagedTables() const;
  Node& node();  ///< after `begin`
  /// The context of commands; after `begin`.
  server::ServerContext& context();
  /// Access for stores of state documents; after `begin`.
  machines::StorageAccess storageAccess();
  /// The node's place in its replica set; null when it stands alone. After `begin`.
  const replication::Membership* membership() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace troupe::supervisors
