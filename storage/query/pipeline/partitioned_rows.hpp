#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/query/sort/sort_pattern.hpp"

namespace troupe::query {

/// The input of a stage that looks back and forth within partitions ($setWindowFields, $fill): held as a whole, then
/// sorted by partition and, within each, by the stage's own order. One thread.
class PartitionedRows {
 public:
  struct Row {
    bson::Value partition;  ///< null for none
    std::string sortKey;
    bson::Document document;
  };

  /// `partitionBy` null: all rows are one partition. Without `sort` rows keep the order of the input. `stage`: static
  /// text.
  PartitionedRows(std::string_view stage, ExpressionPtr partitionBy, std::optional<SortPattern> sort,
                  const PipelineContext& context);

  /// Errors: those of the expression and of the sort key; 292, too much memory.
  Status add(bson::View document);
  /// Counts by what rows become larger, or smaller. Errors: as `add`.
  Status grow(int64_t bytes) { return memory_.set(bytes_ += bytes); }
  /// After the last row; sorts by partition and sort key, stably. Errors: those of an interrupt.
  Status sort();
  /// The place behind the partition that begins at `first`. Errors: those of an interrupt.
  StatusWith<size_t> endOfPartition(size_t first);

  const std::optional<SortPattern>& order() const { return sort_; }
  /// Value, in the document of a row, of the first field that rows are sorted by. There is an order.
  bson::Element sortValue(bson::View document) const;
  std::vector<Row>& rows() { return rows_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  int compare(const Row& a, const Row& b) const;

  ExpressionPtr partitionBy_;
  std::optional<SortPattern> sort_;
  PipelineContext context_;
  Variables variables_;
  StageMemory memory_;
  std::vector<Row> rows_;
  int64_t bytes_ = 0;
};

/// The memory of values and documents that a stage has made of its input.
class MadeMemory {
 public:
  explicit MadeMemory(QueryWork* work) : work_(work), held_(work) {}
  QueryWork* work() const { return work_; }
  Status step(int64_t steps = 1) { return work_ ? work_->step(steps) : Status::OK(); }
  Status add(int64_t bytes) { return held_.set(bytes_ += bytes); }
  /// Before a value is held.
  Status add(const bson::Element& value) { return add(heldBytes(value)); }
  /// Checks that there is room for so many bytes for a moment.
  Status fits(int64_t bytes) {
    TROUPE_TRY(held_.set(bytes_ + bytes));
    return Status::OK();
  }
  int64_t bytes() const { return bytes_; }

 private:
  QueryWork* work_;
  HeldMemory held_;
  int64_t bytes_ = 0;
};

}  // namespace troupe::query
