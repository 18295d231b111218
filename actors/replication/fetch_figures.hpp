#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>

#include "state_machines/replication/fetching.hpp"

namespace troupe::replication {

/// What a member has fetched since its start, and how it came by its sources, as serverStatus shows it
/// (`metrics.repl.network`, `metrics.repl.syncSource`). Any thread.
class FetchFigures {
 public:
  struct Values {
    int64_t readers = 0;  ///< cursors that were opened on sources
    int64_t batches = 0, entries = 0, bytes = 0;
    int64_t waitMicros = 0;  ///< for batches, those included in which nothing came
    int64_t selections = 0;  ///< times that it looked for a source
    int64_t choseSame = 0, choseDifferent = 0, foundNone = 0;
  };
  Values get() const;
  void noteReader();
  /// A batch, which may be empty, has come.
  void noteBatch(std::chrono::microseconds waited);
  void noteEntries(int64_t entries, int64_t bytes);
  /// A transition of the machine to `now`: counts the choice of a source in it.
  void count(const Snapshot<Fetching>& now, const machines::Outcome<Fetching>& outcome);

 private:
  mutable std::mutex mutex_;
  Values values_;
  NodeName source_;  ///< chosen last
};

}  // namespace troupe::replication
