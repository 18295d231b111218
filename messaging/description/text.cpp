#include "messaging/description/text.hpp"

#include <algorithm>
#include <charconv>

#include "messaging/bson/decimal.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/validate.hpp"

namespace troupe::machines {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool isPlain(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:@").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

void appendHex(std::string& out, char c) {
  const auto byte = static_cast<uint8_t>(c);
  out.push_back(kHexDigits[byte >> 4]);
  out.push_back(kHexDigits[byte & 15]);
}

void appendQuoted(std::string& out, std::string_view text) {
  if (isPlain(text)) {
    out.append(text);
    return;
  }
  const bool utf8 = bson::isUtf8(text);
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.append(1, '\\').push_back(c);
    else if (c == '\n') out.append("\\n");
    else if (c == '\t') out.append("\\t");
    else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F || (!utf8 && static_cast<uint8_t>(c) >= 0x80))
      appendHex(out.append("\\x"), c);
    else out.push_back(c);
  }
  out.push_back('"');
}

template <class T>
void appendNumber(std::string& out, T number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

/// Writes a comma before every item but the first.
struct Separator {
  std::string& out;
  bool first = true;
  void next() {
    if (!first) out.append(", ");
    first = false;
  }
};

class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) {}
  void value(const ValueType& type, const void* value);

 private:
  class Fields;
  void structure(const StructType& type, const void* value);
  void plain(Kind kind, const void* value);
  void status(const Status& status);

  std::string& out_;
  int depth_ = 0;
};

class TextWriter::Fields final : public FieldSink {
 public:
  Fields(TextWriter& writer, std::string& out) : writer_(writer), out_(out) {}
  bool any() const { return any_; }
  void field(const char* name, const ValueType& type, const void* value) override {
    if (type.kind == Kind::kOptional && !static_cast<const OptionalType&>(type).get(value)) return;
    if (type.kind == Kind::kValue && !detail::as<bson::Value>(value).ok()) return;
    out_.append(any_ ? ", " : "{").append(name).push_back('=');
    any_ = true;
    writer_.value(type, value);
  }

 private:
  TextWriter& writer_;
  std::string& out_;
  bool any_ = false;
};

void TextWriter::structure(const StructType& type, const void* value) {
  out_.append(type.name);
  if (depth_ >= kMaxValueDepth) {
    out_.append("{...}");
    return;
  }
  ++depth_;
  Fields fields(*this, out_);
  SaveArchive archive(fields);
  type.save(archive, value);
  if (fields.any()) out_.push_back('}');
  --depth_;
}

void TextWriter::status(const Status& status) {
  out_.append(errorName(status.code()));
  if (status.isOK()) return;
  out_.append("(");
  appendQuoted(out_, status.reason());
  if (status.extra()) out_.append(", ").append(bson::toRelaxedJson(*status.extra()));
  out_.append(")");
}

void TextWriter::plain(Kind kind, const void* value) {
  using detail::as;
  switch (kind) {
    case Kind::kBool: out_.append(as<bool>(value) ? "true" : "false"); break;
    case Kind::kString: appendQuoted(out_, as<std::string>(value)); break;
    case Kind::kBytes:
      out_.append("0x");
      for (const uint8_t byte : as<std::vector<uint8_t>>(value)) appendHex(out_, static_cast<char>(byte));
      break;
    case Kind::kUuid: out_.append(as<bson::Uuid>(value).toString()); break;
    case Kind::kObjectId: out_.append(as<bson::ObjectId>(value).toString()); break;
    case Kind::kTimestamp:
      appendNumber(out_, as<bson::Timestamp>(value).seconds);
      out_.push_back('+');
      appendNumber(out_, as<bson::Timestamp>(value).increment);
      break;
    case Kind::kDate:
      appendNumber(out_, as<bson::Date>(value).millis);
      out_.append("ms");
      break;
    case Kind::kDecimal: out_.append(bson::toString(as<bson::Decimal128>(value))); break;
    case Kind::kStatus: status(as<Status>(value)); break;
    case Kind::kDocument: out_.append(bson::toRelaxedJson(as<bson::Document>(value))); break;
    default:  // kValue
      if (as<bson::Value>(value).ok()) out_.append(bson::toRelaxedJson(as<bson::Value>(value).element()));
      else out_.append("none");
  }
}

void TextWriter::value(const ValueType& type, const void* value) {
  Separator separator{out_};
  switch (type.kind) {
    case Kind::kInteger: {
      const auto& integer = static_cast<const IntegerType&>(type);
      const uint64_t bits = integerOf(integer, value);
      if (integer.isSigned) appendNumber(out_, static_cast<int64_t>(bits));
      else appendNumber(out_, bits);
      return;
    }
    case Kind::kDouble: {
      const auto& real = static_cast<const DoubleType&>(type);
      if (real.isFloat) appendNumber(out_, *static_cast<const float*>(value));
      else appendNumber(out_, *static_cast<const double*>(value));
      return;
    }
    case Kind::kEnum: appendQuoted(out_, enumNameOf(static_cast<const EnumType&>(type), value)); return;
    case Kind::kOptional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      const void* held = optional.get(value);
      if (held) this->value(optional.element(), held);
      else out_.append("none");
      return;
    }
    case Kind::kList: {
      const auto& list = static_cast<const ListType&>(type);
      out_.push_back('[');
      list.each(value, [&](const void* element) {
        separator.next();
        this->value(list.element(), element);
      });
      out_.push_back(']');
      return;
    }
    case Kind::kMap: {
      const auto& map = static_cast<const MapType&>(type);
      out_.push_back('{');
      map.each(value, [&](const std::string& key, const void* element) {
        separator.next();
        appendQuoted(out_, key);
        out_.push_back('=');
        this->value(map.element(), element);
      });
      out_.push_back('}');
      return;
    }
    case Kind::kVariant: {
      const auto& variant = static_cast<const VariantType&>(type);
      return structure(variant.alternative(variant.index(value)), variant.get(value));
    }
    case Kind::kStruct: return structure(static_cast<const StructType&>(type), value);
    default: return plain(type.kind, value);
  }
}

}  // namespace

void detail::appendText(std::string& out, const ValueType& type, const void* value) {
  TextWriter(out).value(type, value);
}

std::string quotedText(std::string_view text) {
  std::string out;
  appendQuoted(out, text);
  return out;
}

}  // namespace troupe::machines
