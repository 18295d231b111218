#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messaging/envelope/envelope.hpp"

namespace troupe::checkers {

/// What a client knows of the end of an operation.
enum class Outcome {
  kOpen,     ///< not ended; at the end of a history the same as unknown
  kOk,       ///< answered
  kFailed,   ///< answered that nothing has happened
  kUnknown,  ///< the answer was lost, or left open whether something has happened
};

/// One operation of one process, from its invocation to its answer. Times are of one clock (virtual time).
template <class Operation>
struct Event {
  int process = 0;
  Operation operation;  ///< with what was read, once it has ended
  TimePoint begin;
  TimePoint end = TimePoint::max();  ///< for ever, if the outcome is open or unknown
  Outcome outcome = Outcome::kOpen;

  bool isOk() const { return outcome == Outcome::kOk; }
  /// Whether it may have had an effect.
  bool mayHaveHappened() const { return outcome != Outcome::kFailed; }
};

/// Records what the processes of a run ask for and what they are told, in the order of invocation. A process has one
/// operation at a time; one that got no answer goes on as another process, for its last operation may still be carried
/// out. For one thread.
template <class Operation>
class History {
 public:
  /// Names an operation that has not ended.
  using Id = size_t;

  Id begin(int process, Operation operation, TimePoint at) {
    events_.push_back({process, std::move(operation), at, TimePoint::max(), Outcome::kOpen});
    return events_.size() - 1;
  }
  /// The operation has ended as the client sees it.
  void end(Id id, Outcome outcome, TimePoint at) {
    events_[id].outcome = outcome;
    if (outcome == Outcome::kOk || outcome == Outcome::kFailed) events_[id].end = at;
  }
  void end(Id id, Outcome outcome, TimePoint at, Operation withResult) {
    events_[id].operation = std::move(withResult);
    end(id, outcome, at);
  }

  const std::vector<Event<Operation>>& events() const { return events_; }
  size_t size() const { return events_.size(); }

 private:
  std::vector<Event<Operation>> events_;
};

/// What a checker finds: nothing, or what is broken, to be read by eye.
struct Verdict {
  std::string broken;  ///< empty: the history is as promised
  bool holds() const { return broken.empty(); }
};

/// "12.345 ... 12.350 p3", for lines about an event.
std::string spanText(TimePoint begin, TimePoint end, int process);

}  // namespace troupe::checkers
