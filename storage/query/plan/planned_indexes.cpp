#include "storage/query/plan/planned_indexes.hpp"

#include <algorithm>

#include "storage/query/match/match_parser.hpp"

namespace troupe::query {

PlannedIndexes::PlannedIndexes(std::span<const storage::IndexPtr> indexes, QueryWork* work) : work_(work) {
  for (const storage::IndexPtr& index : indexes)
    for (const auto& field : index->spec.fields) paths_.push_back(field.path);
  std::sort(paths_.begin(), paths_.end());
  paths_.erase(std::unique(paths_.begin(), paths_.end()), paths_.end());
}

size_t PlannedIndexes::position(std::string_view path) const {
  const auto found = std::lower_bound(paths_.begin(), paths_.end(), path);
  return found != paths_.end() && *found == path ? static_cast<size_t>(found - paths_.begin()) : kNone;
}

bool PlannedIndexes::leadThrough(std::string_view prefix) const {
  const auto found = std::lower_bound(paths_.begin(), paths_.end(), prefix);
  return found != paths_.end() && found->starts_with(prefix);
}

const MatchExpression* PlannedIndexes::partialFilter(const storage::IndexEntry& index) {
  const auto [place, isNew] = partial_.try_emplace(&index);
  if (isNew) {
    ParseContext context;
    context.collator = index.access->collator();
    context.work = work_;
    if (auto parsed = parseMatch(*index.spec.partialFilter, context); parsed.isOK()) place->second = std::move(*parsed);
  }
  return place->second.get();
}

}  // namespace troupe::query
