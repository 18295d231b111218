#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/memory_budget.hpp"

namespace troupe::commands {

/// Rows of a list that is made at once and handed out one by one, charged to the budget of its operation from when they
/// are added until they were handed out. Belongs to the operation or to its cursor, which takes the budget along: must
/// not outlive it. Move-only; one thread.
class ListedRows {
 public:
  explicit ListedRows(storage::MemoryBudget& budget) : budget_(&budget) {}

  /// Errors: ExceededMemoryLimit; the row is not held then.
  Status add(bson::Document row);
  /// Charges so many bytes of rows to come, before the work that they will tell of is done.
  /// Errors: ExceededMemoryLimit.
  Status reserve(int64_t bytes);
  /// Holds a row that was reserved for. What it has beyond its reservation is charged as far as there is room, or else
  /// with the next one.
  void addReserved(bson::Document row);
  size_t size() const { return rows_.size(); }
  /// Drops the last rows, so that `count` are left.
  void shrinkTo(size_t count);
  /// Puts the rows in order; equal ones stay as they were. Before the first is handed out.
  template <class Less>
  void sort(Less less) {
    std::stable_sort(rows_.begin(), rows_.end(), less);
  }
  /// The next row, valid until the next call; nothing at the end.
  std::optional<bson::View> next();

 private:
  /// Charges in chunks, and nothing for a list below that.
  static constexpr int64_t kChunk = 64 * 1024;
  static int64_t bytesOf(bson::View row) { return row.size() + static_cast<int64_t>(sizeof(bson::Document)); }
  Status charge(int64_t bytes);

  storage::MemoryBudget* budget_;
  storage::MemoryCharge charge_;
  std::deque<bson::Document> rows_;
  int64_t bytes_ = 0;
  bool isFirstGiven_ = false;
};

}  // namespace troupe::commands
