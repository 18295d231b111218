#include "actors/commands/listed_rows.hpp"

#include <utility>

namespace troupe::commands {

Status ListedRows::charge(int64_t bytes) {
  const bool isCovered = bytes <= charge_.bytes() && charge_.bytes() - bytes < 2 * kChunk;
  if (isCovered || (bytes <= kChunk && charge_.bytes() == 0)) return Status::OK();
  return charge_.resize(budget_, bytes <= kChunk ? 0 : (bytes / kChunk + 1) * kChunk);
}

Status ListedRows::add(bson::Document row) {
  const int64_t bytes = bytes_ + bytesOf(row);
  TROUPE_TRY(charge(bytes));
  bytes_ = bytes;
  rows_.push_back(std::move(row));
  return Status::OK();
}

Status ListedRows::reserve(int64_t bytes) { return charge(bytes_ + bytes); }

void ListedRows::addReserved(bson::Document row) {
  bytes_ += bytesOf(row);
  rows_.push_back(std::move(row));
  (void)charge(bytes_);  // one row may have no room: the next reservation fails then
}

void ListedRows::shrinkTo(size_t count) {
  while (rows_.size() > count) {
    bytes_ -= bytesOf(rows_.back());
    rows_.pop_back();
  }
  (void)charge(bytes_);  // which only gives back
}

std::optional<bson::View> ListedRows::next() {
  if (isFirstGiven_) {
    bytes_ -= bytesOf(rows_.front());
    rows_.pop_front();
    (void)charge(bytes_);  // which only gives back
  }
  isFirstGiven_ = !rows_.empty();
  if (!isFirstGiven_) return std::nullopt;
  return rows_.front().view();
}

}  // namespace troupe::commands
