#pragma once
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "storage/catalog/collection.hpp"
#include "storage/query/match/match_expression.hpp"

namespace troupe::query {

/// What planning has to know of the indexes of a collection whatever is asked of them: found out once, however many
/// branches of an $or are planned. Borrows the indexes; one thread at a time.
class PlannedIndexes {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  /// `work` may be null.
  PlannedIndexes(std::span<const storage::IndexPtr> indexes, QueryWork* work);

  /// How many different paths the indexes are on.
  size_t paths() const { return paths_.size(); }
  /// Which of them it is; kNone for another path.
  size_t position(std::string_view path) const;
  /// Whether one of them begins with the prefix, which ends with a dot.
  bool leadThrough(std::string_view prefix) const;
  /// The filter of a partial index; null when it cannot be parsed.
  const MatchExpression* partialFilter(const storage::IndexEntry& index);

 private:
  std::vector<std::string_view> paths_;  ///< in order, each once
  std::map<const storage::IndexEntry*, std::unique_ptr<MatchExpression>> partial_;
  QueryWork* work_;
};

}  // namespace troupe::query
