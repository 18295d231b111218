#pragma once
#include <capnp/schema.h>

#include <memory>

#include "messaging/description/value_type.hpp"
#include "messaging/envelope/payload.hpp"
#include "messaging/errors/status.hpp"

/// Carries described structs in Cap'n Proto messages whose fields have the same names.
///
///   C++                                   schema
///   bool, double, float                   Bool, Float64, Float32 or Float64
///   integer, duration                     Int8 ... Int64 or UInt8 ... UInt64 of the same sign, at least as wide
///   bson::Timestamp, bson::Date           UInt64, Int64 (milliseconds)
///   std::string                           Text, or Data
///   enum                                  Text, or an enum of the same names
///   bytes, Uuid, ObjectId, Decimal128     Data
///   bson::Document, bson::Value           Data: a document; a document of one field ""
///   Status                                struct {code :Int32, reason :Text, extra :Data}, such as Failure of
///   envelope.capnp described struct                      struct vector, set; map                      List; List of
///   struct {key :Text, value} variant                               struct of one unnamed union: a field a type,
///   `refused` for Refused, of type struct, or
///                                         Void for a type without fields
///   optional                              a pointer that may be null; of numbers and bools a List of none or one
///
/// Fields that are not set have their defaults. Versions play no part: schemas grow by new fields, and both sides have
/// defaults for them.
namespace troupe::machines {

namespace detail {
class MessagePlan;
std::shared_ptr<const MessagePlan> makeMessagePlan(const StructType& type, capnp::StructSchema schema);
Status planStatus(const MessagePlan& plan);
Payload writeMessage(const MessagePlan& plan, const void* value, const PayloadTypeInfo& info);
Status readMessage(const MessagePlan& plan, const Payload& payload, const PayloadTypeInfo& info, void* value);

/// The mapping between the fields of T and Schema, computed once.
template <Described T, SchemaType Schema>
const MessagePlan& messagePlan() {
  static const std::shared_ptr<const MessagePlan> plan = makeMessagePlan(structOf<T>(), capnp::Schema::from<Schema>());
  return *plan;
}
}  // namespace detail

/// Whether each described field has its field in the schema, of a fitting type, and each field of the schema is
/// described. Error: InvalidOptions, which names all that does not fit. For a unit test of each pair.
template <Described T, SchemaType Schema>
Status schemaFits() {
  return detail::planStatus(detail::messagePlan<T, Schema>());
}

/// The message of a value. A schema that does not fit is a broken invariant: std::logic_error.
template <SchemaType Schema, Described T>
Payload toPayload(const T& value) {
  return detail::writeMessage(detail::messagePlan<T, Schema>(), &value, troupe::detail::payloadTypeInfo<Schema>());
}

/// The value of a message. Errors name the field: TypeMismatch (another message), BadValue (unknown name of an enum or
/// variant, an id of the wrong length), Overflow (a number that does not fit; too deep), FailedToParse (damaged).
template <Described T, SchemaType Schema>
StatusWith<T> fromPayload(const Payload& payload) {
  T value{};
  TROUPE_TRY(detail::readMessage(detail::messagePlan<T, Schema>(), payload, troupe::detail::payloadTypeInfo<Schema>(),
                                 &value));
  return value;
}

}  // namespace troupe::machines
