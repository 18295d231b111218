#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/types.hpp"
#include "storage/catalog/sharded_map.hpp"

namespace troupe::storage {

/// Which catalog id a key (a namespace, or a UUID's 16 bytes) had, at every time from the oldest readable one on
/// (CAT-022). Only keys that changed with a commit time since then are kept; for all others the latest catalog holds.
/// A value type: copies share their content (see ShardedMap). Thread-safe to read.
class CatalogHistory {
 public:
  using Id = std::optional<int64_t>;  ///< nothing: no collection had the key

  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  /// The catalog id of `key` at time `at`; the outer optional is empty when the key did not change since the oldest
  /// time.
  std::optional<Id> at(std::string_view key, bson::Timestamp at) const;

  /// The key passes from `before` to `after` at `time`, which is not older than any time recorded for the key. A change
  /// without a time (zero) is seen by reads of every time, so it ends the key's history.
  void record(std::string_view key, bson::Timestamp time, Id before, Id after);
  /// Whether `trim` would drop anything.
  bool holdsBefore(bson::Timestamp oldest) const;
  /// Drops what only reads older than `oldest` would need.
  void trim(bson::Timestamp oldest);

 private:
  struct Step {
    bson::Timestamp since;
    Id id;
  };
  using Steps = std::vector<Step>;  ///< ascending; the first begins at zero; at least two
  ShardedMap<std::string, std::shared_ptr<const Steps>> keys_;
};

}  // namespace troupe::storage
