#pragma once
#include <cstdint>
#include <mutex>

namespace troupe::replication {

struct RollbackSummary;

/// What the rollbacks that this process has carried out have taken back. Any thread.
class RollbackFigures {
 public:
  struct Values {
    int64_t rollbacks = 0;
    int64_t entries = 0;         ///< of the log, undone
    int64_t savedDocuments = 0;  ///< in files
  };
  Values get() const;
  void note(const RollbackSummary& done);

 private:
  mutable std::mutex mutex_;
  Values values_;
};

}  // namespace troupe::replication
