#include "storage/query/pipeline/partitioned_rows.hpp"

#include <algorithm>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"

namespace troupe::query {

PartitionedRows::PartitionedRows(std::string_view stage, ExpressionPtr partitionBy, std::optional<SortPattern> sort,
                                 const PipelineContext& context)
    : stage_(stage), partitionBy_(std::move(partitionBy)), sort_(std::move(sort)), context_(context) {}

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
  bytes_ += document.size() + static_cast<int64_t>(sizeof(Row) + row.sortKey.size());
  rows_.push_back(std::move(row));
  return checkMemory(bytes_, context_, stage_);
}

void PartitionedRows::sort() {
  std::stable_sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
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
