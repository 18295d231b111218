#pragma once
#include <utility>

#include "messaging/envelope/envelope.hpp"

namespace troupe {

class Actor;

/// The message being handled, and the ways to answer it. Handlers that answer at once take it by reference; a
/// coroutine, or an actor that answers later, moves it away and answers through it. An ask whose context goes away
/// unanswered is answered with an error. Belongs to the actor; not to be used from other threads.
class Context {
 public:
  Context(Actor& actor, Envelope envelope) : actor_(&actor), envelope_(std::move(envelope)) {}
  Context(Context&&) noexcept = default;
  Context& operator=(Context&&) noexcept = default;

  Actor& actor() const { return *actor_; }
  /// The sender; the empty address if it is no actor.
  const Address& sender() const { return envelope_.from; }
  const Payload& payload() const { return envelope_.payload; }
  const Envelope& envelope() const { return envelope_; }
  TimePoint deadline() const { return envelope_.deadline; }
  bool expectsReply() const { return static_cast<bool>(envelope_.reply); }

  /// Answers an ask; a reply to a tell is dropped. Once.
  void reply(Payload payload) { envelope_.reply.complete(std::move(payload)); }
  /// Answers with a failure.
  void fail(Status why) { envelope_.reply.complete(std::move(why)); }
  /// `ctx.reply<schema::Pong>([&](auto pong) { ... })`
  template <SchemaType T, class Fill>
  void reply(Fill&& fill) {
    reply(build<T>(std::forward<Fill>(fill)));
  }
  /// Hands the message, with the duty to answer it, to another actor.
  void forward(const Address& to);
  /// Takes the envelope out (for routers and probes).
  Envelope release() { return std::move(envelope_); }

 private:
  Actor* actor_;
  Envelope envelope_;
};

}  // namespace troupe
