#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "messaging/bson/types.hpp"
#include "messaging/description/value_type.hpp"

/// The canonical bytes of a value: two values of one type are the same exactly if their fingerprints are. For the model
/// checker, which compares and hashes states by the million; not a format to keep (enums stand by number, names are
/// left out). Doubles are compared by their bits, all NaNs being one.
namespace troupe::machines {

class FingerprintArchive;
template <class T>
void appendFingerprint(std::string& out, const T& value);

namespace detail {

inline void appendNumber(std::string& out, uint64_t number) {
  while (number >= 0x80) {
    out.push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out.push_back(static_cast<char>(number));
}

inline void appendSigned(std::string& out, int64_t number) {
  appendNumber(out, (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63));
}

inline void appendSized(std::string& out, std::string_view bytes) {
  appendNumber(out, bytes.size());
  out.append(bytes);
}

template <class T>
void appendBits(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void appendStatus(std::string& out, const Status& status);

template <class T>
void appendDouble(std::string& out, T value) {
  const double number = std::isnan(value) ? std::nan("") : static_cast<double>(value);
  appendBits(out, number);
}

template <class T>
void appendPlain(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) out.push_back(value ? 1 : 0);
  else if constexpr (std::is_same_v<T, std::string>) appendSized(out, value);
  else if constexpr (std::is_same_v<T, bson::Uuid> || std::is_same_v<T, bson::ObjectId>) appendBits(out, value.bytes);
  else if constexpr (std::is_same_v<T, bson::Timestamp>) appendBits(out, value.asUint64());
  else if constexpr (std::is_same_v<T, bson::Date>) appendSigned(out, value.millis);
  else if constexpr (std::is_same_v<T, bson::Decimal128>) (appendBits(out, value.low), appendBits(out, value.high));
  else if constexpr (std::is_same_v<T, Status>) appendStatus(out, value);
  else if constexpr (std::is_same_v<T, bson::Document>) out.append(value.bytes());  // begins with its length
  else {
    static_assert(std::is_same_v<T, bson::Value>);
    out.push_back(static_cast<char>(value.type()));
    appendSized(out, value.valueBytes());
  }
}

template <class T>
void appendContainer(std::string& out, const T& container) {
  appendNumber(out, container.size());
  if constexpr (kIsMap<T>) {
    for (const auto& [key, element] : container) {
      appendSized(out, key);
      appendFingerprint(out, element);
    }
  } else {
    for (const auto& element : container) appendFingerprint(out, element);
  }
}

}  // namespace detail

/// The archive that `serialize` is given to take a fingerprint.
class FingerprintArchive : boost::serialization::TroupeArchive {
 public:
  using is_saving = std::true_type;
  using is_loading = std::false_type;
  explicit FingerprintArchive(std::string& out) : out_(out) {}
  template <class T>
  FingerprintArchive& operator&(const boost::serialization::nvp<T>& field) {
    appendFingerprint(out_, field.const_value());
    return *this;
  }
  template <class T>
  FingerprintArchive& operator<<(const boost::serialization::nvp<T>& field) {
    return *this & field;
  }

 private:
  std::string& out_;
};

/// Appends the canonical bytes of any value that a described struct may hold.
template <class T>
void appendFingerprint(std::string& out, const T& value) {
  static_assert(detail::Tabled<T>, "not a type that a described struct may hold");
  if constexpr (Described<T>) {
    FingerprintArchive archive(out);
    serialize(archive, const_cast<T&>(value), kVersionOf<T>);
  } else if constexpr (std::is_enum_v<T>) {
    detail::appendSigned(out, static_cast<int64_t>(value));
  } else if constexpr (detail::kIsPlain<T>) {
    detail::appendPlain(out, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    detail::appendDouble(out, value);
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) detail::appendSigned(out, value);
    else detail::appendNumber(out, value);
  } else if constexpr (detail::kIsDuration<T>) {
    appendFingerprint(out, value.count());
  } else if constexpr (detail::kIsBytes<T>) {
    detail::appendSized(out, {reinterpret_cast<const char*>(value.data()), value.size()});
  } else if constexpr (detail::kIsOptional<T>) {
    out.push_back(value ? 1 : 0);
    if (value) appendFingerprint(out, *value);
  } else if constexpr (detail::kIsVariant<T>) {
    detail::appendNumber(out, value.index());
    std::visit([&out](const auto& held) { appendFingerprint(out, held); }, value);
  } else {
    detail::appendContainer(out, value);
  }
}

/// Whether two values are equal in all described fields.
template <class T>
bool sameValue(const T& a, const T& b) {
  std::string left, right;
  appendFingerprint(left, a);
  appendFingerprint(right, b);
  return left == right;
}

}  // namespace troupe::machines
