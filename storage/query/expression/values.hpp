#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "storage/query/expression/operand.hpp"

// Scalars as operands, made without a builder so that numbers do not allocate; and questions operators share.
namespace troupe::query {

template <class T>
bson::Value scalar(bson::Type type, const T& v) {
  return bson::Value::raw(type, {reinterpret_cast<const char*>(&v), sizeof(T)});
}
inline bson::Value nullValue() { return bson::Value::raw(bson::Type::kNull, {}); }
inline bson::Value boolean(bool v) { return scalar<char>(bson::Type::kBool, v ? 1 : 0); }
inline bson::Value int32(int32_t v) { return scalar(bson::Type::kInt32, v); }
inline bson::Value int64(int64_t v) { return scalar(bson::Type::kInt64, v); }
inline bson::Value real(double v) { return scalar(bson::Type::kDouble, v); }
inline bson::Value date(int64_t millis) { return scalar(bson::Type::kDate, millis); }
bson::Value decimal(bson::Decimal128 v);
bson::Value text(std::string_view v);
bson::Value document(bson::View v);
/// int32 where it fits, else int64.
bson::Value integer(int64_t v);

/// The value for messages: relaxed JSON, of a large value its beginning and "..."; "missing" for none.
std::string show(const bson::Element& e);
/// A text for messages: of a long one its beginning and "...".
std::string shortened(std::string_view text);
/// The type's alias for messages.
std::string typeOf(const bson::Element& e);
/// The number as int32 when it is one exactly, of any numeric type.
std::optional<int32_t> exactInt32(const bson::Element& e);
/// The number as int64 when it is one exactly.
std::optional<int64_t> exactInt64(const bson::Element& e);
/// The number as int64 without its fraction, of any numeric type; nothing out of range and for NaN.
std::optional<int64_t> truncatedInt64(const bson::Element& e);
/// A number as an int64, as operators take their positions: doubles are truncated, decimals rounded half to even, and
/// decimals out of range are the least int64. Errors: 31109 (a double out of range, or not a number), 16004 (no
/// number).
StatusWith<int64_t> coerceToLong(const bson::Element& e);
/// A decimal of any number.
bson::Decimal128 toDecimal(const bson::Element& e);

}  // namespace troupe::query
