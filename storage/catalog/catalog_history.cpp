#include "storage/catalog/catalog_history.hpp"

#include <algorithm>

namespace troupe::storage {

std::optional<CatalogHistory::Id> CatalogHistory::at(std::string_view key, bson::Timestamp at) const {
  const auto* found = keys_.find(key);
  if (!found) return std::nullopt;
  const Steps& steps = **found;
  const auto after = std::upper_bound(steps.begin(), steps.end(), at,
                                      [](bson::Timestamp time, const Step& step) { return time < step.since; });
  return std::prev(after)->id;
}

void CatalogHistory::record(std::string_view key, bson::Timestamp time, Id before, Id after) {
  if (time == bson::Timestamp{}) return keys_.erase(key);
  const auto* found = keys_.find(key);
  auto steps = found ? std::make_shared<Steps>(**found) : std::make_shared<Steps>(Steps{{bson::Timestamp{}, before}});
  // Two changes of one unit share its time: the later one counts (a rename over a dropped target).
  if (steps->back().since == time) {
    steps->back().id = after;
  } else {
    steps->push_back({time, after});
  }
  if (steps->size() > 1 && steps->back().id == (*steps)[steps->size() - 2].id) steps->pop_back();
  if (steps->size() == 1) return keys_.erase(key);
  keys_.put(key, std::move(steps));
}

bool CatalogHistory::holdsBefore(bson::Timestamp oldest) const {
  bool held = false;
  keys_.each([&](const std::string&, const auto& steps) { held = held || (*steps)[1].since <= oldest; });
  return held;
}

void CatalogHistory::trim(bson::Timestamp oldest) {
  std::vector<std::pair<std::string, std::shared_ptr<const Steps>>> changed;
  keys_.each([&](const std::string& key, const auto& steps) {
    if ((*steps)[1].since <= oldest) changed.emplace_back(key, steps);
  });
  for (const auto& [key, steps] : changed) {
    auto kept = std::find_if(steps->rbegin(), steps->rend(), [&](const Step& step) { return step.since <= oldest; });
    auto next = std::make_shared<Steps>(std::prev(kept.base()), steps->end());
    next->front().since = {};
    if (next->size() == 1) {
      keys_.erase(key);
    } else {
      keys_.put(key, std::move(next));
    }
  }
}

}  // namespace troupe::storage
