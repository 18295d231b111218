#pragma once
#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// An operation of tests: has a budget, can be killed, and counts how often it was asked whether to go on.
class TestWork final : public QueryWork {
 public:
  explicit TestWork(int64_t limit = int64_t{16} << 20) : budget(limit) {}
  std::chrono::steady_clock::time_point coarseNow() const override { return {}; }
  Status checkForInterrupt() override {
    ++looks;
    return killed ? Status(ErrorCode::kInterrupted, "operation was interrupted") : Status::OK();
  }
  storage::MemoryBudget* memory() override { return &budget; }

  storage::MemoryBudget budget;
  int looks = 0;
  bool killed = false;
};

}  // namespace troupe::query
