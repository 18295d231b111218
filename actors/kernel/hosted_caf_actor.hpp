#pragma once
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "actors/kernel/actor.hpp"

namespace troupe {

/// An actor of CAF's own kind (a function or class with a behaviour, stateful or typed) as a child in the tree. This
/// actor has the path, the row and the supervisor; it starts the other one, passes on what it receives, and ends with
/// it: an exit with an error counts as a crash, so that the supervisor starts both anew.
///
/// Messages arrive there as `troupe::Payload`, or as CAF's message when the payload is a local `caf::message`; answers
/// come back the same way (caf_messages.hpp). Requests of CAF actors go to `Node::handleOf` the path.
///
/// An orderly stop sends CAF's exit message `user_shutdown`; a kill sends `kill`, and is not waited for: the last
/// handler of an actor that was killed, after its grace say, may still run beside the next life. What both use has to
/// bear that. `describe` shows the name, the id, and how many messages were passed on and how many answers are owed.
/// CAF does not tell the length of a foreign mailbox.
class HostedCafActor final : public Actor {
 public:
  /// Spawns the actor on the node's system. Called at each start. May throw: then it could not start.
  using Spawn = std::function<caf::actor(caf::actor_system&)>;
  explicit HostedCafActor(Spawn spawn) : spawn_(std::move(spawn)) {}

  Behaviour behaviour() override;
  void onStart() override;
  void onStopRequested() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void forward(Context& context);

  const Spawn spawn_;
  caf::actor hosted_;
  int64_t forwarded_ = 0;
  std::shared_ptr<std::atomic<int64_t>> owed_ = std::make_shared<std::atomic<int64_t>>(0);
};

/// `what` with an argument that it does not look at: CAF 0.17 dereferences a null pointer where a function is spawned
/// without arguments.
template <class R, class... Self>
auto withAnArgument(std::function<R(Self...)> what) {
  return [what = std::move(what)](Self... self, caf::unit_t) -> R { return what(self...); };
}

/// The constructor argument of `HostedCafActor` from the arguments of CAF's `spawn`; they are copied at each start:
///   permanent<HostedCafActor>("doubling", spawning([](caf::event_based_actor*) -> caf::behavior { ... }))
template <class F, class... Args>
HostedCafActor::Spawn spawning(F what, Args... args) {
  return [what = std::move(what), args...](caf::actor_system& system) {
    if constexpr (sizeof...(Args) > 0) return caf::actor_cast<caf::actor>(system.spawn(what, args...));
    else return caf::actor_cast<caf::actor>(system.spawn(withAnArgument(std::function(what)), caf::unit));
  };
}
/// The same for a class: `spawningClass<Calculator>(arguments...)`.
template <class A, class... Args>
HostedCafActor::Spawn spawningClass(Args... args) {
  return [args...](caf::actor_system& system) { return caf::actor_cast<caf::actor>(system.spawn<A>(args...)); };
}

}  // namespace troupe
