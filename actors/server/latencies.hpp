#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>

namespace troupe::server {

/// How long requests took: a histogram in powers of two of a microsecond. Any thread; noting one costs two relaxed
/// additions.
class LatencyHistogram {
 public:
  /// The last bucket takes all that lasted longer: an hour and more.
  static constexpr size_t kBuckets = 33;
  struct Snapshot {
    int64_t operations = 0;
    int64_t micros = 0;  ///< of all together
    std::array<int64_t, kBuckets> counts{};

    void note(int64_t lasted) {
      ++operations;
      micros += lasted;
      ++counts[bucketOf(lasted)];
    }
  };

  /// The least duration, in microseconds, that falls into the bucket.
  static constexpr int64_t lowerBound(size_t bucket) { return bucket == 0 ? 0 : int64_t{1} << (bucket - 1); }
  static constexpr size_t bucketOf(int64_t micros) {
    if (micros <= 0) return 0;
    const auto bucket = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(micros)));
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }

  void note(std::chrono::nanoseconds took) {
    const int64_t micros = took.count() > 0 ? took.count() / 1000 : 0;
    counts_[bucketOf(micros)].fetch_add(1, std::memory_order_relaxed);
    micros_.fetch_add(micros, std::memory_order_relaxed);
  }
  Snapshot read() const {
    Snapshot s;
    for (size_t i = 0; i < kBuckets; ++i) s.operations += s.counts[i] = counts_[i].load(std::memory_order_relaxed);
    s.micros = micros_.load(std::memory_order_relaxed);
    return s;
  }

 private:
  std::array<std::atomic<int64_t>, kBuckets> counts_{};
  std::atomic<int64_t> micros_{0};
};

/// The latencies of a node's requests by what they do, from the request's arrival to its reply. Time spent waiting for
/// news on purpose (awaitable hello, tailable cursors) does not count.
struct OperationLatencies {
  LatencyHistogram reads, writes, commands;
};

}  // namespace troupe::server
