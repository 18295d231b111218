#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/post_office.hpp"
#include "actors/kernel/registry.hpp"
#include "actors/kernel/task.hpp"
#include "actors/kernel/transition_log.hpp"

namespace boost::asio {
class io_context;
}

namespace caf {
class actor;
class actor_system;
}  // namespace caf

namespace troupe {

struct NodeOptions {
  std::string name = "local";                          ///< "host:port" in a cluster
  unsigned threads = 0;                                ///< of the pool; 0: one per core
  unsigned messagesPerTurn = 50;                       ///< before a busy actor lets its neighbours go on
  std::shared_ptr<Environment> environment = nullptr;  ///< null: the real one
  /// No threads at all: the owner calls `run`, `step` and `advance`. For tests and the simulator; give a
  /// VirtualEnvironment with it.
  bool manual = false;
};

struct SpawnOptions {
  bool detached = false;      ///< an own thread, for actors that block (ignored by a manual node)
  Address parent = {};        ///< the supervisor: told of readiness
  bool watched = false;       ///< by the parent, from before its first turn: however early it ends, Down has the reason
  const char* strategy = "";  ///< shown in the tree; static text
  const char* type = nullptr;  ///< shown in the tree; static text; null: the class's name
};

/// A recent message of an actor.
struct MessageTrace {
  const char* name;  ///< static text
  Address peer;
  WallTime at;
};

/// Details that are asked from the actor itself.
struct ActorDetails {
  ActorRow row;
  bson::Document state;
  std::vector<MessageTrace> received, sent;           ///< the last 16, oldest first
  const machines::MachineOutline* machine = nullptr;  ///< null: it carries out none; lives as long as the program
};

/// One node: its thread pool (shared by sockets and actors), its actors, its post office and its registry. Build it
/// first, destroy it last. Functions are thread-safe unless they say otherwise.
class Node {
 public:
  explicit Node(NodeOptions options = {});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const;
  Environment& environment() const;
  Registry& registry() const;
  TransitionLog& transitions() const;
  PostOffice& postOffice() const;
  /// The pool's context, for sockets. Handlers run on the threads that run the actors, so they may answer without a
  /// hop.
  boost::asio::io_context& io() const;
  bool isManual() const;

  Address address(std::string_view path) const { return Address(name(), path); }

  /// Starts an actor under a path "/a/b". The path must be free (throws std::invalid_argument otherwise: a broken rule
  /// of the caller). Construction happens on the calling thread, `onStart` as the actor's first turn.
  template <class A, class... Args>
  Address spawn(std::string_view path, Args&&... args) {
    return spawn(path, std::make_unique<A>(std::forward<Args>(args)...), SpawnOptions{});
  }
  Address spawn(std::string_view path, std::unique_ptr<Actor> actor, SpawnOptions options);

  /// Messages from a sender that is no actor.
  void tell(const Address& to, Payload payload, Priority priority = Priority::kNormal);
  Future<Answer> ask(const Address& to, Payload payload, Duration timeout = kNoTimeout,
                     Priority priority = Priority::kNormal);
  /// Asks an actor of this node to stop in order (`onStopRequested`).
  void requestStop(const Address& who);
  /// Ends an actor of this node after its current message, without asking.
  void kill(const Address& who, Status reason);
  /// Row, state document and recent messages, asked from the actor itself; only the row if it does not answer in time.
  Task<std::optional<ActorDetails>> inspect(std::string path, Duration timeout);

  /// Tasks outside of actors, such as a connection running its request. A task continues on any pool thread, on one at
  /// a time. `start` runs it on the calling thread until it first waits.
  TaskHost& pool() const;
  void start(Task<void> task);
  /// For handlers of sockets, as the last thing they do: the first actor or task that `action` makes ready continues on
  /// this thread right behind it, without a way through the pool's queue. Elsewhere it only runs the action.
  static void runAsTurn(const std::function<void()>& action);
  /// Runs `action` on the pool.
  void post(std::function<void()> action);
  /// Yields: completes when the pool has come round to it, behind the jobs that this turn has made ready.
  Future<Done> nextTurn();
  Future<Done> sleepFor(Duration duration);
  /// Runs a task to its end and waits for it: for `main` and tests, never on a pool thread. A manual node runs itself.
  template <class T>
  T wait(Task<T> task) {
    std::optional<T> result;
    waitFor(keepResult(std::move(task), &result));
    return std::move(*result);
  }
  void wait(Task<void> task) { waitFor(std::move(task)); }

  size_t actorCount() const;

  // Its actors are CAF's (caf_messages.hpp, hosted_caf_actor.hpp).
  /// The CAF handle of a living actor of this node, null if there is none of that name. Messages and requests to it
  /// reach the actor's mailbox; monitors and links hear of its end. A restart makes another actor with another handle:
  /// get a handle when it is needed.
  caf::actor handleOf(const Address& who) const;
  /// CAF's system of this node: what is spawned there runs on the node's pool and in its environment's time.
  caf::actor_system& cafSystem() const;

  // A manual node only.
  /// Runs until nothing is ready; returns the number of turns. Throws if it does not settle within `limit` turns.
  size_t run(size_t limit = 1'000'000);
  /// How many turns are ready now (actors, tasks, posted actions).
  size_t readyCount() const;
  /// Runs one turn (one message of one actor), the `index`-th ready one; explores schedules. False if there is none.
  bool step(size_t index = 0);
  /// Moves the VirtualEnvironment's time, running the turns that become ready at each point. Returns the number of
  /// turns.
  size_t advance(Duration by);

  /// Ends every actor and task, then the threads. Idempotent; the destructor calls it. Supervisors stop their children
  /// in order before (`supervisors`); what is left here is killed. Not from a pool thread.
  void shutdown();

  struct Impl;  ///< internal to the kernel

 private:
  template <class T>
  static Task<void> keepResult(Task<T> task, std::optional<T>* result) {
    result->emplace(co_await std::move(task));
  }
  void waitFor(Task<void> task);
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
