#include "storage/query/pipeline/partitioned_rows.hpp"

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/interruptible_sort.hpp"

namespace troupe::query {

PartitionedRows::PartitionedRows(std::string_view stage, ExpressionPtr partitionBy, std::optional<SortPattern> sort,
                                 const PipelineContext& context)
    : partitionBy_(std::move(partitionBy)),
      sort_(std::move(sort)),
      context_(context),
      variables_(context.parse->work),
      memory_(context, stage) {}

Status PartitionedRows::add(bson::View document) {
  Row row;
  Operand partition;
  if (partitionBy_) {
    variables_.setRoot(document);
    TROUPE_ASSIGN(partition, static_cast<const Expression&>(*partitionBy_).evaluate(variables_));
  }
  if (sort_) {
    TROUPE_ASSIGN(row.sortKey, sort_->key(document));
  }
  // The charge of a computed value ends with its operand, so that the row's has to begin before.
  TROUPE_TRY(grow(heldBytes(document) + heldBytes(partition.element()) +
                  static_cast<int64_t>(sizeof(Row) + row.sortKey.size())));
  row.partition = partition.ok() ? std::move(partition).take() : nullValue();
  row.document = bson::Document(document);
  rows_.push_back(std::move(row));
  return Status::OK();
}

Status PartitionedRows::sort() {
  const auto isLess = [this](const Row& a, const Row& b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a.sortKey < b.sortKey;
  };
  const auto steps = [](const Row& a, const Row& b) {
    return stepsFor(std::min(a.partition.valueBytes().size(), b.partition.valueBytes().size()) +
                    std::min(a.sortKey.size(), b.sortKey.size()));
  };
  return sortStably(rows_, context_.parse->work, isLess, steps);
}

StatusWith<size_t> PartitionedRows::endOfPartition(size_t first) {
  size_t end = first;
  for (; end < rows_.size(); ++end) {
    const Row &a = rows_[first], &b = rows_[end];
    TROUPE_TRY(variables_.step(stepsOfComparing(a.partition.valueBytes().size(), b.partition.valueBytes().size())));
    if (compare(a, b) != 0) break;
  }
  return end;
}

bson::Element PartitionedRows::sortValue(bson::View document) const {
  return document.at(sort_->parts().front().path.text());
}

int PartitionedRows::compare(const Row& a, const Row& b) const {
  return bson::compareValues(a.partition.element(), b.partition.element(), context_.parse->collator);
}

}  // namespace troupe::query
