#include "storage/query/shape/index_filters.hpp"

#include <algorithm>

#include "messaging/bson/compare.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using storage::Collection;

bool IndexFilter::allows(const Collection& collection, const storage::IndexEntry& index) const {
  for (const Element& e : indexes.view()) {
    const bool meant = e.is(Type::kString)
                           ? e.asString() == collection.shownName(index)
                           : e.isObjectLike() && bson::compareDocuments(e.asDocument(), index.spec.key) == 0;
    if (meant) return true;
  }
  return false;
}

size_t IndexFilter::size() const {
  size_t bytes = sizeof(IndexFilter);
  for (const bson::Document* part : {&query, &sort, &projection, &collation, &indexes}) bytes += part->view().size();
  return bytes;
}

const IndexFilters::OfCollection* IndexFilters::of(const Collection& collection) const {
  if (collection.isView()) return nullptr;
  const auto found = collections_.find(collection.sharedRecords().get());
  return found != collections_.end() && !found->second.records.expired() ? &found->second : nullptr;
}

void IndexFilters::erase(OfCollection& filters, std::map<std::string, IndexFilterPtr, std::less<>>::iterator filter) {
  bytes_ -= filter->first.size() + filter->second->size();
  count_.fetch_sub(1, std::memory_order_relaxed);
  filters.byShape.erase(filter);
}

void IndexFilters::forgetDropped() {
  for (auto it = collections_.begin(); it != collections_.end();) {
    OfCollection& filters = it->second;
    if (filters.records.expired()) {
      while (!filters.byShape.empty()) erase(filters, filters.byShape.begin());
    }
    it = filters.byShape.empty() ? collections_.erase(it) : std::next(it);
  }
}

Status IndexFilters::set(const Collection& collection, std::string shape, IndexFilter filter) {
  const std::lock_guard lock(mutex_);
  forgetDropped();
  const size_t bytes = shape.size() + filter.size();
  OfCollection& filters = collections_[collection.sharedRecords().get()];
  filters.records = collection.sharedRecords();
  const auto before = filters.byShape.find(shape);
  const size_t freed = before == filters.byShape.end() ? 0 : shape.size() + before->second->size();
  if (bytes_ - freed + bytes > kMostBytes) {
    return {ErrorCode::kExceededMemoryLimit, "the index filters of all collections would take more than " +
                                                 std::to_string(kMostBytes >> 20) +
                                                 " MiB: clear some with planCacheClearFilters"};
  }
  if (freed > 0) erase(filters, before);
  bytes_ += bytes;
  count_.fetch_add(1, std::memory_order_relaxed);
  filters.byShape.emplace(std::move(shape), std::make_shared<const IndexFilter>(std::move(filter)));
  return Status::OK();
}

void IndexFilters::clear(const Collection& collection, std::string_view shape) {
  const std::lock_guard lock(mutex_);
  forgetDropped();
  const auto found = collections_.find(collection.sharedRecords().get());
  if (found == collections_.end()) return;
  if (const auto filter = found->second.byShape.find(shape); filter != found->second.byShape.end())
    erase(found->second, filter);
}

void IndexFilters::clearAll(const Collection& collection) {
  const std::lock_guard lock(mutex_);
  const auto found = collections_.find(collection.sharedRecords().get());
  if (found == collections_.end()) return;
  while (!found->second.byShape.empty()) erase(found->second, found->second.byShape.begin());
  forgetDropped();
}

std::vector<IndexFilterPtr> IndexFilters::list(const Collection& collection) const {
  const std::lock_guard lock(mutex_);
  std::vector<IndexFilterPtr> all;
  if (const OfCollection* filters = of(collection))
    for (const auto& [shape, filter] : filters->byShape) all.push_back(filter);
  return all;
}

IndexFilterPtr IndexFilters::find(const Collection& collection, std::string_view shape) const {
  const std::lock_guard lock(mutex_);
  const OfCollection* filters = of(collection);
  if (!filters) return nullptr;
  const auto found = filters->byShape.find(shape);
  return found == filters->byShape.end() ? nullptr : found->second;
}

bool IndexFilters::hasAny(const Collection& collection) const {
  if (count_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(mutex_);
  const OfCollection* filters = of(collection);
  return filters && !filters->byShape.empty();
}

}  // namespace troupe::query
