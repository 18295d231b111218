#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/kernel/context.hpp"
#include "actors/kernel/task.hpp"

namespace troupe {

/// The handler of one type of payload.
struct Handler {
  PayloadType type = 0;
  std::function<void(Context&)> run;
};

namespace detail {
/// Starts a handler's coroutine on the actor.
void startOnActor(Actor& actor, Task<void> task);

template <class T, class F>
void runHandler(F& handler, Context& context) {
  if constexpr (SchemaType<T>) {
    if constexpr (std::invocable<F&, typename T::Reader, Context&>) {
      auto reading = context.payload().template read<T>();
      static_assert(std::is_void_v<std::invoke_result_t<F&, typename T::Reader, Context&>>,
                    "a coroutine handler takes (Received<T>, Context): a Reader does not outlive the message");
      return handler(*reading, context);
    } else if constexpr (std::invocable<F&, typename T::Reader>) {
      auto reading = context.payload().template read<T>();
      static_assert(std::is_void_v<std::invoke_result_t<F&, typename T::Reader>>);
      return handler(*reading);
    }
  } else {
    if constexpr (std::invocable<F&, const T&, Context&>) {
      static_assert(std::is_void_v<std::invoke_result_t<F&, const T&, Context&>>,
                    "a coroutine handler takes (Received<T>, Context)");
      return handler(context.payload().template local<T>(), context);
    } else if constexpr (std::invocable<F&, const T&>) {
      return handler(context.payload().template local<T>());
    }
  }
  if constexpr (std::invocable<F&, Received<T>, Context>) {
    Received<T> received(context.payload());
    Actor& actor = context.actor();
    using Result = std::invoke_result_t<F&, Received<T>, Context>;
    if constexpr (std::is_same_v<Result, Task<void>>)
      startOnActor(actor, handler(std::move(received), std::move(context)));
    else handler(std::move(received), std::move(context));
  }
}

template <class T, class F>
inline constexpr bool kHandles = std::invocable<F&, Received<T>, Context> || [] {
  if constexpr (SchemaType<T>)
    return std::invocable<F&, typename T::Reader, Context&> || std::invocable<F&, typename T::Reader>;
  else return std::invocable<F&, const T&, Context&> || std::invocable<F&, const T&>;
}();
}  // namespace detail

/// A handler for payloads of type T (a schema struct or a local C++ type). `handler` is one of
///   void (T::Reader) or void (T::Reader, Context&)            answers at once; the reader lives for the call
///   void (const T&)  or void (const T&, Context&)             the same for a local type
///   Task<void> (Received<T>, Context)                         a coroutine that owns message and duty to answer
template <class T, class F>
Handler on(F handler) {
  static_assert(detail::kHandles<T, F>, "the handler's parameters do not fit: see above");
  (void)detail::payloadTypeInfo<T>();  // from now on its name is known
  return {payloadType<T>(),
          [handler = std::move(handler)](Context& context) mutable { detail::runHandler<T>(handler, context); }};
}

/// The same with a member function: `on<schema::Ping>(this, &Service::ping)`.
template <class T, class Object, class Result, class... Args>
Handler on(Object* object, Result (Object::*method)(Args...)) {
  return on<T>([object, method](Args... args) -> Result { return (object->*method)(std::forward<Args>(args)...); });
}

/// All that an actor understands, by payload type. Messages of other types are answered with an error and counted.
class Behaviour {
 public:
  Behaviour() = default;
  template <class... Handlers>
  requires(std::same_as<std::decay_t<Handlers>, Handler>&&...)
      Behaviour(Handlers&&... handlers) {  // NOLINT: `return {on<A>(..), on<B>(..)};`
    handlers_.reserve(sizeof...(handlers));
    (add(std::forward<Handlers>(handlers)), ...);
  }
  /// Replaces a handler of the same type.
  void add(Handler handler);
  /// Handler of all types that have none of their own; without it they are answered with an error.
  void otherwise(std::function<void(Context&)> handler) {
    otherwise_ = std::make_unique<std::function<void(Context&)>>(std::move(handler));
  }
  /// Null if there is none.
  const std::function<void(Context&)>* find(PayloadType type) const {
    for (const auto& handler : handlers_)
      if (handler.type == type) return &handler.run;
    return otherwise_.get();
  }

 private:
  std::vector<Handler> handlers_;
  std::unique_ptr<std::function<void(Context&)>> otherwise_;
};

}  // namespace troupe
