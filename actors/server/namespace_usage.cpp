#include "actors/server/namespace_usage.hpp"

namespace troupe::server {

CollectionUsage NamespaceUsage::of(const std::string& ns) const {
  const Shard& shard = shardOf(ns);
  const std::lock_guard lock(shard.mutex);
  const auto at = shard.usages.find(ns);
  return at == shard.usages.end() ? CollectionUsage() : at->second;
}

void NamespaceUsage::forget(const std::string& ns) {
  Shard& shard = shardOf(ns);
  const std::lock_guard lock(shard.mutex);
  shard.usages.erase(ns);
}

}  // namespace troupe::server
