// Cost of an uncontended intent lock: IX on global, database and collection, taken and released by an operation that
// does nothing else, a level of the hierarchy. Beside it a pair of atomic additions. Prints one JSON line per figure.
#include <atomic>
#include <chrono>
#include <vector>

#include "storage/locks/locker.hpp"
#include "test/bench/support/measure.hpp"

namespace {

using namespace troupe;
using storage::LockMode;
using storage::ResourceId;

constexpr int kOperations = 300'000;
constexpr int kRounds = 7;
constexpr double kAllowedNanos = 60;

/// Each operation has a locker of its own, as commands have.
double lockNanos() {
  storage::LockManager manager([] { return std::chrono::steady_clock::now(); });
  const std::string db = "shop", collection = "shop.orders-of-customers";
  const double from = bench::threadNanos();
  for (int i = 0; i < kOperations; ++i) {
    storage::Locker locker(manager);
    const ResourceId ids[] = {ResourceId::global(), ResourceId::database(db), ResourceId::collection(collection)};
    for (const ResourceId& id : ids)
      if (!locker.tryAcquire(id, LockMode::kIX)) throw bench::BenchError("a lock was not free");
    for (int level = 2; level >= 0; --level) locker.release(ids[level]);
  }
  return (bench::threadNanos() - from) / (kOperations * 3);
}

double atomicNanos() {
  std::atomic<int64_t> holders{0};
  const double from = bench::threadNanos();
  for (int i = 0; i < kOperations * 3; ++i) {
    holders.fetch_add(1);
    holders.fetch_sub(1);
  }
  return (bench::threadNanos() - from) / (kOperations * 3);
}

}  // namespace

int main() {
  return bench::run([] {
    std::vector<double> locks, atomics;
    for (int round = 0; round < kRounds; ++round) {
      locks.push_back(lockNanos());
      atomics.push_back(atomicNanos());
    }
    bench::report({.work = "IX on global, database, collection: taken and released",
                   .against = "the allowance",
                   .unit = "ns/level",
                   .troupe = bench::median(locks),
                   .reference = kAllowedNanos,
                   .ceiling = 1.0});
    bench::report({.work = "IX on global, database, collection: taken and released",
                   .against = "a pair of atomic additions",
                   .unit = "ns/level",
                   .troupe = bench::median(locks),
                   .reference = bench::median(atomics)});
  });
}
