#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/collection.hpp"

namespace troupe::query {

/// What an operator allows the planner for queries of one plan shape. Immutable.
struct IndexFilter {
  bson::Document query, sort, projection, collation;  ///< as they were given; they have the shape
  bson::Document indexes;                             ///< an array of key patterns and names

  /// Whether queries of the shape may read the index.
  bool allows(const storage::Collection& collection, const storage::IndexEntry& index) const;
  size_t size() const;
};
using IndexFilterPtr = std::shared_ptr<const IndexFilter>;

/// The index filters of a node's collections, by plan shape (query_shape.hpp). In memory only: they are gone with the
/// node, and with their collection. Thread-safe.
class IndexFilters {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;  ///< of all filters together

  /// Sets the filter of a shape, in place of one it may have. Errors: ExceededMemoryLimit.
  Status set(const storage::Collection& collection, std::string shape, IndexFilter filter);
  /// Removes the filter of a shape, if there is one.
  void clear(const storage::Collection& collection, std::string_view shape);
  void clearAll(const storage::Collection& collection);

  /// The collection's filters, in the order of their shapes.
  std::vector<IndexFilterPtr> list(const storage::Collection& collection) const;
  /// The filter of a shape; null when there is none.
  IndexFilterPtr find(const storage::Collection& collection, std::string_view shape) const;
  /// Whether shapes have to be looked up at all. Cheap without filters.
  bool hasAny(const storage::Collection& collection) const;

 private:
  /// All versions of a collection share its records, which no other collection has as long as they are held.
  struct OfCollection {
    std::weak_ptr<storage::RecordStore> records;
    std::map<std::string, IndexFilterPtr, std::less<>> byShape;
  };
  const OfCollection* of(const storage::Collection& collection) const;
  void erase(OfCollection& filters, std::map<std::string, IndexFilterPtr, std::less<>>::iterator filter);
  void forgetDropped();

  mutable std::mutex mutex_;
  std::map<const storage::RecordStore*, OfCollection> collections_;
  size_t bytes_ = 0;
  std::atomic<size_t> count_{0};
};

}  // namespace troupe::query
