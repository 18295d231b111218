#pragma once
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "messaging/description/message_archive.hpp"
#include "messaging/envelope/payload.hpp"
#include "messaging/errors/status.hpp"

/// The payloads of a machine's events and messages: those marked with TROUPE_MESSAGE may go to other nodes, all others
/// stay within their process.
namespace troupe::machines {

/// Payload type under which handlers of messages that carry a T are registered.
template <class T>
PayloadType payloadTypeOf() {
  if constexpr (MessageStruct<T>) return detail::messageInfo<T>().id;
  else return payloadType<T>();
}

template <class T>
Payload toMessage(const T& value) {
  if constexpr (MessageStruct<T>) return toPayload(value);
  else return local(value);
}

/// The alternative of `Variant` that the payload carries: BadValue or the like for a damaged one, nothing for a payload
/// of another type.
template <class Variant, size_t I = 0>
StatusWith<std::optional<Variant>> fromMessage(const Payload& payload) {
  if constexpr (I == std::variant_size_v<Variant>) {
    return std::optional<Variant>();
  } else {
    using T = std::variant_alternative_t<I, Variant>;
    if (payload.type() != payloadTypeOf<T>()) return fromMessage<Variant, I + 1>(payload);
    if constexpr (MessageStruct<T>) {
      TROUPE_ASSIGN(T value, fromPayload<T>(payload));
      return std::optional<Variant>(std::in_place, std::move(value));
    } else {
      return std::optional<Variant>(std::in_place, payload.local<T>());
    }
  }
}

/// Whether T is one of a variant's alternatives.
template <class T, class Variant>
inline constexpr bool kIsOneOf = false;
template <class T, class... All>
inline constexpr bool kIsOneOf<T, std::variant<All...>> = (std::is_same_v<T, All> || ...);

}  // namespace troupe::machines
