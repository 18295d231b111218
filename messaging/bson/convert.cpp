#include "messaging/bson/convert.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "messaging/bson/json.hpp"

namespace troupe::bson {
namespace {

constexpr const char* kNoOnError = " in $convert with no onError value";

Status failure(std::string what, std::string detail = {}) {
  return {ErrorCode::kConversionFailure, std::move(what) + kNoOnError + std::move(detail)};
}

Status unsupported(const Element& v, std::string_view target) {
  return failure("Unsupported conversion from " + std::string(typeName(v.type())) + " to " + std::string(target));
}

Status overflow(const Element& v) { return failure("Conversion would overflow target type", ": " + toRelaxedJson(v)); }

Status notANumber(std::string_view text, std::string_view why) {
  return failure("Failed to parse number '" + std::string(text) + "'", ": " + std::string(why));
}

/// A leading plus sign is allowed, which from_chars refuses.
std::string_view withoutPlus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <class T>
StatusWith<T> parse(std::string_view text) {
  const std::string_view digits = withoutPlus(text);
  if (digits.empty()) return notANumber(text, "No digits");
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return notANumber(text, "Overflow");
  if (error != std::errc()) return notANumber(text, "Did not consume any digits");
  if (end != digits.data() + digits.size()) return notANumber(text, "Did not consume whole string.");
  return value;
}

/// The integer that a number, a boolean or a string stands for.
StatusWith<int64_t> toInteger(const Element& v, std::string_view target) {
  switch (v.type()) {
    case Type::kInt32:
    case Type::kInt64:
    case Type::kBool: return v.toInt64();
    case Type::kDouble: {
      const double d = v.asDouble();
      if (std::isnan(d)) return failure("Attempt to convert NaN value to integer type");
      if (std::isinf(d)) return failure("Attempt to convert infinity value to integer type");
      if (d >= 9223372036854775808.0 || d < -9223372036854775808.0) return overflow(v);
      return static_cast<int64_t>(d);
    }
    case Type::kDecimal128: {
      const Decimal128 d = v.asDecimal();
      if (isNaN(d)) return failure("Attempt to convert NaN value to integer type");
      if (isInfinite(d)) return failure("Attempt to convert infinity value to integer type");
      const auto integer = truncatedInt64(d);
      if (!integer) return overflow(v);
      return *integer;
    }
    case Type::kString: return parse<int64_t>(v.asString());
    default: return unsupported(v, target);
  }
}

}  // namespace

StatusWith<Value> toInt32Value(const Element& v) {
  TROUPE_ASSIGN(const int64_t integer, toInteger(v, "int"));
  if (integer != static_cast<int32_t>(integer))
    return v.is(Type::kString) ? notANumber(v.asString(), "Overflow") : overflow(v);
  return Value(static_cast<int32_t>(integer));
}

StatusWith<Value> toInt64Value(const Element& v) {
  if (v.is(Type::kDate)) return Value(v.asDate().millis);
  TROUPE_ASSIGN(const int64_t integer, toInteger(v, "long"));
  return Value(integer);
}

StatusWith<Value> toDoubleValue(const Element& v) {
  switch (v.type()) {
    case Type::kInt32:
    case Type::kInt64:
    case Type::kBool:
    case Type::kDouble: return Value(v.toDouble());
    case Type::kDecimal128: {
      const double d = toDoubleLossy(v.asDecimal());
      if (std::isinf(d) && !isInfinite(v.asDecimal())) return overflow(v);
      return Value(d);
    }
    case Type::kDate: return Value(static_cast<double>(v.asDate().millis));
    case Type::kString: {
      TROUPE_ASSIGN(const double d, parse<double>(v.asString()));
      return Value(d);
    }
    default: return unsupported(v, "double");
  }
}

StatusWith<Value> toDecimalValue(const Element& v) {
  switch (v.type()) {
    case Type::kInt32:
    case Type::kInt64:
    case Type::kBool: return Value(decimalFromInt64(v.toInt64()));
    case Type::kDouble: return Value(decimalFromDouble(v.asDouble()));
    case Type::kDecimal128: return Value(v);
    case Type::kDate: return Value(decimalFromInt64(v.asDate().millis));
    case Type::kString: {
      const auto parsed = decimalFromString(v.asString());
      if (!parsed.isOK()) return notANumber(v.asString(), parsed.status().reason());
      return Value(*parsed);
    }
    default: return unsupported(v, "decimal");
  }
}

StatusWith<Value> toBoolValue(const Element& v) { return Value(v.isNumber() || v.is(Type::kBool) ? v.truthy() : true); }

}  // namespace troupe::bson
