#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/server/client.hpp"
#include "actors/server/connection_gate.hpp"
#include "actors/server/cursor_registry.hpp"
#include "actors/server/disk_guard.hpp"
#include "actors/server/fail_points.hpp"
#include "actors/server/fsync_lock.hpp"
#include "actors/server/guarded_catalog.hpp"
#include "actors/server/latencies.hpp"
#include "actors/server/message_memory.hpp"
#include "actors/server/namespace_usage.hpp"
#include "actors/server/parameters.hpp"
#include "actors/server/writer_bursts.hpp"
#include "actors/storage/collection_writer.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/bson/ids.hpp"
#include "messaging/log/log.hpp"
#include "messaging/wire/op_compressed.hpp"
#include "storage/admission/execution_admission.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/locks/lock_manager.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/query/shape/index_filters.hpp"
#include "storage/transaction/conflict_retry.hpp"
#include "storage/transaction/session_pool.hpp"

namespace troupe {
class Node;
}
namespace troupe::storage {
class OplogStore;
}
namespace troupe::replication {
class FlowControlState;
class Membership;
struct MemberFigures;
class ReplicationProgress;
}  // namespace troupe::replication

namespace troupe::server {

class CappedWaiters;
class CommandTable;
class DefaultConcerns;
class HelloState;
class Profiler;
class RetryableRuns;
class SessionCache;
class SessionCatalog;
class TimeProofs;
class UserStore;

/// Counts since the node started, for serverStatus and the metrics endpoint.
struct ServerCounters {
  std::atomic<int64_t> insert{0}, query{0}, update{0}, remove{0}, getMore{0}, command{0};
  std::atomic<int64_t> documentsReturned{0}, documentsInserted{0}, documentsUpdated{0}, documentsDeleted{0};
  std::atomic<int64_t> keysExamined{0}, documentsExamined{0};
  std::atomic<int64_t> bytesIn{0}, bytesOut{0}, requests{0};
  std::atomic<int64_t> userAsserts{0};
  std::atomic<int64_t> scrubCycles{0}, scrubbedTables{0}, scrubbedBytes{0};
  std::atomic<int64_t> scrubbedDamagedTables{0};  ///< whose last check found damage
  std::atomic<int64_t> failedCheckpoints{0};
  std::atomic<int64_t> retriedCommands{0}, retriedStatements{0};  ///< of retryable writes
  std::atomic<int64_t> ttlPasses{0}, ttlSubPasses{0}, ttlDeletedDocuments{0};
};

/// Options that `trouped` was started with, as far as commands show them.
struct ServerIdentity {
  std::string host;            ///< "name:port"
  bson::ObjectId processId;    ///< of topologyVersion
  bson::Document commandLine;  ///< getCmdLineOpts: {argv, parsed}
  int64_t port = 0;
  int64_t maxConnections = 10'000;
  bool authentication = false;
  std::vector<wire::Compressor> compressors;
};

/// How long a piece of blocking work keeps its thread. Longer work leaves threads to what is shorter: a login must not
/// wait for a validation, nor a validation for the compaction of another collection.
enum class WorkLength : uint8_t {
  kShort,       ///< milliseconds, whatever the data: on any thread
  kLong,        ///< depends on the data (checkpoint, validation): leaves one thread free
  kBackground,  ///< a piece of work that would go on for hours (compaction, digest): leaves two threads free
};

/// Work that blocks a thread (flush, checkpoint, index scan, file copy) and therefore runs on detached actors. `done`
/// is called on any thread with the outcome.
class BlockingWork {
 public:
  virtual ~BlockingWork() = default;
  virtual void run(std::string_view what, WorkLength length, std::function<Status()> work,
                   std::function<void(Status)> done) = 0;
};

/// All that commands may use of their node. Owned by the node; outlives every connection. Members are thread-safe.
struct ServerContext {
  Node& node;
  TimePoint startedAt;
  log::Log& log;
  ServerIdentity identity;
  const CommandTable& commands;
  Parameters& parameters;
  FailPoints& failPoints;
  ClientRegistry& clients;
  CursorRegistry& cursors;
  SessionCache& sessions;
  UserStore& users;
  HelloState& hello;
  CappedWaiters& cappedWaiters;
  WriterBursts bursts;
  Profiler& profiler;
  ServerCounters counters;
  OperationLatencies latencies;
  NamespaceUsage usage;
  bson::ObjectIdGenerator& objectIds;
  storage::Engine& engine;
  storage::SessionPool& storageSessions;
  GuardedCatalog catalog;
  storage::LockManager& locks;
  storage::ExecutionAdmission& admission;
  storage::DurabilityTracker& durability;
  storage::ConflictCounters conflicts;
  BlockingWork& blocking;
  DiskGuard& disk;
  auth::RandomSource secrets;         ///< for salts and nonces: unpredictable but in tests and simulations
  std::string loginSecret;            ///< makes decoy credentials stable: of the cluster or the node where it can be
  std::string spillDirectory;         ///< where big sorts put their runs
  std::function<void()> wakeFlusher;  ///< called when a request waits for a flush that has not begun
  std::function<void()> requestShutdown;                                    ///< as SIGTERM does
  std::function<std::vector<bson::Document>(bson::View filter)> actorRows;  ///< rows of the actor tree
  storage::Locker shutdownLock{locks};  ///< holds the global lock from the end of the last operation on
  /// An operator's action on an actor: "restart", "park", "resume", "trace" or "untrace". Errors: BadValue (no such
  /// action), NoSuchKey (no such actor), IllegalOperation.
  std::function<Task<Status>(std::string path, std::string action, std::string reason)> controlActor;
  replication::Membership* membership = nullptr;          ///< null on a node that is no member of a replica set
  replication::ReplicationProgress* progress = nullptr;   ///< a member's; null like `membership`
  replication::FlowControlState* flow = nullptr;          ///< likewise
  const replication::MemberFigures* following = nullptr;  ///< likewise
  TimeProofs* proofs = nullptr;                           ///< likewise
  DefaultConcerns* defaultConcerns = nullptr;             ///< likewise
  SessionCatalog* sessionCatalog = nullptr;               ///< likewise
  storage::OplogStore* oplog = nullptr;                   ///< a member's log
  storage::OperationServices operations;                  ///< of every operation on this node
  WriteServices writes;
  /// Writes of services and of commands that extend the server, each carried out once: on the primary of the node's
  /// set, or on this node where it stands alone.
  RetryableRuns* serviceWrites = nullptr;
  ConnectionGate gate{identity.maxConnections};  ///< admission of connections
  query::IndexFilters indexFilters{};            ///< set by planCacheSetFilter
  MessageMemory messages{parameters};            ///< of incomplete messages
  FsyncLock fsyncLock{};                         ///< its holder has an operation of this node
};

/// Whether a client has authenticated, or need not because access control is off. Before that it gets little memory.
bool isTrusted(const ServerContext& server, const Client& client);

/// Milliseconds since 1970 by the node's clock.
int64_t wallMillis(const ServerContext& server);
/// A new ObjectId from the node's clock and random source.
bson::ObjectId newObjectId(ServerContext& server);

}  // namespace troupe::server
