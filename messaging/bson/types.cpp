#include "messaging/bson/types.hpp"

#include <utility>

namespace troupe::bson {
namespace {

constexpr std::pair<Type, std::string_view> kTypeNames[] = {
    {Type::kEnd, "missing"},         {Type::kDouble, "double"},
    {Type::kString, "string"},       {Type::kDocument, "object"},
    {Type::kArray, "array"},         {Type::kBinary, "binData"},
    {Type::kUndefined, "undefined"}, {Type::kObjectId, "objectId"},
    {Type::kBool, "bool"},           {Type::kDate, "date"},
    {Type::kNull, "null"},           {Type::kRegex, "regex"},
    {Type::kDBPointer, "dbPointer"}, {Type::kCode, "javascript"},
    {Type::kSymbol, "symbol"},       {Type::kCodeWithScope, "javascriptWithScope"},
    {Type::kInt32, "int"},           {Type::kTimestamp, "timestamp"},
    {Type::kInt64, "long"},          {Type::kDecimal128, "decimal"},
    {Type::kMaxKey, "maxKey"},       {Type::kMinKey, "minKey"},
};

constexpr char kHexDigits[] = "0123456789abcdef";

void appendHex(std::string& out, uint8_t byte) {
  out.push_back(kHexDigits[byte >> 4]);
  out.push_back(kHexDigits[byte & 15]);
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool parseHex(std::string_view text, uint8_t* out) {
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = hexDigit(text[i]), low = hexDigit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    *out++ = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace

std::string_view typeName(Type type) {
  for (const auto& [t, name] : kTypeNames) {
    if (t == type) return name;
  }
  return "unknown";
}

std::optional<Type> typeFromName(std::string_view name) {
  for (const auto& [t, known] : kTypeNames) {
    if (known == name && t != Type::kEnd) return t;
  }
  return std::nullopt;
}

std::optional<Type> typeFromCode(int code) {
  if (code == -1) return Type::kMinKey;
  for (const auto& row : kTypeNames) {
    if (code > 0 && code < 128 && row.first == static_cast<Type>(code)) return row.first;
  }
  return std::nullopt;
}

std::string ObjectId::toString() const {
  std::string out;
  out.reserve(24);
  for (const uint8_t byte : bytes) appendHex(out, byte);
  return out;
}

std::optional<ObjectId> ObjectId::fromString(std::string_view text) {
  ObjectId id;
  if (text.size() != 24 || !parseHex(text, id.bytes.data())) return std::nullopt;
  return id;
}

std::string Uuid::toString() const {
  std::string out;
  out.reserve(36);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    appendHex(out, bytes[i]);
  }
  return out;
}

std::optional<Uuid> Uuid::fromString(std::string_view text) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return std::nullopt;
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i != 8 && i != 13 && i != 18 && i != 23) digits.push_back(text[i]);
  }
  Uuid uuid;
  if (!parseHex(digits, uuid.bytes.data())) return std::nullopt;
  return uuid;
}

}  // namespace troupe::bson
