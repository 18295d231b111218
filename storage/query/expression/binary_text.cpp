#include "storage/query/expression/binary_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "messaging/auth/crypto.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/query/expression/values.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;

namespace {

constexpr struct {
  std::string_view name;
  BinaryFormat format;
} kFormats[] = {
    {"auto", BinaryFormat::kAuto}, {"base64", BinaryFormat::kBase64}, {"base64url", BinaryFormat::kBase64Url},
    {"utf8", BinaryFormat::kUtf8}, {"hex", BinaryFormat::kHex},       {"uuid", BinaryFormat::kUuid}};

Status failure(std::string reason) {
  return {ErrorCode::kConversionFailure, std::move(reason) + " in $convert with no onError value"};
}

BinaryFormat resolved(BinaryFormat format, uint8_t subtype) {
  if (format != BinaryFormat::kAuto) return format;
  return subtype == bson::kBinaryUuid ? BinaryFormat::kUuid : BinaryFormat::kBase64;
}

std::string toHexDigits(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    text.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    text.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
  return text;
}

std::optional<std::string> fromHexDigits(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes(text.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint8_t byte = 0;
    const char* end = text.data() + 2 * i + 2;
    const auto [at, error] = std::from_chars(text.data() + 2 * i, end, byte, 16);
    if (error != std::errc() || at != end) return std::nullopt;
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

std::optional<std::string> bytesOf(std::string_view text, BinaryFormat format) {
  switch (format) {
    case BinaryFormat::kUtf8: return std::string(text);
    case BinaryFormat::kHex: return fromHexDigits(text);
    case BinaryFormat::kUuid: {
      const auto id = bson::Uuid::fromString(text);
      if (!id) return std::nullopt;
      return std::string(reinterpret_cast<const char*>(id->bytes.data()), id->bytes.size());
    }
    default: break;
  }
  std::string padded(text);
  if (format == BinaryFormat::kBase64Url) {
    if (text.find_first_of("+/") != std::string_view::npos) return std::nullopt;
    std::replace(padded.begin(), padded.end(), '-', '+');
    std::replace(padded.begin(), padded.end(), '_', '/');
    padded.append((4 - padded.size() % 4) % 4, '=');
  }
  auto bytes = auth::fromBase64(padded);
  return bytes.isOK() ? std::optional(std::move(*bytes)) : std::nullopt;
}

std::string inOrder(std::string_view bytes, bool bigEndian) {
  std::string ordered(bytes);
  if (bigEndian) std::reverse(ordered.begin(), ordered.end());
  return ordered;
}

}  // namespace

StatusWith<std::optional<BinaryFormat>> binaryFormat(const Element& e) {
  if (e.isNullish()) return std::optional<BinaryFormat>();
  if (!e.is(Type::kString))
    return Status(ErrorCode(4341114), "$convert requires that 'format' be a string, found: " + typeOf(e));
  for (const auto& [name, format] : kFormats)
    if (name == e.asString()) return std::optional(format);
  return Status(ErrorCode(4341125),
                "$convert's 'format' must be auto, base64, base64url, utf8, hex or uuid, found: " + show(e));
}

StatusWith<bool> isBigEndian(const Element& e) {
  if (e.isNullish()) return false;
  if (!e.is(Type::kString))
    return Status(ErrorCode(9130001), "$convert requires that 'byteOrder' be a string, found: " + typeOf(e));
  if (e.asString() != "big" && e.asString() != "little")
    return Status(ErrorCode(9130002), "$convert's 'byteOrder' must be little or big, found: " + show(e));
  return e.asString() == "big";
}

StatusWith<uint8_t> binarySubtype(const Element& e) {
  if (!e.isNumber())
    return Status(ErrorCode(4341108), "$convert requires that 'subtype' be a number, found: " + typeOf(e));
  const auto number = exactInt64(e);
  if (!number) return Status(ErrorCode(4341106), "$convert's 'subtype' must be an integer, found: " + show(e));
  constexpr int64_t kLastOfSpecification = 9, kFirstOfUsers = 128;
  if (*number < 0 || *number > 255 || (*number > kLastOfSpecification && *number < kFirstOfUsers))
    return Status(ErrorCode(4341107), "$convert's 'subtype' is not a subtype of binary data: " + show(e));
  return static_cast<uint8_t>(*number);
}

StatusWith<std::string> binaryToText(const bson::Binary& binary, BinaryFormat format) {
  switch (resolved(format, binary.subtype)) {
    case BinaryFormat::kUtf8:
      if (!bson::isUtf8(binary.bytes)) return failure("binary data that is not valid UTF-8 cannot become a string");
      return std::string(binary.bytes);
    case BinaryFormat::kHex: return toHexDigits(binary.bytes);
    case BinaryFormat::kUuid: {
      bson::Uuid id;
      if (binary.subtype != bson::kBinaryUuid || binary.bytes.size() != id.bytes.size())
        return failure("binary data that is not a UUID of subtype 4 has no format 'uuid'");
      std::memcpy(id.bytes.data(), binary.bytes.data(), id.bytes.size());
      return id.toString();
    }
    default: break;
  }
  std::string text = auth::toBase64(binary.bytes);
  if (format != BinaryFormat::kBase64Url) return text;
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

bson::Value binaryValue(std::string_view bytes, uint8_t subtype) {
  std::string value;
  const auto size = static_cast<int32_t>(bytes.size());
  value.append(reinterpret_cast<const char*>(&size), sizeof size).push_back(static_cast<char>(subtype));
  return bson::Value::raw(Type::kBinary, value.append(bytes));
}

StatusWith<bson::Value> textToBinary(std::string_view text, BinaryFormat format, uint8_t subtype) {
  format = resolved(format, subtype);
  if (format == BinaryFormat::kUuid && subtype != bson::kBinaryUuid)
    return failure("format 'uuid' makes binary data of subtype 4 only, not of subtype " + std::to_string(subtype));
  const auto bytes = bytesOf(text, format);
  if (!bytes) return failure("Failed to parse BinData '" + shortened(text) + "'");
  return binaryValue(*bytes, subtype);
}

std::optional<int64_t> integerFromBytes(std::string_view bytes, size_t most, bool bigEndian) {
  if (!std::has_single_bit(bytes.size()) || bytes.size() > most) return std::nullopt;
  const std::string little = inOrder(bytes, bigEndian);
  switch (little.size()) {
    case 1: return bson::load<int8_t>(little.data());
    case 2: return bson::load<int16_t>(little.data());
    case 4: return bson::load<int32_t>(little.data());
    default: return bson::load<int64_t>(little.data());
  }
}

std::optional<double> doubleFromBytes(std::string_view bytes, bool bigEndian) {
  const std::string little = inOrder(bytes, bigEndian);
  if (bytes.size() == sizeof(float)) return bson::load<float>(little.data());
  if (bytes.size() == sizeof(double)) return bson::load<double>(little.data());
  return std::nullopt;
}

}  // namespace troupe::query
