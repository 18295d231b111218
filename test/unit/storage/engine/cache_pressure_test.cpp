// STX-007 on the real engine: a small cache that another transaction's changes fill.
#include "storage/transaction/conflict_retry.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

using std::chrono::milliseconds;

/// Attempts until `body` succeeds or fails for good; `wait` is told the delay before each further one.
template <class Body, class Wait>
Status retried(ConflictRetry& retry, RecoveryUnit& unit, const Body& body, const Wait& wait) {
  for (;;) {
    const Status status = writeConflictRetry(retry, unit, body);
    if (status.isOK() || !retry.pendingDelay()) return status;
    wait(*retry.pendingDelay());
  }
}

/// An engine with the smallest cache that is of use, which waits for room only shortly.
class CachePressure : public ::testing::Test {
 protected:
  static constexpr int64_t kCacheBytes = 4 << 20;

  CachePressure() {
    WiredTigerOptions options = testOptions(directory_.path());
    options.cacheBytes = kCacheBytes;
    options.cacheMaxWait = milliseconds(20);
    engine_ = std::move(openWiredTiger(options)).value();
    table_ = *engine_->createTable("t", {.logged = false, .blockCompressor = "none", .appMetadata = ""});
    pool_ = std::make_unique<SessionPool>(*engine_);
  }

  static std::string key(char who, int i) { return who + std::to_string(1'000'000 + i); }
  /// Writes rows of 16 KiB until `bytes` are written or the engine refuses.
  Status fill(RecoveryUnit& unit, char who, int64_t bytes) {
    const std::string value(16 << 10, who);
    TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
    for (int i = 0; int64_t{i} << 14 < bytes; ++i) TROUPE_TRY(cursor->put(key(who, i), value));
    return Status::OK();
  }
  /// Holds the cache: a unit of work whose changes are not committed.
  struct Hog {
    explicit Hog(SessionPool& pool) : unit(pool), work(unit) {}
    RecoveryUnit unit;
    WriteUnitOfWork work;
  };
  std::unique_ptr<Hog> hog() {
    auto hog = std::make_unique<Hog>(*pool_);
    // As far as the engine lets one transaction go.
    (void)fill(hog->unit, 'h', 2 * kCacheBytes);
    return hog;
  }
  Status write(RecoveryUnit& unit) {
    WriteUnitOfWork work(unit);
    TROUPE_TRY(fill(unit, 'w', kCacheBytes / 8));
    return work.commit();
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Engine> engine_;
  Table table_;
  std::unique_ptr<SessionPool> pool_;
};

TEST_F(CachePressure, IsRetriedWithLinearBackOffAndThenReported) {
  auto held = hog();
  ConflictCounters counters;
  ConflictRetry retry({.temporarilyUnavailableMaxRetries = 3, .temporarilyUnavailableBackoffBase = milliseconds(7)},
                      &counters);
  RecoveryUnit unit(*pool_);
  std::vector<milliseconds> delays;
  const Status status = retried(
      retry, unit, [&] { return write(unit); }, [&](milliseconds delay) { delays.push_back(delay); });
  EXPECT_EQ(status.code(), ErrorCode::kTemporarilyUnavailable) << status.toString();
  EXPECT_EQ(delays, (std::vector<milliseconds>{milliseconds(7), milliseconds(14), milliseconds(21)}));
  EXPECT_EQ(counters.temporarilyUnavailableErrors, 4);
  EXPECT_EQ(counters.temporarilyUnavailableErrorsEscaped, 1);
  EXPECT_EQ(counters.writeConflicts, 0);
}

TEST_F(CachePressure, OnceItIsOverTheRetrySucceeds) {
  auto held = hog();
  ConflictRetry retry({.temporarilyUnavailableBackoffBase = milliseconds(1)});
  RecoveryUnit unit(*pool_);
  int waits = 0;
  const Status status = retried(
      retry, unit, [&] { return write(unit); },
      [&](milliseconds) {
        if (++waits == 2) held.reset();
      });
  EXPECT_TRUE(status.isOK()) << status.toString();
  EXPECT_GE(waits, 2);
  RecoveryUnit reader(*pool_);
  EXPECT_TRUE(*(*reader.cursor(table_))->seek(key('w', 0)));
  EXPECT_FALSE(*(*reader.cursor(table_))->seek(key('h', 0)));
}

}  // namespace
}  // namespace troupe::storage
