#pragma once
#include <chrono>
#include <optional>

#include "actors/kernel/task.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/query/pipeline/stage.hpp"
#include "storage/query/plan/executor.hpp"

namespace troupe::server {

class Request;

/// The results of a find or an aggregation, one at a time, together with all they borrow (parsed query, catalog
/// version). They are read through the recovery unit of the operation that works on them. Used by one thread at a time;
/// lies idle between `save` and `restore`.
class ResultStream {
 public:
  virtual ~ResultStream() = default;
  /// As Stage::next: the document is borrowed until the next call; kYield asks to come back later.
  virtual StatusWith<query::Next> next() = 0;
  /// After kYield: how long to wait before the next call, if something has to be waited for.
  virtual std::optional<std::chrono::milliseconds> takeWait() { return {}; }
  /// Gives cursors up, so that the caller may abandon the operation's snapshot.
  virtual void save() = 0;
  /// Between `save` and `restore`, when the locks of the operation are held again: a stream that writes takes those
  /// that it needs by now. Errors: those of waiting for locks.
  virtual Task<Status> adjustLocks(Request&) { co_return Status::OK(); }
  /// Goes on in the snapshot of this operation, which outlives the calls of `next` that follow: the one before the save
  /// where that is what the read concern asks for, else the newest data. Errors: QueryPlanKilled when the collection is
  /// gone.
  virtual Status restore(storage::OperationContext& operation) = 0;
  /// The record that the last result came from; none where results are not those of one collection's scan.
  virtual storage::RecordId recordId() const { return {}; }
  /// Whether it reads what is replicated beside the database of its command: then the node has to be in a role in which
  /// it serves that.
  virtual bool readsReplicated() const { return false; }
  /// The full scan in its plan, if any; kNone also where other operations wait for the locks of this one.
  virtual query::FullScan fullScan() const { return query::FullScan::kNone; }
  /// Writes the keys and documents examined so far, and the plan, into the operation's figures.
  virtual void report(storage::OperationMetrics& metrics) const = 0;
};

}  // namespace troupe::server
