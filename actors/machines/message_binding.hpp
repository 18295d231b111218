#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "messaging/description/message_archive.hpp"
#include "messaging/envelope/payload.hpp"
#include "state_machines/core/step.hpp"

namespace troupe::machines {

/// The schema that carries a described struct between nodes; given by TROUPE_MESSAGE. A struct without one stays within
/// its process.
template <class T>
struct SchemaOf {};

template <class T>
concept HasSchema = requires {
  typename SchemaOf<T>::Type;
};

/// Payload type under which handlers of messages that carry a T are registered.
template <class T>
struct CarrierOf {
  using Type = T;
};
template <HasSchema T>
struct CarrierOf<T> {
  using Type = typename SchemaOf<T>::Type;
};

template <class T>
Payload toMessage(const T& value) {
  if constexpr (HasSchema<T>) return toPayload<typename SchemaOf<T>::Type>(value);
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
    if (!payload.is<typename CarrierOf<T>::Type>()) return fromMessage<Variant, I + 1>(payload);
    if constexpr (HasSchema<T>) {
      TROUPE_ASSIGN(T value, (fromPayload<T, typename SchemaOf<T>::Type>(payload)));
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

/// At global scope: messages of `Type` travel as `Schema`, a Cap'n Proto struct with fields of the same names.
#define TROUPE_MESSAGE(Type_, Schema)        \
  template <>                                \
  struct troupe::machines::SchemaOf<Type_> { \
    using Type = Schema;                     \
  };

/// At global scope: a message of these fields, described (version 0) and bound to its schema.
///   TROUPE_DESCRIBE_MESSAGE(lease::Grant, lease::schema::Grant, id, epoch)
#define TROUPE_DESCRIBE_MESSAGE(Type_, Schema, ...)    \
  TROUPE_DESCRIBE(Type_, 0 __VA_OPT__(, ) __VA_ARGS__) \
  TROUPE_MESSAGE(Type_, Schema)
