#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "actors/server/latencies.hpp"

namespace troupe::server {

/// What an operation does to its collection, as `top` tells operations apart.
enum class UsageKind : uint8_t { kQueries, kGetMore, kInsert, kUpdate, kRemove, kCommands };
inline constexpr size_t kUsageKinds = 6;
/// The same for the latencies of a collection.
enum class LatencyKind : uint8_t { kReads, kWrites, kCommands };
/// Whether an operation read a whole collection for its result, and with a cursor that waits at its end.
enum class CollectionScanUse : uint8_t { kNone, kNonTailable, kTailable };

/// How often, and how long together, operations worked on one collection.
struct CollectionUsage {
  struct Counter {
    int64_t count = 0;
    int64_t micros = 0;
    void note(int64_t took) {
      ++count;
      micros += took;
    }
  };
  Counter total, reads, writes;
  std::array<Counter, kUsageKinds> kinds;
  std::array<LatencyHistogram::Snapshot, 3> latencies;  ///< by LatencyKind
  int64_t collectionScans = 0;
  int64_t nonTailableScans = 0;  ///< of collectionScans
};

/// The use of each collection since the node started, or since it was dropped last. Thread-safe; noting takes one of
/// several mutexes for a moment.
class NamespaceUsage {
 public:
  /// More collections than this are not told apart: those that come later are not counted.
  static constexpr size_t kMaxNamespaces = 100'000;

  /// `exists` is asked (once) about a name that has not been met: names that stand for nothing take no memory.
  template <class Exists>
  void note(const std::string& ns, UsageKind kind, LatencyKind latency, CollectionScanUse scan,
            std::chrono::nanoseconds took, const Exists& exists) {
    const int64_t micros = std::max<int64_t>(1, took.count() / 1000);
    Shard& shard = shardOf(ns);
    const std::lock_guard lock(shard.mutex);
    auto at = shard.usages.find(ns);
    if (at == shard.usages.end()) {
      if (shard.usages.size() >= kMaxNamespaces / kShards || !exists()) return;
      at = shard.usages.try_emplace(ns).first;
    }
    CollectionUsage& usage = at->second;
    usage.total.note(micros);
    (latency == LatencyKind::kWrites ? usage.writes : usage.reads).note(micros);
    usage.latencies[static_cast<size_t>(latency)].note(micros);
    usage.kinds[static_cast<size_t>(kind)].note(micros);
    usage.collectionScans += scan != CollectionScanUse::kNone;
    usage.nonTailableScans += scan == CollectionScanUse::kNonTailable;
  }
  /// Zeros where it has not been used.
  CollectionUsage of(const std::string& ns) const;
  /// Of a collection that is gone.
  void forget(const std::string& ns);

 private:
  static constexpr size_t kShards = 16;
  struct Shard {
    mutable std::mutex mutex;
    std::map<std::string, CollectionUsage, std::less<>> usages;
  };
  Shard& shardOf(std::string_view ns) { return shards_[std::hash<std::string_view>()(ns) % kShards]; }
  const Shard& shardOf(std::string_view ns) const { return shards_[std::hash<std::string_view>()(ns) % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace troupe::server
