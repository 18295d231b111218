#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/collection_catalog.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/plan/executor.hpp"
#include "storage/query/project/projection.hpp"
#include "storage/query/query_work.hpp"
#include "storage/query/shape/index_filters.hpp"
#include "storage/query/sort/sort_pattern.hpp"

namespace troupe::query {

/// How long a query works before it offers others their turn. The clock's steps of up to 4 ms come on top.
inline constexpr std::chrono::milliseconds kSliceTime{2};

/// State shared by the stages of one plan, and the parts they borrow. Owned by the executor; one thread at a time.
struct PlanContext {
  storage::CollectionPtr collection;  ///< null: no such collection
  storage::RecoveryUnit* unit = nullptr;
  ParseContext parse;
  ExecutionStats stats;
  int budget = 0;  ///< rows that may still be examined before others get their turn
  std::optional<std::chrono::steady_clock::time_point>
      sliceEnd;                 ///< when others get it at the latest; none: no slice has begun
  uint64_t restores = 0;        ///< grows with each new snapshot
  bool refetch = false;         ///< results are going to be written: rows held across snapshots are read again
  bool trial = false;           ///< plans are only being compared
  bool changesResults = false;  ///< FindRequest::changesResults
  /// Documents that have come since the plan was made lie within its bounds without matching: the whole
  /// filter is tested on each document that is fetched.
  bool testsWholeFilter = false;
  bool keepKeys = false;  ///< `returnKey`: blocking stages keep the index keys of their rows

  const MatchExpression* filter = nullptr;  ///< the whole filter; null when the plan needs none (`_id` lookups)
  std::unique_ptr<MatchExpression> ownedFilter;
  std::unique_ptr<Projection> projection;
  std::unique_ptr<SortPattern> sort;
  bson::Document projectionSpec;  ///< as it was given; empty: none
  IndexFilterPtr indexFilter;     ///< null: any index may be used

  storage::RecordStore& records() const { return collection->records(); }

  /// Takes one row's work from the slice; false when it is used up. A row may be expensive: time ends a slice, too.
  bool spend() {
    if (budget <= 0) return false;
    --budget;
    if (timeIsUp()) budget = 0;
    return true;
  }
  /// Whether the slice has lasted long enough; the first question begins it.
  bool timeIsUp() {
    if (!parse.work) return false;
    const auto now = parse.work->coarseNow();
    if (!sliceEnd) sliceEnd = now + kSliceTime;
    return now >= *sliceEnd;
  }
};

/// Bytes of an explanation after which further stages and bounds are left out.
inline constexpr size_t kMostExplained = size_t{10} << 20;

/// An index key as it lies in the index, with the index that can decode it.
struct IndexRow {
  std::string_view key;
  std::string_view typeBits;
  const storage::IndexEntry* index = nullptr;
};

/// A row on its way through a plan. Its document and key are borrowed until the next piece of work.
struct Row {
  bson::View document;
  storage::RecordId id;
  IndexRow key;
};

/// Conditions that a filter consists of; all must hold.
using Conjuncts = std::vector<const MatchExpression*>;
/// The conditions of a filter; empty when it matches everything, and for null.
Conjuncts conjunctsOf(const MatchExpression* filter);

/// A filter as stages apply it: without copying, and with the failure an $expr may end in.
class RowFilter {
 public:
  RowFilter() = default;
  explicit RowFilter(Conjuncts conjuncts);
  explicit RowFilter(const MatchExpression* filter) : RowFilter(conjunctsOf(filter)) {}
  /// Everything passes.
  bool empty() const { return conjuncts_.empty(); }
  /// `work`: the operation, which is looked at while a large document or a costly filter is matched; may be null.
  StatusWith<bool> passes(bson::View document, QueryWork* work) const;
  bson::Document toBson() const;

 private:
  Conjuncts conjuncts_;
  bool canFail_ = false;
  bool costly_ = false;  ///< even a small document may take long
};

/// One stage of a plan: an iterator over rows that works in small pieces. Each piece that examines a row takes one from
/// the shared budget; with none left a stage gives kAgain at once.
class PlanStage {
 public:
  enum class Step : uint8_t { kRow, kAgain, kEnd };

  explicit PlanStage(PlanContext& plan, std::unique_ptr<PlanStage> input = nullptr) : plan_(plan) {
    if (input) inputs_.push_back(std::move(input));
  }
  virtual ~PlanStage() = default;

  /// The next row, or kAgain when the budget ran out, or kEnd (for good).
  StatusWith<Step> work(Row& row);
  /// Before and after the unit abandons its snapshot. Errors of restoring: QueryPlanKilled, CappedPositionLost.
  void save();
  Status restore();

  /// The full scan in this stage or its inputs, if any.
  virtual FullScan fullScan() const;
  /// Whether it reads records in the order of their ids, each at most once, also across `save` and `restore`.
  virtual bool isAscending() const { return false; }
  /// As explain calls it: "COLLSCAN" ...
  virtual std::string_view name() const = 0;
  /// Appends `{stage, ...}` to an open document; with the counters of the execution or without.
  void explain(bson::Builder& out, bool counters) const;
  /// "IXSCAN { a: 1 }", from the leaves up.
  virtual void summarize(std::string& out) const;
  std::span<const std::unique_ptr<PlanStage>> inputs() const { return inputs_; }

 protected:
  /// The inputs that hold anything of the storage between two pieces of work.
  virtual std::span<const std::unique_ptr<PlanStage>> held() const { return inputs_; }
  virtual StatusWith<Step> advance(Row& row) = 0;
  virtual void onSave() {}
  virtual Status onRestore() { return Status::OK(); }
  /// Appends the stage's own fields for explain; `counters`: those of the execution too.
  virtual void describe(bson::Builder& out, bool counters) const;
  /// The filter that explain shows, or null.
  virtual const RowFilter* shownFilter() const { return nullptr; }

  PlanStage& input() { return *inputs_.front(); }

  PlanContext& plan_;
  std::vector<std::unique_ptr<PlanStage>> inputs_;
  int64_t works_ = 0;  ///< pieces of work; stages that loop add to it
  int64_t advanced_ = 0;

 private:
  void explainCounters(bson::Builder& out) const;
  int64_t saves_ = 0, restores_ = 0;
  bool ended_ = false;
};

using PlanStagePtr = std::unique_ptr<PlanStage>;

}  // namespace troupe::query
