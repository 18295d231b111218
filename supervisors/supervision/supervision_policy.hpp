#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messaging/envelope/envelope.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// Restart strategy: the effect of a child's failure on the other children.
enum class Strategy {
  kOneForOne,   ///< nothing
  kOneForAll,   ///< all are stopped, in reverse start order, and started again
  kRestForOne,  ///< those started after it are stopped and started again
};
const char* strategyName(Strategy strategy);

/// Restart rule of a child that ended.
enum class Restart {
  kPermanent,  ///< always
  kTransient,  ///< only if it failed
  kTemporary,  ///< never
};

/// Treatment of a child that fails too often.
enum class OnExhausted {
  kEscalate,  ///< the supervisor fails in turn, after stopping its other children
  kPark,      ///< the child is set aside with its reason until an operator resumes it; the others go on
};

/// Restart intensity: more than `limit` failures within `window` exhaust it.
struct Intensity {
  int limit = 5;
  Duration window = std::chrono::seconds(30);
};

/// The pause before a restart: `first`, growing by `factor` with each failure in the window up to `most`; of which the
/// share `jitter` is drawn by chance.
struct Backoff {
  Duration first = std::chrono::milliseconds(100);
  Duration most = std::chrono::seconds(10);
  double factor = 2;
  double jitter = 0.5;
};

/// Rules of one child.
struct ChildRules {
  std::string name;
  Restart restart = Restart::kPermanent;
  OnExhausted exhausted = OnExhausted::kEscalate;
  Duration grace = std::chrono::seconds(10);  ///< from asking it to stop until it is killed
  int level = 0;                              ///< children of a lower level are ready before a higher level starts
};

enum class ChildState { kWaiting, kStarting, kRunning, kStopping, kBackingOff, kParked, kStopped };
/// "waiting", "starting", "running" ... and a one-line meaning; static texts.
const char* childStateName(ChildState state);
const char* childStateMeaning(ChildState state);

/// All decisions of a supervisor, as a pure state machine: events in, actions out; no clock, no chance, no actors. The
/// shell around it (Supervisor) carries the actions out. Children start level by level, in order within a level, and
/// stop one by one in the reverse order. Where the failure of one concerns others, those behind it wait for its pause
/// to end.
class SupervisionPolicy {
 public:
  // Actions for the shell. `child` is an index into the rules.
  struct StartChild {
    size_t child;
    bool operator==(const StartChild&) const = default;
  };
  struct RequestStop {
    size_t child;
    bool operator==(const RequestStop&) const = default;
  };
  /// Kill it if it has not ended after its grace; `Ended` will follow.
  struct KillAfterGrace {
    size_t child;
    bool operator==(const KillAfterGrace&) const = default;
  };
  struct Kill {
    size_t child;
    bool operator==(const Kill&) const = default;
  };
  /// Call `retryDue` after the pause.
  struct RetryAfter {
    size_t child;
    Duration pause;
    bool operator==(const RetryAfter&) const = default;
  };
  /// All levels are up; said once per start and once per complete recovery. At a start nobody waits for a child that
  /// has failed and is set aside when it goes on failing: slow failures would not exhaust its intensity, ever.
  struct AllReady {
    bool operator==(const AllReady&) const = default;
  };
  /// The supervisor is to end: with OK after an ordered shutdown, else with the reason it escalates.
  struct End {
    Status reason;
  };
  using Action = std::variant<StartChild, RequestStop, KillAfterGrace, Kill, RetryAfter, AllReady, End>;
  using Actions = std::vector<Action>;

  SupervisionPolicy(Strategy strategy, Intensity intensity, Backoff backoff, std::vector<ChildRules> children);

  // Events. `draw` is a random share in [0, 1) for the jitter.
  Actions start();
  Actions childReady(size_t child);
  Actions childEnded(size_t child, const Status& reason, TimePoint now, double draw);
  Actions retryDue(size_t child);
  Actions graceOver(size_t child);
  Actions shutdown();
  // An operator's wishes; IllegalOperation if the child's state does not allow it.
  StatusWith<Actions> restart(size_t child);
  StatusWith<Actions> park(size_t child, const std::string& reason);
  StatusWith<Actions> resume(size_t child);
  StatusWith<Actions> stop(size_t child);
  /// A child that joins while running (its index is the count of children before).
  Actions add(ChildRules rules);

  size_t size() const { return children_.size(); }
  const ChildRules& rules(size_t child) const { return children_[child].rules; }
  ChildState state(size_t child) const { return children_[child].state; }
  /// Why it is parked, or its last failure.
  const std::string& reason(size_t child) const { return children_[child].reason; }
  /// Failures within the window, as of the last one.
  int failures(size_t child) const { return static_cast<int>(children_[child].failures.size()); }
  bool isShuttingDown() const { return ending_.has_value(); }

 private:
  /// Next step for a stopping child once it has ended.
  enum class Then { kStart, kPark, kStop };
  struct Child {
    ChildRules rules;
    ChildState state = ChildState::kWaiting;
    Then then = Then::kStop;
    std::deque<TimePoint> failures;
    std::string reason;
    bool due = false;      ///< to be started when its turn comes
    bool excused = false;  ///< has failed, and may be set aside: not awaited until it is ready again
    bool isUp() const {
      return !due && state != ChildState::kStarting && state != ChildState::kBackingOff &&
             state != ChildState::kStopping;
    }
  };
  void startDue(Actions& out);
  void stopNext(Actions& out);
  void ask(size_t child, Then then, Actions& out);
  void failed(size_t child, const Status& reason, TimePoint now, double draw, Actions& out);
  void restartSiblings(size_t child, Actions& out);
  void end(Status reason, Actions& out);
  Duration pauseAfter(size_t failures, double draw) const;

  const Strategy strategy_;
  const Intensity intensity_;
  const Backoff backoff_;
  std::vector<Child> children_;
  std::vector<size_t> toStop_;  ///< siblings still to be stopped, last first
  std::optional<Status> ending_;
  bool announced_ = false;
  bool started_ = false;  ///< all that is awaited was up once
};

}  // namespace troupe::supervisors
