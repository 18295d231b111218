#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

#include "actors/server/request.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

/// A command that has ended, with its outcome: for the log of slow operations and the profiler. Borrows from the
/// request's frame.
struct FinishedOperation {
  const Request& request;
  const Status& outcome;
  std::chrono::nanoseconds took;  ///< without the waits for news that the client asked for

  int64_t millis() const { return std::chrono::duration_cast<std::chrono::milliseconds>(took).count(); }
  /// Appends the fields that every record names alike: the plan, what was examined, returned and changed, conflicts.
  void appendCosts(bson::Builder& out) const;
};

/// Appends errCode, errName and errMsg (its beginning) of a failure; nothing of a success.
void appendFailure(bson::Builder& out, const Status& outcome);

/// Appends the tickets of flow control that an operation took and waited for (LCK-021): acquireCount, acquireWaitCount
/// and timeAcquiringMicros. Nothing if it needed none.
void appendFlowControl(bson::Builder& out, const storage::OperationMetrics& metrics);

/// The kind of an operation, as currentOp and profiles name it: "query", "getmore", "insert", "update", "remove",
/// "killcursors", else "command".
std::string_view shownKind(std::string_view command);

/// Records a finished operation where its database's profile settings, `slowOpThresholdMs` and `slowOpSampleRate` ask
/// for it. A filter of the database decides in place of threshold and sample rate. Cheap where nothing is recorded;
/// never waits.
void reportOperation(const FinishedOperation& finished);

}  // namespace troupe::server
