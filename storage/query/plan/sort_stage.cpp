#include "storage/query/plan/sort_stage.hpp"

#include <cstring>

namespace troupe::query {

namespace {

/// A held row: record id (bytes behind the header), index, sizes of key and type bits, then these and the document.
struct Header {
  int64_t number = 0;
  const storage::IndexEntry* index = nullptr;  // the plan's scan keeps the entry alive
  uint32_t keySize = 0;
  uint32_t typeBitsSize = 0;
  uint32_t idSize = 0;
};

}  // namespace

SortRows::SortRows(PlanContext& plan, PlanStagePtr input, SorterOptions options)
    : PlanStage(plan, std::move(input)), options_(std::move(options)), sorter_(Sorter::make(options_)) {}

Status SortRows::add(const Row& row) {
  TROUPE_ASSIGN(auto key, plan_.sort->key(row.document, {.recordId = &row.id}));
  Header header{row.id.number(), nullptr, 0, 0, static_cast<uint32_t>(row.id.bytes().size())};
  if (plan_.keepKeys && row.key.index) {
    header.index = row.key.index;
    header.keySize = static_cast<uint32_t>(row.key.key.size());
    header.typeBitsSize = static_cast<uint32_t>(row.key.typeBits.size());
  }
  std::string payload;
  payload.reserve(sizeof header + header.idSize + header.keySize + header.typeBitsSize + row.document.size());
  payload.append(reinterpret_cast<const char*>(&header), sizeof header);
  payload.append(row.id.bytes());
  payload.append(row.key.key.substr(0, header.keySize)).append(row.key.typeBits.substr(0, header.typeBitsSize));
  payload.append(row.document.bytes());
  return sorter_->add(std::move(key), std::move(payload));
}

void SortRows::unpack(Row& row) const {
  Header header;
  std::memcpy(&header, current_.data(), sizeof header);
  const std::string_view rest = std::string_view(current_).substr(sizeof header + header.idSize);
  if (header.idSize > 0) row.id.set(std::string_view(current_).substr(sizeof header, header.idSize));
  else row.id.set(header.number);
  row.key = {rest.substr(0, header.keySize), rest.substr(header.keySize, header.typeBitsSize), header.index};
  row.document = bson::View(rest.data() + header.keySize + header.typeBitsSize);
}

/// Whether the row's document is still there and matches; the row then shows it as it is now.
StatusWith<bool> SortRows::readAgain(Row& row) {
  TROUPE_ASSIGN(cursor_, plan_.records().cursor(*plan_.unit));
  TROUPE_ASSIGN(const bool found, cursor_.seekExact(row.id));
  if (!found) return false;
  row.document = cursor_.document();
  return RowFilter(plan_.filter).passes(row.document, plan_.parse.work);
}

StatusWith<PlanStage::Step> SortRows::advance(Row& row) {
  for (; !loaded_; ++works_) {
    if (sorter_->stats().added == 0) loadedAt_ = plan_.restores;
    TROUPE_ASSIGN(const Step step, input().work(row));
    if (step == Step::kAgain) return Step::kAgain;
    if (step == Step::kRow) {
      TROUPE_TRY(add(row));
      continue;
    }
    TROUPE_TRY(sorter_->done());
    plan_.stats.usedDisk = plan_.stats.usedDisk || sorter_->stats().spills > 0;
    loaded_ = true;
  }
  for (; plan_.spend(); ++works_) {
    TROUPE_ASSIGN(auto item, sorter_->next());
    if (!item) return Step::kEnd;
    current_ = std::move(item->payload);
    unpack(row);
    if (!plan_.refetch || loadedAt_ == plan_.restores) return Step::kRow;
    TROUPE_ASSIGN(const bool still, readAgain(row));
    if (still) return Step::kRow;
  }
  return Step::kAgain;
}

void SortRows::describe(bson::Builder& out, bool counters) const {
  out.append("sortPattern", plan_.sort->toBson()).append("memLimit", static_cast<int64_t>(options_.memoryBytes));
  if (options_.limit > 0) out.append("limitAmount", static_cast<int64_t>(options_.limit));
  out.append("type", "simple");
  if (!counters) return;
  const SorterStats& stats = sorter_->stats();
  out.append("totalDataSizeSorted", static_cast<int64_t>(stats.memoryPeak)).append("usedDisk", stats.spills > 0);
  out.append("spills", static_cast<int64_t>(stats.spills))
      .append("spilledDataStorageSize", static_cast<int64_t>(stats.spilledBytes));
}

}  // namespace troupe::query
