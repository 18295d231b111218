#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/description/value_type.hpp"
#include "messaging/errors/status.hpp"

/// State documents: described values as readable documents, and back.
///
///   written as                     what
///   field by its name              described field; `id` becomes `_id`
///   version: 2                     class version, right after `_id`; left out for types of version 0
///   string                         enum, by name
///   int, long, double              integers by their width (uint64 beyond int64: decimal), durations as ticks
///   sub-document                   described struct; map, by key; Status as {code, codeName, errmsg, extra}
///   {type: "Refused", ...}         variant: the short name of the type it holds, and its fields
///   array                          vector, set
///   nothing                        empty optional, missing bson::Value (inside of arrays and maps: null, undefined)
///
/// Reading takes older versions (`serialize` sees the number) and refuses newer ones. Errors name type and path,
/// as "LeaseHandoff.participants.2.state: ...": UnsupportedFormat (newer), NoSuchKey (missing), TypeMismatch, Overflow
/// (a number that does not fit; too deep), BadValue (unknown name of an enum or variant), BSONObjectTooLarge.
namespace troupe::machines {

/// What a document holds that this version does not know: kept by whoever loads it and given back when it is saved, so
/// that an older node does not lose what a newer one wrote. Fields of nested structs are kept, too: under the same
/// field or map key; in arrays with the element of the same `_id`, or, where elements have none, at the same place as
/// long as the array keeps its length; in variants as long as the same type is held. Value semantics; opaque to its
/// owner.
struct UnknownFields {
  std::string name;                   ///< field, map key or place in the array; empty at the root
  std::string type;                   ///< the type that a variant holds
  bson::Value id;                     ///< of an array's element that has one
  uint32_t listSize = 0;              ///< of an array
  bson::Document fields;              ///< as they were
  std::vector<UnknownFields> nested;  ///< only of what has unknown fields inside

  bool empty() const { return fields.empty() && nested.empty(); }
};

/// A value with what its document holds besides.
template <Documented T>
struct Loaded {
  T value;
  UnknownFields unknown;
};

namespace detail {
bson::Document writeBson(const ValueType& type, const void* value, const UnknownFields* unknown);
Status readBson(bson::View document, const ValueType& type, void* value, UnknownFields* unknown);
}  // namespace detail

/// The document of a value. Its size is for whoever stores it to check.
template <Documented T>
bson::Document toBson(const T& value) {
  return detail::writeBson(typeOf<T>(), &value, nullptr);
}
/// With the fields that its document had besides when it was loaded; described fields win.
template <Documented T>
bson::Document toBson(const T& value, const UnknownFields& unknown) {
  return detail::writeBson(typeOf<T>(), &value, &unknown);
}

/// The value of a document; unknown fields are passed over.
template <Documented T>
StatusWith<T> fromBson(bson::View document) {
  T value{};
  TROUPE_TRY(detail::readBson(document, typeOf<T>(), &value, nullptr));
  return value;
}
/// The value of a document, with the fields that this version does not know.
template <Documented T>
StatusWith<Loaded<T>> loadBson(bson::View document) {
  Loaded<T> loaded{};
  TROUPE_TRY(detail::readBson(document, typeOf<T>(), &loaded.value, &loaded.unknown));
  return loaded;
}

}  // namespace troupe::machines
