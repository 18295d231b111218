#pragma once
#include <fstream>
#include <string>

#include "storage/query/query_work.hpp"

namespace troupe::query {

constexpr int64_t kBudget = int64_t{16} << 20;

/// An operation of tests: has a budget, may be killed, and counts how often it was asked whether to go on.
class TestWork final : public QueryWork {
 public:
  explicit TestWork(int64_t limit = kBudget) : budget(limit) {}
  std::chrono::steady_clock::time_point coarseNow() const override { return {}; }
  Status checkForInterrupt() override {
    ++looks;
    if (looks == killAtLook) killed = true;
    return killed ? Status(ErrorCode::kInterrupted, "operation was interrupted") : Status::OK();
  }
  storage::MemoryBudget* memory() override { return &budget; }

  storage::MemoryBudget budget;
  int looks = 0;
  int killAtLook = 0;
  bool killed = false;
};

/// The peak of the process's resident memory since `restart`, in bytes.
class PeakMemory {
 public:
  void restart() {
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = read("VmRSS:");
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  int64_t grown() const { return 0; }  // sanitizers keep what was freed
#else
  int64_t grown() const { return read("VmHWM:") - before_; }
#endif

 private:
  static int64_t read(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(field)) return std::stoll(line.substr(field.size())) * 1024;
    return 0;
  }
  int64_t before_ = 0;
};

}  // namespace troupe::query
