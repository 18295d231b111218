#pragma once
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/task.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"

namespace troupe::replication {

/// An entry of another member's log, as it came.
struct FetchedEntry {
  bson::Document document;
  OpTime opTime;
};

/// Entries that are fetched and not yet applied, in the order of the log (REP-018). Bounded in bytes: a full buffer
/// makes its writer wait, which then grants its source no credit. One writer (the fetcher) and one reader (the applier)
/// at a time; any thread. Outlives both.
class OplogBuffer {
 public:
  explicit OplogBuffer(size_t maxBytes) : maxBytes_(maxBytes) {}

  /// Appends the entries once there is room; a batch larger than the whole buffer goes into an empty one. False when
  /// the buffer was closed or emptied meanwhile: then none of them is in it.
  Task<bool> push(std::vector<FetchedEntry> entries);
  /// Completes when there is an entry, or the buffer was closed.
  Task<void> untilFilled();
  /// Moves up to `maxEntries` entries of up to `maxBytes` out of the front, at least one unless it is empty. `life`
  /// (may be null): the one they are of.
  std::vector<FetchedEntry> take(size_t maxEntries, size_t maxBytes, uint64_t* life = nullptr);
  /// Takes no more: `push` fails, and the reader is told. What is in it stays.
  void close();
  /// What is in a closed one is of a log that is not followed any more, and goes.
  void clear();
  /// Empty and open again: fetching begins anew, elsewhere or in another role.
  void reopen();

  /// Completes when it is open: at once, or with the next `reopen`.
  Task<void> untilOpen();

  bool isClosed() const;
  /// Counts `clear`s and `reopen`s: entries that were taken in an earlier life are of a log that is not followed any
  /// more.
  uint64_t life() const;
  /// OpTime of the newest entry that was ever pushed in this life, or nothing.
  std::optional<OpTime> newest() const;
  struct Figures {
    size_t entries = 0, bytes = 0, maxBytes = 0;
  };
  Figures figures() const;

 private:
  /// Appends them or says that they never will be; nothing, and when to try again, while there is no room.
  std::optional<bool> tryPush(std::vector<FetchedEntry>& entries, size_t bytes, uint64_t life,
                              std::optional<Future<troupe::Done>>& room);

  /// Completes at once, or with the others that wait there.
  static Future<troupe::Done> waitIn(std::vector<Promise<troupe::Done>>& waiters, bool waits);
  void beginLife();  ///< under the mutex
  Future<troupe::Done> filled();
  Future<troupe::Done> opened();

  const size_t maxBytes_;
  mutable std::mutex mutex_;
  std::deque<FetchedEntry> entries_;
  size_t bytes_ = 0;
  bool closed_ = false;
  uint64_t life_ = 0;  ///< a push that waited for the next one has failed
  std::optional<OpTime> newest_;
  std::vector<Promise<troupe::Done>> awaitingRoom_, awaitingEntries_, awaitingOpen_;
};

}  // namespace troupe::replication
