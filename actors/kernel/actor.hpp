#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/environment/environment.hpp"
#include "actors/kernel/behaviour.hpp"
#include "actors/kernel/future.hpp"

namespace troupe::machines {
struct MachineOutline;
}

namespace troupe {

class ActorCell;
class Node;
struct SpawnOptions;

/// A watched actor has ended (local payload; handle it with `on<Down>`). The watch is over; its name is free by then.
struct Down {
  Address who;
  Status reason;  ///< OK for an orderly stop; HostUnreachable if its node was lost; NoSuchKey if there was none
};

/// Told to the parent given at spawning when an actor has become ready (local payload).
struct ChildReady {
  Address child;
};

/// The answer to an ask, or why there is none: the receiver's failure, ExceededTimeLimit when the deadline passed,
/// NoSuchKey when there is no such actor, HostUnreachable when its node is not reachable, ShutdownInProgress when it
/// ended without answering.
using Answer = StatusWith<Payload>;

/// The common part of everything that lives longer than a request. Derive, return your handlers from `behaviour()`, and
/// spawn it on a node. An actor handles one message at a time; its members need no locks. It keeps nobody's handle:
/// it names others by address. An exception that leaves a handler ends the actor (and its supervisor decides).
/// All members below are for the actor's own context (handlers, timers, coroutines it started).
class Actor {
 public:
  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  /// Asked once, after construction, before the first message.
  virtual Behaviour behaviour() = 0;
  /// Before the first message. Throwing means that it could not start. Call `deferReady()` here if more is needed
  /// before those who come later in the start order may start.
  virtual void onStart() {}
  /// The last call: the reason is OK for an orderly stop. Suspended coroutines are gone already.
  virtual void onStop(const Status& reason) { (void)reason; }
  /// An orderly stop is asked for. The default stops at once; override to finish work first, then call `stop()`.
  /// A supervisor kills what takes longer than its grace.
  virtual void onStopRequested() { stop(); }
  /// The actor's state document, for operators.
  virtual bson::Document describe() const { return {}; }
  /// The machine it carries out, to be drawn beside its phase; null if it carries out none. Lives as long as the
  /// program.
  virtual const machines::MachineOutline* outline() const { return nullptr; }

  const Address& self() const;
  Node& node() const;
  Environment& environment() const;
  ActorCell& cell() const { return *cell_; }

 protected:
  // Talking to others.
  void tell(const Address& to, Payload payload, Priority priority = Priority::kNormal);
  /// Sends and returns the answer to come; `co_await ask(...)` in a coroutine. A timeout costs a timer: put it at the
  /// edge, where a request enters.
  Future<Answer> ask(const Address& to, Payload payload, Duration timeout = kNoTimeout,
                     Priority priority = Priority::kNormal);
  /// Asks for a T: any other answer is a ProtocolError.
  template <class T>
  Task<StatusWith<Received<T>>> askFor(Address to, Payload payload, Duration timeout = kNoTimeout) {
    Answer answer = co_await ask(to, std::move(payload), timeout);
    if (!answer.isOK()) co_return answer.status();
    if (!answer->template is<T>()) co_return unexpectedAnswer(to, *answer);
    co_return Received<T>(std::move(*answer));
  }
  /// Spawns an actor with this one as its parent, which hears of its readiness and of its end. A `watch` that follows a
  /// spawn comes too late for an actor that has ended meanwhile, and hears that there is none.
  Address spawnChild(std::string_view path, std::unique_ptr<Actor> actor, SpawnOptions options);
  /// One `Down` comes when the actor of that name ends, at once if there is none, however often it is watched. Ends
  /// with this actor: the next one of its name hears nothing of it.
  void watch(const Address& who);
  void unwatch(const Address& who);

  // Time.
  /// Calls `action` on this actor after `delay`; the timer ends with the actor.
  TimerId after(Duration delay, std::function<void()> action);
  /// Calls `action` every `period`, first after one period; a period that is missed is skipped.
  TimerId every(Duration period, std::function<void()> action);
  void cancelTimer(TimerId timer);
  Future<Done> sleepFor(Duration duration);

  // Its own life.
  /// Runs a coroutine on this actor; it ends with the actor.
  void start(Task<void> task);
  /// Ends after the current handler. A failure as reason counts as a crash for the supervisor.
  void stop(Status reason = Status::OK());
  /// In `onStart`: ready only when `ready()` is called.
  void deferReady();
  void ready();

  // Its row in the tree. Texts must be static.
  void setPhase(const char* phase, const char* meaning);
  void setDocument(std::string id, int64_t revision);

 private:
  friend class ActorCell;
  static Status unexpectedAnswer(const Address& from, const Payload& answer);
  ActorCell* cell_ = nullptr;
};

}  // namespace troupe
