#pragma once
#include "messaging/description/message.hpp"
#include "messaging/description/value_type.hpp"
#include "messaging/envelope/payload.hpp"
#include "messaging/errors/status.hpp"

/// Carries described structs as Cap'n Proto messages. The struct of a message follows from its description: the first
/// field is @0, the second @1, and so on, laid out as Cap'n Proto's compiler does it, so that a schema with these
/// fields reads it (test/unit/messaging/description/sample.capnp is one).
///
///   C++                             Cap'n Proto
///   bool, double, float             Bool, Float64, Float32
///   integer, duration               Int8 ... Int64, UInt8 ... UInt64
///   bson::Timestamp, bson::Date     UInt64, Int64 (milliseconds)
///   std::string                     Text
///   enum                            Text: its name
///   bytes, Uuid, ObjectId           Data
///   Decimal128                      Data: low and high word
///   bson::Document, bson::Value     Data: a document; a document of one field ""
///   Status                          struct {code @0 :Int32, reason @1 :Text, extra @2 :Data}
///   described struct                struct
///   vector, set; map                List; List of struct {key @0 :Text, value @1}
///   variant                         struct of one unnamed union: a field a type, `refused` for Refused, of its struct
///   optional                        a pointer that may be null; of numbers and bools a List of none or one
///
/// Fields that are not there have the zero of their type. Class versions play no part: messages grow by new fields.
namespace troupe::machines {

namespace detail {
Payload writeMessage(const StructType& type, const void* value, const PayloadTypeInfo& info);
Status readMessage(const StructType& type, const Payload& payload, const PayloadTypeInfo& info, void* value);

/// From now on the name of the type is known to logs.
template <MessageStruct T>
const PayloadTypeInfo& messageInfo() {
  static const PayloadTypeInfo info = [] {
    const PayloadTypeInfo made{messageId<T>(), typeName<T>().data()};  // the end of a literal
    troupe::detail::rememberPayloadType(made);
    return made;
  }();
  return info;
}
}  // namespace detail

/// The message of a value.
template <MessageStruct T>
Payload toPayload(const T& value) {
  return detail::writeMessage(structOf<T>(), &value, detail::messageInfo<T>());
}

/// The value of a message. Errors name the field: TypeMismatch (another message), BadValue (unknown name of an enum or
/// number of an alternative, an id of the wrong length), Overflow (too deep), FailedToParse (damaged).
template <MessageStruct T>
StatusWith<T> fromPayload(const Payload& payload) {
  T value{};
  TROUPE_TRY(detail::readMessage(structOf<T>(), payload, detail::messageInfo<T>(), &value));
  return value;
}

}  // namespace troupe::machines
