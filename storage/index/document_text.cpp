#include "storage/index/document_text.hpp"

#include <cmath>
#include <cstdio>

#include "messaging/bson/json.hpp"

namespace troupe::storage {
namespace {

using bson::Element;
using bson::Type;

void appendQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += '"';
}

void appendDouble(std::string& out, double v) {
  if (std::isnan(v)) {
    out += "nan.0";
    return;
  }
  if (std::isinf(v)) {
    out += v < 0 ? "-inf.0" : "inf.0";
    return;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.16g", v);
  out += text;
  if (out.find_first_of(".e", out.size() - std::char_traits<char>::length(text)) == std::string::npos) out += ".0";
}

void appendBinary(std::string& out, const bson::Binary& binary) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  if (binary.subtype == bson::kBinaryUuid && binary.bytes.size() == 16) {
    bson::Uuid uuid;
    std::memcpy(uuid.bytes.data(), binary.bytes.data(), 16);
    out += "UUID(\"" + uuid.toString() + "\")";
    return;
  }
  out += "BinData(" + std::to_string(binary.subtype) + ", ";
  for (const char c : binary.bytes) {
    out += kHex[static_cast<uint8_t>(c) >> 4];
    out += kHex[c & 15];
  }
  out += ')';
}

void appendDocument(std::string& out, bson::View document, bool array);

void appendValue(std::string& out, const Element& e) {
  switch (e.type()) {
    case Type::kDouble: appendDouble(out, e.asDouble()); return;
    case Type::kString:
    case Type::kSymbol: appendQuoted(out, e.asString()); return;
    case Type::kDocument: appendDocument(out, e.asDocument(), false); return;
    case Type::kArray: appendDocument(out, e.asArray(), true); return;
    case Type::kBinary: appendBinary(out, e.asBinary()); return;
    case Type::kUndefined: out += "undefined"; return;
    case Type::kObjectId: out += "ObjectId('" + e.asObjectId().toString() + "')"; return;
    case Type::kBool: out += e.asBool() ? "true" : "false"; return;
    case Type::kDate: out += "new Date(" + std::to_string(e.asDate().millis) + ")"; return;
    case Type::kNull: out += "null"; return;
    case Type::kInt32: out += std::to_string(e.asInt32()); return;
    case Type::kInt64: out += std::to_string(e.asInt64()); return;
    case Type::kTimestamp:
      out += "Timestamp(" + std::to_string(e.asTimestamp().seconds) + ", " + std::to_string(e.asTimestamp().increment) +
             ")";
      return;
    case Type::kRegex: (out += '/').append(e.asRegex().pattern).append("/").append(e.asRegex().options); return;
    case Type::kMinKey: out += "MinKey"; return;
    case Type::kMaxKey: out += "MaxKey"; return;
    default: out += bson::toRelaxedJson(e); return;
  }
}

void appendDocument(std::string& out, bson::View document, bool array) {
  if (document.empty()) {
    out += array ? "[]" : "{}";
    return;
  }
  out += array ? "[ " : "{ ";
  bool first = true;
  for (const auto& e : document) {
    if (!first) out += ", ";
    first = false;
    if (!array) out.append(e.name()).append(": ");
    appendValue(out, e);
  }
  out += array ? " ]" : " }";
}

}  // namespace

std::string documentText(bson::View document) {
  std::string out;
  appendDocument(out, document, false);
  return out;
}

}  // namespace troupe::storage
