#pragma once
#include <cstdint>
#include <optional>

#include "messaging/clock/op_time.hpp"

namespace troupe::replication {

/// Searches the newest entry that two logs share (RBK-004). Both are read from their new end, one entry at a time: the
/// search says which log it needs the next entry of, and stops as soon as it knows. Entries are compared by OpTime: one
/// term has one primary, which gives each time once, so equal OpTimes are the same entry, and all before it are equal,
/// too. A plain value; it reads nothing itself.
///
///     CommonPointSearch search;
///     while (search.wants() != CommonPointSearch::Wants::kNothing) { ... search.local(next) or search.remote(next) ...
///     }
class CommonPointSearch {
 public:
  enum class Wants { kLocal, kRemote, kNothing };

  Wants wants() const;
  /// The next older entry of the log; nothing: it has no older one. Only when it is wanted.
  void local(std::optional<OpTime> entry);
  void remote(std::optional<OpTime> entry);

  /// Nothing when the search has not ended, or has found that the logs share no entry.
  const std::optional<OpTime>& found() const { return found_; }
  /// Entries of the own log that are newer than what has been compared so far: at the end those to be undone.
  int64_t undone() const { return undone_; }

 private:
  void compare();

  std::optional<OpTime> local_, remote_;  ///< read and not passed over yet
  bool localEnded_ = false, remoteEnded_ = false;
  std::optional<OpTime> found_;
  int64_t undone_ = 0;
};

}  // namespace troupe::replication
