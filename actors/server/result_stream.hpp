#pragma once
#include <chrono>
#include <optional>

#include "messaging/errors/status.hpp"
#include "storage/query/pipeline/stage.hpp"

namespace troupe::commands {

class Operation;
struct OperationMetrics;

/// The results of a find or an aggregation, one at a time, together with all they borrow (recovery unit, parsed query,
/// catalog version). Used by one thread at a time; lies idle without a snapshot between `save` and `restore`.
class ResultStream {
 public:
  virtual ~ResultStream() = default;
  /// As Stage::next: the document is borrowed until the next call; kYield asks to come back later.
  virtual StatusWith<query::Next> next() = 0;
  /// After kYield: how long to wait before the next call, if something has to be waited for.
  virtual std::optional<std::chrono::milliseconds> takeWait() { return {}; }
  /// For whom the next calls work: what takes long asks it whether it was killed. It outlives these calls.
  virtual void workFor(const Operation& operation) { (void)operation; }
  /// Gives up cursors and snapshot.
  virtual void save() = 0;
  /// Takes them again, on the newest data. Errors: QueryPlanKilled when the collection is gone.
  virtual Status restore() = 0;
  /// Adds what was done so far to the operation's figures.
  virtual void report(OperationMetrics& metrics) const = 0;
};

}  // namespace troupe::commands
