#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "actors/kernel/future.hpp"
#include "messaging/bson/types.hpp"

namespace troupe::server {

/// The writers of this node that wait for other members, and the readers of its log that gather their entries
/// (NewsPace). Writers of a busy set come in bursts, all of them after each answer of the members. A reader that knows
/// how many there are sends the entries of a whole burst as soon as the last one waits; and the journal is flushed once
/// for them, when a reader has gathered, since the members' answers take longer than the own disk. Any thread; one for
/// each node.
class WriterBursts {
 public:
  /// A writer begins to wait. Its entry is readable and is due for the next flush.
  void arrived();
  /// It waits no longer: the members have its entry, or it gave up.
  void left();

  /// A reader at the end of the log that will gather what comes: from before it waits for the first entry until it has
  /// gathered. `end`: the visible end of the log after it had read; what is behind it will wake the reader.
  void beginGathering(bson::Timestamp end);
  void endGathering(bson::Timestamp end);
  /// A reader gathers that has not read the entry.
  bool isGathered(bson::Timestamp entry) const;

  /// Whether all those wait that waited in the last bursts.
  bool isComplete() const;
  /// Completes `complete` when that is so, maybe at once. A reader that stops waiting drops it.
  void whenComplete(const std::shared_ptr<Promise<Done>>& complete);
  /// No more came in time: so many are expected the next time.
  void expectNoMore();

 private:
  mutable std::mutex mutex_;
  size_t waiting_ = 0;
  size_t expected_ = 0;  ///< not fewer than wait
  std::vector<std::weak_ptr<Promise<Done>>> readers_;
  std::multiset<bson::Timestamp> gathering_;  ///< ends of the readers that gather
};

}  // namespace troupe::server
