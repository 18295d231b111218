#pragma once
#include <cstdint>
#include <stdexcept>
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

/// The fields of a document that this version does not know: kept by its loader and given back when it is saved, so
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
  std::vector<UnknownFields> nested;  ///< of nested values that have unknown fields

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
Status readGivenBson(bson::View document, const ValueType& type, void* value);
/// One named value of any type, in a document that is open.
void writeBsonField(bson::Builder& out, const char* name, const ValueType& type, const void* value);
Status readBsonField(bson::View document, const char* name, const ValueType& type, void* value);
}  // namespace detail

/// The document of a value. Its size is not checked: that is up to the store.
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
/// The value of a document that a client has sent: fields that are left out keep their defaults, numbers stand for
/// bools, and fields that are not described are refused (UnknownField), nested ones as well.
template <Documented T>
StatusWith<T> parseBson(bson::View document) {
  T value{};
  TROUPE_TRY(detail::readGivenBson(document, typeOf<T>(), &value));
  return value;
}
/// The value of a document, with the fields that this version does not know.
template <Documented T>
StatusWith<Loaded<T>> loadBson(bson::View document) {
  Loaded<T> loaded{};
  TROUPE_TRY(detail::readBson(document, typeOf<T>(), &loaded.value, &loaded.unknown));
  return loaded;
}

/// Boost's concept of a saving archive, over one document: `archive << lease` writes the fields of a described value,
/// and `archive << make_nvp("count", n)` one field more. `finish` gives the document.
class BsonOutputArchive {
 public:
  using is_saving = std::true_type;
  using is_loading = std::false_type;
  template <class T>
  void register_type(const T* = nullptr) {}
  unsigned get_library_version() const { return 0; }
  /// Throws std::logic_error: bytes in a document have a name, as fields of type `std::vector<uint8_t>`.
  void save_binary(const void*, size_t) { throw std::logic_error("bytes without a name"); }

  template <Documented T>
  BsonOutputArchive& operator<<(const T& value) {
    out_.appendAll(toBson(value));
    return *this;
  }
  template <class T>
  BsonOutputArchive& operator<<(const boost::serialization::nvp<T>& field) {
    detail::writeBsonField(out_, field.name(), typeOf<std::remove_const_t<T>>(), &field.const_value());
    return *this;
  }
  template <class T>
  BsonOutputArchive& operator&(const T& value) {
    return *this << value;
  }
  bson::Document finish() { return out_.finish(); }

 private:
  bson::Builder out_;
};

/// Boost's concept of a loading archive, over one document. After a failure, which `status` tells, values are left as
/// they are. The document outlives the archive.
class BsonInputArchive {
 public:
  using is_saving = std::false_type;
  using is_loading = std::true_type;
  explicit BsonInputArchive(bson::View document) : document_(document) {}
  template <class T>
  void register_type(const T* = nullptr) {}
  unsigned get_library_version() const { return 0; }
  /// Throws std::logic_error.
  void load_binary(void*, size_t) { throw std::logic_error("bytes without a name"); }

  template <Documented T>
  BsonInputArchive& operator>>(T& value) {
    if (!status_.isOK()) return *this;
    T read{};
    status_ = detail::readBson(document_, typeOf<T>(), &read, nullptr);
    if (status_.isOK()) value = std::move(read);
    return *this;
  }
  template <class T>
  BsonInputArchive& operator>>(const boost::serialization::nvp<T>& field) {
    if (!status_.isOK()) return *this;
    T read{};
    status_ = detail::readBsonField(document_, field.name(), typeOf<T>(), &read);
    if (status_.isOK()) field.value() = std::move(read);
    return *this;
  }
  template <class T>
  BsonInputArchive& operator&(T&& value) {
    return *this >> value;
  }
  const Status& status() const { return status_; }

 private:
  const bson::View document_;
  Status status_;
};

}  // namespace troupe::machines
