#pragma once
#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "actors/machines/message_binding.hpp"
#include "messaging/description/text.hpp"
#include "messaging/envelope/payload.hpp"
#include "messaging/errors/status.hpp"

/// Messages as a test writes them: a described struct (which may go to other nodes if TROUPE_MESSAGE marks it), a
/// struct of a Cap'n Proto schema with all defaults, or any C++ type that stays within its process.
namespace troupe::probe {

/// Of a payload whose type it knows, one readable line.
using Printer = std::function<std::string(const Payload&)>;

template <class T>
PayloadType typeOfMessage() {
  return machines::payloadTypeOf<T>();
}
template <class T>
bool carries(const Payload& payload) {
  return payload.type() == typeOfMessage<T>();
}

inline const Payload& payloadOf(const Payload& payload) { return payload; }
template <class T>
requires(!SchemaType<T> && !std::same_as<T, Payload>) Payload payloadOf(const T& value) {
  return machines::toMessage(value);
}

/// The answer of an ask: a message, or a failure.
inline StatusWith<Payload> answerOf(const Status& failure) { return failure; }
template <class T>
StatusWith<Payload> answerOf(const T& value) {
  return payloadOf(value);
}

/// The value that a message of type T carries: the struct, or for a schema's struct the message itself, to be read.
template <class T>
StatusWith<T> valueOf(const Payload& payload) {
  if constexpr (machines::MessageStruct<T>) return machines::fromPayload<T>(payload);
  else return payload.local<T>();
}
template <SchemaType T>
StatusWith<Received<T>> valueOf(const Payload& payload) {
  return Received<T>(payload);
}

template <class T>
std::string textOf(const Payload& payload) {
  if constexpr (SchemaType<T>) {
    auto reading = payload.read<T>();
    return std::string(payload.typeName()) + kj::str(*reading).cStr();
  } else if constexpr (machines::Described<T>) {
    const auto value = valueOf<T>(payload);
    return value.isOK() ? machines::toText(*value) : payload.typeName() + (", damaged: " + value.status().toString());
  } else {
    return payload.typeName();
  }
}

}  // namespace troupe::probe
