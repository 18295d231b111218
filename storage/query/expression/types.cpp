#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/binary_text.hpp"
#include "storage/query/expression/date_text.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/expression/text.hpp"

// $type, $isNumber, $convert and its short forms.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

std::string doubleText(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-Infinity" : "Infinity";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return {buffer, end};
}

}  // namespace

StatusWith<std::string> coerceToString(const Element& e) {
  switch (e.type()) {
    case Type::kEnd:
    case Type::kNull:
    case Type::kUndefined: return std::string();
    case Type::kString:
    case Type::kSymbol:
    case Type::kCode: return std::string(e.asString());
    case Type::kInt32: return std::to_string(e.asInt32());
    case Type::kInt64: return std::to_string(e.asInt64());
    case Type::kDouble: return doubleText(e.asDouble());
    case Type::kDecimal128: return bson::toString(e.asDecimal());
    case Type::kDate: return isoDate(e.asDate().millis);
    case Type::kTimestamp: return isoDate(int64_t{e.asTimestamp().seconds} * 1000);
    default: return Status(ErrorCode(16007), "can't convert from BSON type " + typeOf(e) + " to String");
  }
}

namespace {

Status failure(std::string reason) { return {ErrorCode::kConversionFailure, std::move(reason)}; }
constexpr const char* kNoOnError = " in $convert with no onError value";

Status unsupported(const Element& e, Type to) {
  return failure("Unsupported conversion from " + typeOf(e) + " to " + std::string(bson::typeName(to)) + kNoOnError);
}

/// What a value is converted to, and how.
struct Conversion {
  Type to;
  uint8_t subtype = 0;                 ///< of binary data
  std::optional<BinaryFormat> format;  ///< between strings and binary data
  bool bigEndian = false;              ///< between numbers and binary data
};

/// A sign, "0x" and hexadecimal digits: a double too may be written so. The magnitude follows the prefix.
bool isHexadecimal(std::string_view s) {
  if (s.starts_with('+') || s.starts_with('-')) s.remove_prefix(1);
  return s.starts_with("0x") || s.starts_with("0X");
}

template <class T>
StatusWith<T> parseNumber(std::string_view s) {
  T v{};
  const char* end = s.data() + s.size();
  const bool hasPlus = s.starts_with('+') && !s.substr(1).starts_with('-');
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>) {
    if (isHexadecimal(s)) {
      const bool negative = s.starts_with('-');
      const char* digits = s.data() + (negative || hasPlus) + 2;
      // No second sign after the prefix.
      read = digits != end && *digits == '-' ? std::from_chars_result{digits, std::errc::invalid_argument}
                                             : std::from_chars(digits, end, v, std::chars_format::hex);
      if (negative) v = -v;
    } else {
      read = std::from_chars(s.data() + hasPlus, end, v);
    }
  } else {
    read = std::from_chars(s.data() + hasPlus, end, v);
  }
  const auto [at, error] = read;
  if (error == std::errc::result_out_of_range)
    return failure("Failed to parse number '" + shortened(s) + "'" + kNoOnError + ": Out of range");
  if (error != std::errc() || at != end)
    return failure("Failed to parse number '" + shortened(s) + "'" + kNoOnError + ": Did not consume whole string.");
  return v;
}

/// A number or date as an integer of the type, truncated.
template <class T>
StatusWith<T> integerOf(const Element& e, Type to, bool bigEndian = false) {
  switch (e.type()) {
    case Type::kBinary: {
      const auto v = integerFromBytes(e.asBinary().bytes, sizeof(T), bigEndian);
      if (!v) return failure("Failed to convert '" + show(e) + "' to " + std::string(bson::typeName(to)) + kNoOnError);
      return static_cast<T>(*v);
    }
    case Type::kBool: return static_cast<T>(e.asBool());
    case Type::kString: return parseNumber<T>(e.asString());
    case Type::kDate:
      if (sizeof(T) < 8) return unsupported(e, to);
      return static_cast<T>(e.asDate().millis);
    case Type::kDouble:
    case Type::kDecimal128: {
      const bool isDecimal = e.is(Type::kDecimal128);
      const double v = isDecimal ? bson::toDoubleLossy(e.asDecimal()) : e.asDouble();
      if (std::isnan(v)) return failure(std::string("Attempt to convert NaN value to integer type") + kNoOnError);
      if (std::isinf(v)) return failure(std::string("Attempt to convert infinity value to integer type") + kNoOnError);
      const auto whole = isDecimal ? bson::truncatedInt64(e.asDecimal()) : exactInt64(real(std::trunc(v)).element());
      if (!whole || *whole < std::numeric_limits<T>::min() || *whole > std::numeric_limits<T>::max())
        return failure("Conversion would overflow target type" + std::string(kNoOnError) + ": " + show(e));
      return static_cast<T>(*whole);
    }
    case Type::kInt32:
    case Type::kInt64: {
      const int64_t v = e.toInt64();
      if (v < std::numeric_limits<T>::min() || v > std::numeric_limits<T>::max())
        return failure("Conversion would overflow target type" + std::string(kNoOnError) + ": " + show(e));
      return static_cast<T>(v);
    }
    default: return unsupported(e, to);
  }
}

Result toDoubleValue(const Element& e, bool bigEndian) {
  if (e.is(Type::kBinary)) {
    const auto v = doubleFromBytes(e.asBinary().bytes, bigEndian);
    if (!v) return failure("Failed to convert '" + show(e) + "' to double" + kNoOnError);
    return Operand(real(*v));
  }
  if (e.is(Type::kDecimal128)) {
    const double v = bson::toDoubleLossy(e.asDecimal());
    if (std::isinf(v) && !bson::isInfinite(e.asDecimal()))
      return failure("Conversion would overflow target type" + std::string(kNoOnError) + ": " + show(e));
    return Operand(real(v));
  }
  if (e.isNumber()) return Operand(real(e.toDouble()));
  if (e.is(Type::kBool)) return Operand(real(e.asBool()));
  if (e.is(Type::kDate)) return Operand(real(static_cast<double>(e.asDate().millis)));
  if (!e.is(Type::kString)) return unsupported(e, Type::kDouble);
  TROUPE_ASSIGN(const double v, parseNumber<double>(e.asString()));
  return Operand(real(v));
}

Result toDecimalValue(const Element& e) {
  if (e.isNumber()) return Operand(decimal(toDecimal(e)));
  if (e.is(Type::kBool)) return Operand(decimal(bson::decimalFromInt64(e.asBool())));
  if (e.is(Type::kDate)) return Operand(decimal(bson::decimalFromInt64(e.asDate().millis)));
  if (!e.is(Type::kString)) return unsupported(e, Type::kDecimal128);
  const auto v = bson::decimalFromString(e.asString());
  if (!v.isOK())
    return failure("Failed to parse number '" + shortened(e.asString()) + "'" + kNoOnError + ": " +
                   v.status().reason());
  return Operand(decimal(*v));
}

Status missingFormat(const Element& e, const char* to) {
  return {ErrorCode(4341115), "$convert requires a 'format' to convert " + typeOf(e) + " to " + to};
}

Result toBinary(const Element& e, const Conversion& how) {
  switch (e.type()) {
    case Type::kBinary:
      if (e.asBinary().subtype != how.subtype)
        return failure("Conversions between different binData subtypes are not supported" + std::string(kNoOnError));
      return Operand(bson::Value(e));
    case Type::kString: {
      if (!how.format) return missingFormat(e, "binData");
      TROUPE_ASSIGN(auto value, textToBinary(e.asString(), *how.format, how.subtype));
      return Operand(std::move(value));
    }
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDouble: {
      const bson::Value number(e);
      std::string bytes(number.valueBytes());
      if (how.bigEndian) std::reverse(bytes.begin(), bytes.end());
      return Operand(binaryValue(bytes, how.subtype));
    }
    default: return unsupported(e, Type::kBinary);
  }
}

Result toText(const Element& e, const Conversion& how) {
  switch (e.type()) {
    case Type::kBinary: {
      if (!how.format) return missingFormat(e, "string");
      TROUPE_ASSIGN(const auto converted, binaryToText(e.asBinary(), *how.format));
      Operand result(text(converted));
      const Status fits = checkStringSize(result.element());
      if (!fits.isOK() && *how.format == BinaryFormat::kUtf8) return fits;
      if (!fits.isOK()) return failure("The text of the binary data would be 16 MiB or more" + std::string(kNoOnError));
      return result;
    }
    case Type::kCode: return unsupported(e, Type::kString);
    case Type::kBool: return Operand(text(e.asBool() ? "true" : "false"));
    case Type::kObjectId: return Operand(text(e.asObjectId().toString()));
    case Type::kTimestamp: return unsupported(e, Type::kString);
    default: break;
  }
  const auto s = coerceToString(e);
  if (!s.isOK()) return unsupported(e, Type::kString);
  return Operand(text(*s));
}

Result toDateValue(const Element& e) {
  if (const auto instant = instantOf(e)) return Operand(date(*instant));
  if (e.is(Type::kString)) {
    TROUPE_ASSIGN(const int64_t v, parseIsoDate(e.asString(), std::nullopt));
    return Operand(date(v));
  }
  if (!e.isNumber() || e.is(Type::kInt32)) return unsupported(e, Type::kDate);
  TROUPE_ASSIGN(const int64_t v, integerOf<int64_t>(e, Type::kInt64));
  return Operand(date(v));
}

Result toObjectIdValue(const Element& e) {
  if (e.is(Type::kObjectId)) return Operand(bson::Value(e));
  if (!e.is(Type::kString)) return unsupported(e, Type::kObjectId);
  const std::string_view s = e.asString();
  bson::ObjectId id;
  const auto bad = [&] {
    return failure("Failed to parse objectId '" + shortened(s) + "'" + kNoOnError +
                   ": Invalid string length for parsing to OID, expected 24 but found " + std::to_string(s.size()));
  };
  if (s.size() != 24) return bad();
  for (size_t i = 0; i < 12; ++i) {
    const auto [at, error] = std::from_chars(s.data() + 2 * i, s.data() + 2 * i + 2, id.bytes[i], 16);
    if (error != std::errc() || at != s.data() + 2 * i + 2)
      return failure("Failed to parse objectId '" + shortened(s) + "'" + kNoOnError +
                     ": Invalid character found in hex string");
  }
  return Operand(bson::Value(id));
}

Result convertTo(const Element& e, const Conversion& how) {
  const Type to = how.to;
  switch (to) {
    case Type::kDouble: return toDoubleValue(e, how.bigEndian);
    case Type::kString: return toText(e, how);
    case Type::kBinary: return toBinary(e, how);
    case Type::kObjectId: return toObjectIdValue(e);
    case Type::kBool:
      if (e.isNumber() || e.is(Type::kBool)) return Operand(boolean(isTrue(e)));
      return Operand(boolean(true));
    case Type::kDate: return toDateValue(e);
    case Type::kInt32: {
      TROUPE_ASSIGN(const int32_t v, integerOf<int32_t>(e, to, how.bigEndian));
      return Operand(int32(v));
    }
    case Type::kInt64: {
      TROUPE_ASSIGN(const int64_t v, integerOf<int64_t>(e, to, how.bigEndian));
      return Operand(int64(v));
    }
    case Type::kDecimal128: return toDecimalValue(e);
    default: return unsupported(e, to);
  }
}

constexpr struct {
  std::string_view name;
  Type type;
} kTypes[] = {
    {"double", Type::kDouble},      {"string", Type::kString},       {"object", Type::kDocument},
    {"array", Type::kArray},        {"binData", Type::kBinary},      {"undefined", Type::kUndefined},
    {"objectId", Type::kObjectId},  {"bool", Type::kBool},           {"date", Type::kDate},
    {"null", Type::kNull},          {"regex", Type::kRegex},         {"dbPointer", Type::kDBPointer},
    {"javascript", Type::kCode},    {"symbol", Type::kSymbol},       {"javascriptWithScope", Type::kCodeWithScope},
    {"int", Type::kInt32},          {"timestamp", Type::kTimestamp}, {"long", Type::kInt64},
    {"decimal", Type::kDecimal128}, {"minKey", Type::kMinKey},       {"maxKey", Type::kMaxKey}};

StatusWith<Type> targetType(const Element& e) {
  if (e.is(Type::kString)) {
    for (const auto& [name, type] : kTypes)
      if (name == e.asString()) return type;
    return Status(ErrorCode::kBadValue, "Unknown type name: " + shortened(e.asString()));
  }
  if (!e.isNumber())
    return Status(ErrorCode::kFailedToParse,
                  "$convert's 'to' argument must be a string or number, but is " + typeOf(e));
  const auto number = exactInt32(e);
  for (const auto& [name, type] : kTypes)
    if (number && *number == static_cast<int8_t>(type)) return type;  // minKey is -1
  if (number && *number == 0) return Type::kEnd;                      // "missing", which nothing converts to
  return Status(ErrorCode::kFailedToParse,
                "In $convert, numeric value for 'to' does not correspond to a BSON type: " + show(e));
}

constexpr NamedArgument kConvertArguments[] = {{"input", true}, {"to", true}, {"onError"},
                                               {"onNull"},      {"format"},   {"byteOrder"}};

/// `to`: a type, or `{type, subtype}`.
Status readTarget(const Element& to, Conversion& how) {
  Element type = to;
  if (to.is(Type::kDocument)) {
    type = to.asDocument()["type"];
    for (const Element& field : to.asDocument()) {
      if (field.name() == "type") continue;
      if (field.name() != "subtype")
        return {ErrorCode::kFailedToParse, "$convert found an unknown argument in 'to': " + std::string(field.name())};
      TROUPE_ASSIGN(how.subtype, binarySubtype(field));
    }
    if (!type.ok()) return {ErrorCode::kFailedToParse, "Missing 'to.type' parameter to $convert"};
  }
  TROUPE_ASSIGN(how.to, targetType(type));
  return Status::OK();
}

Result convert(Arguments& arguments, const Operator&) {
  if (arguments[1].isNullish()) return Operand(nullValue());
  Conversion how{.to = Type::kNull};
  TROUPE_TRY(readTarget(arguments[1], how));
  TROUPE_ASSIGN(how.format, binaryFormat(arguments[4]));
  TROUPE_ASSIGN(how.bigEndian, isBigEndian(arguments[5]));
  if (arguments[0].isNullish()) return arguments.given(3) ? Operand(arguments.at(3).copy()) : Operand(nullValue());
  auto result = convertTo(arguments[0], how);
  if (result.status() == ErrorCode::kConversionFailure && arguments.given(2)) return Operand(arguments.at(2).copy());
  return result;
}

template <Type To>
Result shortConvert(Arguments& arguments, const Operator&) {
  return convertTo(arguments[0], {.to = To, .format = BinaryFormat::kAuto});
}

Result toUuid(Arguments& arguments, const Operator&) {
  return convertTo(arguments[0], {.to = Type::kBinary, .subtype = bson::kBinaryUuid, .format = BinaryFormat::kUuid});
}

Result type(Arguments& arguments, const Operator&) { return Operand(text(bson::typeName(arguments[0].type()))); }
Result isNumber(Arguments& arguments, const Operator&) { return Operand(boolean(arguments[0].isNumber())); }

constexpr Operator unary(std::string_view name, Function function) {
  return {.name = name, .minArity = 1, .maxArity = 1, .function = function};
}

constexpr Operator conversion(std::string_view name, Function function) {
  return {
      .name = name, .minArity = 1, .maxArity = 1, .function = function, .nullIfNull = true, .errors = {.arity = 50723}};
}

constexpr Operator kTypesOperators[] = {
    unary("$type", type),
    unary("$isNumber", isNumber),
    {.name = "$convert", .function = convert, .named = kConvertArguments},
    conversion("$toInt", shortConvert<Type::kInt32>),
    conversion("$toLong", shortConvert<Type::kInt64>),
    conversion("$toDouble", shortConvert<Type::kDouble>),
    conversion("$toDecimal", shortConvert<Type::kDecimal128>),
    conversion("$toString", shortConvert<Type::kString>),
    conversion("$toBool", shortConvert<Type::kBool>),
    conversion("$toDate", shortConvert<Type::kDate>),
    conversion("$toObjectId", shortConvert<Type::kObjectId>),
    conversion("$toUUID", toUuid),
};

}  // namespace

std::span<const Operator> typeOperators() { return kTypesOperators; }

}  // namespace troupe::query
