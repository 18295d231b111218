#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "messaging/bson/types.hpp"

namespace troupe::storage {

/// The times of prepared transactions of which a stable checkpoint may have nothing: those that are undecided, and
/// those whose decision is later than the checkpoint. A start that recovers from it carries their decisions out, and
/// needs the entries of their prepares, which may be older. Any thread.
class PreparedTimes {
 public:
  using Id = uint64_t;

  /// A transaction is about to be prepared at that time.
  Id add(bson::Timestamp prepared);
  /// It was not prepared after all: its entry was not written.
  void withdraw(Id id);
  /// It was committed or aborted, as the log says at `decided`. Without this call it stays undecided: where it is
  /// rolled back because its node ends, the log goes on with it.
  void decide(Id id, bson::Timestamp decided);

  /// From which time on a start needs the log when the last checkpoint has everything up to `stable`, which does not go
  /// back: at most `stable`.
  bson::Timestamp neededFrom(bson::Timestamp stable);

 private:
  struct Transaction {
    bson::Timestamp prepared;
    std::optional<bson::Timestamp> decided;
  };
  std::mutex mutex_;
  std::map<Id, Transaction> transactions_;
  Id last_ = 0;
};

}  // namespace troupe::storage
