#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/collection_catalog.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/pipeline/stage.hpp"
#include "storage/query/sort/sorter.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {
class Catalog;
}

namespace troupe::query {

/// A query over one collection. Borrowed parts must outlive planning; the executor keeps what it needs beyond.
struct FindRequest {
  bson::View filter{};
  bson::View projection{};
  bson::View sort{};
  bson::View min{}, max{};  ///< index bounds given by hand (need `hint`)
  bson::Element hint{};     ///< index name or key pattern; absent: the planner chooses. {$natural: 1|-1} forces a scan
  int64_t skip = 0;
  std::optional<int64_t> limit;
  bool returnKey = false;
  bool keepKeys = false;  ///< `indexKey` of the executor is going to be asked for
  bool showRecordId = false;
  bool rowsOnly = false;  ///< results are only counted: their documents may be left empty (COUNT_SCAN)
  bool allowDiskUse = true;
  bool tailable = false;  ///< a forward scan whose end is not final: after `restore` it goes on with newer documents
  bool forbidCollectionScan = false;  ///< notablescan
  /// The results are changed or removed as they come: a scan of a capped collection whose record has gone goes on with
  /// the next one, since the operation itself removes records.
  bool changesResults = false;
  /// A scan in the order of records begins behind this one, and KeyNotFound says that it is not there; where
  /// `fromNearest`, what has come in its place will do.
  storage::RecordId behind{};
  bool fromNearest = false;
  SpillFileFactory spill{};  ///< for sorts that pass the memory limit
};

/// The kind of full scan in a plan, if any: a collection or an index read from end to end.
enum class FullScan : uint8_t { kNone, kCollection, kIndex };

/// Counters of a running plan.
struct ExecutionStats {
  int64_t returned = 0;
  int64_t keysExamined = 0;
  int64_t docsExamined = 0;
  bool hasSortStage = false;
  bool usedDisk = false;
  FullScan fullScan = FullScan::kNone;  ///< known once planned
  bool ascending = false;               ///< likewise: the ids of the records only grow
  std::string planSummary;              ///< "COLLSCAN", "IXSCAN { a: 1 }", "IDHACK", "EOF" ...
};

enum class ExplainVerbosity { kQueryPlanner, kExecutionStats, kAllPlansExecution };

/// A running query over one collection: pulls results one at a time, as a Stage does (stage.hpp), and can lie idle
/// without a snapshot between batches. Used by one thread at a time. A result of `next` is borrowed until the next
/// call. After a failure only destruction is allowed.
class Executor {
 public:
  virtual ~Executor() = default;
  /// kDocument, kEnd, or kYield after a slice of work (128 rows without a result, or some milliseconds with results or
  /// without), so that the caller checks for interrupts and lets others run. Errors: those of storage, expressions,
  /// sorting; QueryPlanKilled.
  virtual StatusWith<Next> next() = 0;
  /// The record the last result came from; none (0) after a blocking projection. For updates and deletes.
  virtual const storage::RecordId& recordId() const = 0;
  /// The key by which the last result was found, by the fields of its index; empty where it was found without one.
  /// Behind a blocking sort only with `keepKeys`. Errors: those of decoding.
  virtual StatusWith<bson::Document> indexKey() const = 0;
  /// Where in an array the filter matched the last result (positional updates); looks for it again. Errors: those of
  /// expressions, of an interrupt.
  virtual StatusWith<int64_t> matchedArrayIndex() const = 0;
  /// Gives cursors up; the caller may then abandon the unit's snapshot.
  virtual void save() = 0;
  /// Takes cursors on `unit`'s (new) snapshot and goes on behind the last result. Opens the snapshot together with the
  /// catalog that fits it, unless the operation has done so (CAT-019). QueryPlanKilled (175) when the collection or an
  /// index in use was dropped, or the collection renamed (RDS-003).
  virtual Status restore(storage::RecoveryUnit& unit, storage::Catalog& catalog) = 0;
  virtual const ExecutionStats& stats() const = 0;
  /// The `queryPlanner` section's body: namespace, indexFilterSet, parsedQuery, winningPlan, rejectedPlans.
  virtual void explainPlanner(bson::Builder& out) const = 0;
  /// The `executionStats` section's body: executionSuccess, nReturned, totals, and the `executionStages` tree with the
  /// counters as they are now.
  virtual void explainExecution(bson::Builder& out) const = 0;
};

/// Plans and opens a query: `_id` equality directly, else the index with the best bounds (a short trial where several
/// compete), else a scan. `collection` null: an empty result (a collection that does not exist).
/// Errors: those of parsing filter, projection and sort; BadValue (hint names no index), NoQueryExecutionPlans (291)
/// ...
StatusWith<std::unique_ptr<Executor>> openFind(storage::CollectionPtr collection, const FindRequest& request,
                                               storage::RecoveryUnit& unit, const ParseContext& context);

/// The same for a filter that is already parsed (it must outlive the executor), without projection: for updates,
/// deletes, counts.
StatusWith<std::unique_ptr<Executor>> openScan(storage::CollectionPtr collection, const MatchExpression& filter,
                                               const FindRequest& request, storage::RecoveryUnit& unit,
                                               const ParseContext& context);

/// count() without a filter: the number of records, at once. Nothing when there is a filter: then openScan with
/// `rowsOnly` counts keys without fetching where it can.
StatusWith<std::optional<int64_t>> fastCount(const storage::Collection& collection, const MatchExpression& filter,
                                             storage::RecoveryUnit& unit, const ParseContext& context);

/// DISTINCT_SCAN: calls `add` with each distinct value of `field` by jumping through an index that begins with it;
/// ends with the first failure of `add`, or of an interrupt.
/// False when no index fits (multikey, partial, sparse, other collation): the caller then scans.
StatusWith<bool> distinctScan(const storage::Collection& collection, std::string_view field,
                              const MatchExpression& filter, storage::RecoveryUnit& unit, const ParseContext& context,
                              const std::function<Status(const bson::Element&)>& add);

}  // namespace troupe::query
