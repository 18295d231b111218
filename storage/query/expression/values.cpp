#include "storage/query/expression/values.hpp"

#include <cmath>
#include <limits>

#include "messaging/bson/decimal.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/numeric.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

Value decimal(bson::Decimal128 v) {
  char bytes[16];
  std::memcpy(bytes, &v.low, 8);
  std::memcpy(bytes + 8, &v.high, 8);
  return Value::raw(Type::kDecimal128, {bytes, sizeof bytes});
}

Value text(std::string_view v) { return Value::string(v); }

Value document(bson::View v) { return Value::raw(Type::kDocument, v.bytes()); }

Value integer(int64_t v) {
  return v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max()
             ? int32(static_cast<int32_t>(v))
             : int64(v);
}

namespace {

/// Bytes of a value, or of a text, that a message shows at most: it may be made again for each document.
constexpr size_t kMostShown = 1024;

/// The first items of a document or array as JSON, which ends in "...".
std::string firstItems(const Element& e) {
  bson::Builder shown;
  for (const Element& item : e.asDocument()) {
    if (shown.size() + item.size() > kMostShown) break;
    shown.append(item);
  }
  const Value first = e.is(Type::kArray) ? Value::array(shown.finish()) : Value(shown.finish());
  std::string text = bson::toRelaxedJson(first.element());
  return text.insert(text.size() - 1, "...");
}

}  // namespace

std::string show(const Element& e) {
  if (!e.ok()) return "missing";
  if (e.valueSize() <= kMostShown) return bson::toRelaxedJson(e);
  if (e.isObjectLike()) return firstItems(e);
  if (e.is(Type::kString)) return bson::toRelaxedJson(text(shortened(e.asString())).element());
  return typeOf(e) + " of " + std::to_string(e.valueSize()) + " bytes";
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMostShown) return std::string(text);
  size_t end = kMostShown;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
  return std::string(text.substr(0, end)) + "...";
}

std::string typeOf(const Element& e) { return std::string(bson::typeName(e.type())); }

std::optional<int64_t> exactInt64(const Element& e) {
  switch (e.type()) {
    case Type::kInt32: return e.asInt32();
    case Type::kInt64: return e.asInt64();
    case Type::kDouble: {
      const double v = e.asDouble();
      if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0) || v != std::trunc(v)) return std::nullopt;
      return static_cast<int64_t>(v);
    }
    case Type::kDecimal128: {
      const auto n = bson::truncatedInt64(e.asDecimal());
      if (!n || bson::compareDecimals(bson::decimalFromInt64(*n), e.asDecimal()) != 0) return std::nullopt;
      return n;
    }
    default: return std::nullopt;
  }
}

std::optional<int64_t> truncatedInt64(const Element& e) {
  if (e.is(Type::kDecimal128)) return bson::truncatedInt64(e.asDecimal());
  return e.is(Type::kDouble) ? exactInt64(real(std::trunc(e.asDouble())).element()) : exactInt64(e);
}

StatusWith<int64_t> coerceToLong(const Element& e) {
  switch (e.type()) {
    case Type::kInt32:
    case Type::kInt64: return e.toInt64();
    case Type::kDouble: {
      if (const auto whole = truncatedInt64(e)) return *whole;
      return Status(ErrorCode(31109), "Can't coerce out of range value " + show(e) + " to long");
    }
    case Type::kDecimal128: {
      const auto whole = bson::truncatedInt64(bson::roundTo(e.asDecimal(), 0, bson::Rounding::kHalfEven));
      return whole.value_or(std::numeric_limits<int64_t>::min());
    }
    default: return Status(ErrorCode(16004), "can't convert from BSON type " + typeOf(e) + " to long");
  }
}

std::optional<int32_t> exactInt32(const Element& e) {
  const auto v = exactInt64(e);
  if (!v || *v < std::numeric_limits<int32_t>::min() || *v > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int32_t>(*v);
}

bson::Decimal128 toDecimal(const Element& e) {
  switch (e.type()) {
    case Type::kDecimal128: return e.asDecimal();
    case Type::kDouble: return bson::decimalFromDouble(e.asDouble());
    default: return bson::decimalFromInt64(e.toInt64());
  }
}

}  // namespace troupe::query
