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

/// How much one batch may hold.
struct BatchLimit {
  std::optional<int64_t> documents;
  size_t bytes = 16 * 1024 * 1024;
};

/// Ends the `cursor` of a reply: its id (0: there is no more), its namespace, and the time of a snapshot, at which a
/// client's next reads go on.
void endCursor(Request& request, int64_t id, std::string_view ns);

/// Writes `cursor: {<name>: [...], id, ns}` into the reply: results until the batch is full or the stream ends, letting
/// others run meanwhile. Keeps the cursor in the registry when there may be more (unless `single`), and gives its id.
Task<Status> replyWithCursor(Request& request, std::unique_ptr<ClientCursor> cursor, BatchLimit limit, bool single);

/// Replies with a query's only batch: no cursor is made, so the stream may borrow from the request.
Task<Status> replyWithOnlyBatch(Request& request, std::string_view ns, std::unique_ptr<ResultStream> stream,
                                std::optional<int64_t> documents);

/// The same for getMore with a pinned cursor. A tailable one waits for its first result as long as `patience`.
Task<Status> replyWithNextBatch(Request& request, std::unique_ptr<ClientCursor> cursor, BatchLimit limit,
                                std::optional<std::chrono::milliseconds> patience = {});

/// A cursor for the request, not yet registered.
std::unique_ptr<ClientCursor> newCursor(const Request& request, const std::string& ns,
                                        std::unique_ptr<ResultStream> stream);

/// Gives up the stream's cursors and with them the operation's snapshot and session.
void suspend(storage::OperationContext& operation, ResultStream& stream);

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
