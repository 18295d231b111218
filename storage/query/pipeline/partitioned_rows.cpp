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
  if (partitionBy_) {
    TROUPE_ASSIGN(row.partition, partitionBy_->evaluate(document, variables_));
  }
  if (!row.partition.ok()) row.partition = nullValue();
  if (sort_) {
    TROUPE_ASSIGN(row.sortKey, sort_->key(document));
  }
  row.document = bson::Document(document);
  const auto bytes = document.size() + static_cast<int64_t>(sizeof(Row) + row.sortKey.size());
  rows_.push_back(std::move(row));
  return grow(bytes);
}

Status PartitionedRows::sort() {
  return sortStably(rows_, context_.parse->work, [this](const Row& a, const Row& b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a.sortKey < b.sortKey;
  });
}

size_t PartitionedRows::endOfPartition(size_t first) const {
  size_t end = first;
  while (end < rows_.size() && compare(rows_[first], rows_[end]) == 0) ++end;
  return end;
}

bson::Element PartitionedRows::sortValue(const Row& row) const {
  return row.document.view().at(sort_->parts().front().path.text());
}

int PartitionedRows::compare(const Row& a, const Row& b) const {
  return bson::compareValues(a.partition.element(), b.partition.element(), context_.parse->collator);
}

}  // namespace troupe::query
