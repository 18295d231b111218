#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "actors/server/cursor_registry.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/bson/collation.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/plan/executor.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::commands {
using namespace server;

/// How long an operation may keep its thread before others get their turn.
inline constexpr auto kSlice = std::chrono::milliseconds(10);

/// Resources of one query, owned in one place so that they live as long as the query: the command's bytes,
/// collation, `let` variables and the collection; and the operation that works on it, with its clock,
/// interrupt and memory budget.
class QueryResources final : public query::QueryWork {
 public:
  QueryResources(ServerContext& server, storage::OperationContext& operation) : server(server), operation(&operation) {}

  TimePoint coarseNow() const override;
  Status checkForInterrupt() override;
  storage::MemoryBudget* memory() override { return &operation->memory(); }
  /// Of the operation: all parts of the query read through it.
  storage::RecoveryUnit& unit() const { return operation->recoveryUnit(); }
  /// The catalog as the operation's snapshot sees it; opens both together, unless they are open (CAT-019). It ends with
  /// the snapshot, so it is asked for again after anything that may give that up.
  StatusWith<CatalogReader> catalog() const;
  /// Opens the catalog for the first time in a command and finds its collection in it. Errors also: those of checkRole,
  /// when the node's role has changed since the command was dispatched (RDS-004).
  Status open(const Request& request, const AuthorizedNamespace& ns);

  ServerContext& server;
  storage::OperationContext* operation;  ///< the operation of the present command; another for each getMore
  /// Keeps a copy of the command's bytes, as `command`, where the query outlives its request. Errors:
  /// ExceededMemoryLimit.
  Status keep(bson::View body);
  bson::Document command;
  storage::CollectionPtr collection;  ///< null when it does not exist
  /// Of an aggregation: as Request::furtherNamespaces; more may come.
  std::shared_ptr<std::vector<storage::Namespace>> furtherNamespaces;
  std::shared_ptr<const bson::Collator> collator;
  std::shared_ptr<const EvaluatedLet> let;
  query::ParseContext context;

 private:
  storage::MemoryCharge commandMemory_;
};

/// Sets up the operation's snapshot with the catalog that fits it, and checks the node's role once more: see
/// QueryResources::open.
StatusWith<CatalogReader> openCatalogView(const Request& request);

/// Sets what $$NOW and $$CLUSTER_TIME stand for.
void setPresent(query::ParseContext& context, const ServerContext& server);

enum class NullHint { kMeansNone, kRefused };
/// For commands that refuse a `hint` of a wrong type as they parse it. Errors: FailedToParse.
Status checkHint(const Request& request, NullHint null = NullHint::kMeansNone);

/// Fills collation (the command's, else the collection's), `let`, time and limits. Errors: those of parsing them.
Status prepareContext(QueryResources& resources, const Request& request, bson::View collation, bson::View let);

/// The results of an executor.
std::unique_ptr<ResultStream> streamOf(std::shared_ptr<QueryResources> resources,
                                       std::unique_ptr<query::Executor> executor);

/// Gives up the stream's cursors and with them the operation's snapshot and session.
void suspend(storage::OperationContext& operation, ResultStream& stream);

/// Takes up again what `suspend` gave up, in this command or the one before.
Task<Status> resume(Request& request, ResultStream& stream);

/// The admission priority of an operation while it reads a stream (LCK-010): low when the stream reads a whole
/// collection or index, so that operations with little work go first. The priority before at the end of its life.
class ScanPriority {
 public:
  ScanPriority(Request& request, const ResultStream& stream);
  ScanPriority(const ScanPriority&) = delete;
  ~ScanPriority();
  bool isLow() const { return isLow_; }
  /// When it is low, before the first result: exchanges the ticket for a low one, which is granted at once when one is
  /// free and queued behind the waiters otherwise. Errors: those of waiting for a ticket and of restoring the stream.
  static Task<Status> admit(Request& request, ResultStream& stream);

 private:
  storage::OperationContext& operation_;
  const storage::AdmissionPriority before_;
  bool isLow_ = false;
};

/// Waits a turn when the operation has held its thread for long, and as long as the stream asks: gives up and takes
/// again the stream's snapshot around it.
Task<Status> letOthersRun(Request& request, ResultStream& stream, TimePoint& lastYield);

}  // namespace troupe::commands
