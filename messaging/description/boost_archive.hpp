#pragma once
#include <boost/serialization/binary_object.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/nvp.hpp>
#include <boost/serialization/set.hpp>
#include <boost/serialization/split_free.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "messaging/bson/document.hpp"
#include "messaging/description/description.hpp"
#include "messaging/errors/status.hpp"

/// Described types in Boost's own archives: text, XML, binary, and those of others. Include this beside the archive:
///   boost::archive::binary_oarchive(stream) << std::as_const(lease);   ...   boost::archive::binary_iarchive(stream)
///   >> lease;
/// Described structs need nothing of it. Here is what Boost 1.74 does not know of the kinds of field there are: ids,
/// times, documents, `Status`, durations, `std::optional` and `std::variant`. Ids are hexadecimal text, a variant
/// begins with the name of the type that it holds, enums are numbers. Class versions are Boost's: a newer one than this
/// program knows is refused by Boost's exception, and so is damage, as far as the archive notices it. Nested documents
/// and ids that are read are checked (std::invalid_argument). For what nodes keep and send there are the archives of
/// our own.
namespace troupe::machines::detail {

/// The fields of a document, checked. Throws std::invalid_argument.
bson::Document checkedDocument(std::string bytes);

template <class Archive>
void saveBytes(Archive& archive, std::string_view bytes) {
  const size_t size = bytes.size();
  archive << boost::serialization::make_nvp("size", size);
  archive << boost::serialization::make_nvp(
      "bytes", boost::serialization::make_binary_object(const_cast<char*>(bytes.data()), size));
}
/// A damaged size asks for no more than a document may have.
template <class Archive>
std::string loadBytes(Archive& archive) {
  size_t size = 0;
  archive >> boost::serialization::make_nvp("size", size);
  if (size > static_cast<size_t>(bson::kMaxInternalDocumentSize)) throw std::invalid_argument("too many bytes");
  std::string bytes(size, '\0');
  archive >> boost::serialization::make_nvp("bytes", boost::serialization::make_binary_object(bytes.data(), size));
  return bytes;
}

/// An id as its text.
template <class Id, class Archive>
void serializeId(Archive& archive, Id& id) {
  std::string text = Archive::is_saving::value ? id.toString() : std::string();
  archive& boost::serialization::make_nvp("hex", text);
  if constexpr (Archive::is_loading::value) {
    const auto read = Id::fromString(text);
    if (!read) throw std::invalid_argument("no id: " + text);
    id = *read;
  }
}

template <class Archive, class... T>
void loadAlternative(Archive& archive, std::variant<T...>& variant, const std::string& name) {
  const auto load = [&]<class U>(std::in_place_type_t<U>) {
    if (typeName<U>() != name) return false;
    archive >> boost::serialization::make_nvp("value", variant.template emplace<U>());
    return true;
  };
  if (!(load(std::in_place_type<T>) || ...)) throw std::invalid_argument("unknown type '" + name + "'");
}

}  // namespace troupe::machines::detail

namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, troupe::bson::Uuid& id, const unsigned) {
  troupe::machines::detail::serializeId(archive, id);
}
template <class Archive>
void serialize(Archive& archive, troupe::bson::ObjectId& id, const unsigned) {
  troupe::machines::detail::serializeId(archive, id);
}
template <class Archive>
void serialize(Archive& archive, troupe::bson::Timestamp& timestamp, const unsigned) {
  archive& make_nvp("seconds", timestamp.seconds) & make_nvp("increment", timestamp.increment);
}
template <class Archive>
void serialize(Archive& archive, troupe::bson::Date& date, const unsigned) {
  archive& make_nvp("millis", date.millis);
}
template <class Archive>
void serialize(Archive& archive, troupe::bson::Decimal128& decimal, const unsigned) {
  archive& make_nvp("low", decimal.low) & make_nvp("high", decimal.high);
}

template <class Archive>
void save(Archive& archive, const troupe::bson::Document& document, const unsigned) {
  troupe::machines::detail::saveBytes(archive, document.view().bytes());
}
template <class Archive>
void load(Archive& archive, troupe::bson::Document& document, const unsigned) {
  document = troupe::machines::detail::checkedDocument(troupe::machines::detail::loadBytes(archive));
}
template <class Archive>
void serialize(Archive& archive, troupe::bson::Document& document, const unsigned version) {
  split_free(archive, document, version);
}

/// As a document of one field, or of none.
template <class Archive>
void save(Archive& archive, const troupe::bson::Value& value, const unsigned) {
  const auto holder = value.ok() ? troupe::bson::doc("", value) : troupe::bson::Document();
  archive << make_nvp("holder", holder);
}
template <class Archive>
void load(Archive& archive, troupe::bson::Value& value, const unsigned) {
  troupe::bson::Document holder;
  archive >> make_nvp("holder", holder);
  value = holder.view().empty() ? troupe::bson::Value() : troupe::bson::Value(holder.view().first());
}
template <class Archive>
void serialize(Archive& archive, troupe::bson::Value& value, const unsigned version) {
  split_free(archive, value, version);
}

template <class Archive>
void save(Archive& archive, const troupe::Status& status, const unsigned) {
  const auto code = static_cast<int32_t>(status.code());
  const bool hasExtra = status.extra() != nullptr;
  archive << make_nvp("code", code) << make_nvp("reason", status.reason()) << make_nvp("hasExtra", hasExtra);
  if (hasExtra) archive << make_nvp("extra", *status.extra());
}
template <class Archive>
void load(Archive& archive, troupe::Status& status, const unsigned) {
  int32_t code = 0;
  std::string reason;
  bool hasExtra = false;
  troupe::bson::Document extra;
  archive >> make_nvp("code", code) >> make_nvp("reason", reason) >> make_nvp("hasExtra", hasExtra);
  if (hasExtra) archive >> make_nvp("extra", extra);
  const auto number = static_cast<troupe::ErrorCode>(code);
  if (number == troupe::ErrorCode::kOK) status = troupe::Status();
  else status = hasExtra ? troupe::Status(number, std::move(reason), extra) : troupe::Status(number, std::move(reason));
}
template <class Archive>
void serialize(Archive& archive, troupe::Status& status, const unsigned version) {
  split_free(archive, status, version);
}

template <class Archive, class Rep, class Period>
void serialize(Archive& archive, std::chrono::duration<Rep, Period>& duration, const unsigned) {
  Rep ticks = duration.count();
  archive& make_nvp("ticks", ticks);
  duration = std::chrono::duration<Rep, Period>(ticks);
}

template <class Archive, class T>
void save(Archive& archive, const std::optional<T>& optional, const unsigned) {
  const bool held = optional.has_value();
  archive << make_nvp("held", held);
  if (held) archive << make_nvp("value", *optional);
}
template <class Archive, class T>
void load(Archive& archive, std::optional<T>& optional, const unsigned) {
  bool held = false;
  archive >> make_nvp("held", held);
  optional.reset();
  if (held) archive >> make_nvp("value", optional.emplace());
}
template <class Archive, class T>
void serialize(Archive& archive, std::optional<T>& optional, const unsigned version) {
  split_free(archive, optional, version);
}

template <class Archive, class... T>
void save(Archive& archive, const std::variant<T...>& variant, const unsigned) {
  const std::string name(std::visit([]<class U>(const U&) { return troupe::machines::typeName<U>(); }, variant));
  archive << make_nvp("type", name);
  std::visit([&archive](const auto& held) { archive << make_nvp("value", held); }, variant);
}
template <class Archive, class... T>
void load(Archive& archive, std::variant<T...>& variant, const unsigned) {
  std::string name;
  archive >> make_nvp("type", name);
  troupe::machines::detail::loadAlternative(archive, variant, name);
}
template <class Archive, class... T>
void serialize(Archive& archive, std::variant<T...>& variant, const unsigned version) {
  split_free(archive, variant, version);
}

}  // namespace boost::serialization
