#include "messaging/description/binary_archive.hpp"

#include <algorithm>

#include "messaging/bson/validate.hpp"
#include "messaging/description/depth_guard.hpp"
#include "messaging/description/read_position.hpp"
#include "messaging/wire/crc32c.hpp"

// A snapshot is: CRC-32C of all that follows (4 bytes), kFormat (1 byte), the type's name, the value. Numbers are
// written in groups of seven bits, the lowest first; signed ones are folded (0, -1, 1, -2 ...). Texts are a length and
// bytes.
namespace troupe::machines {
namespace {

using detail::as;

constexpr char kFormat = 1;
constexpr size_t kChecksumSize = 4;
constexpr std::string_view kVariantName = "variant";

std::string_view nameOf(const ValueType& type) {
  return type.kind == Kind::kStruct ? static_cast<const StructType&>(type).name : kVariantName;
}

class BinaryWriter final : public FieldSink {
 public:
  explicit BinaryWriter(std::string& out) : out_(out) {}
  void field(const char*, const ValueType& type, const void* value) override { this->value(type, value); }

  void number(uint64_t n) {
    for (; n >= 0x80; n >>= 7) out_.push_back(static_cast<char>(n | 0x80));
    out_.push_back(static_cast<char>(n));
  }
  void folded(int64_t n) { number((static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63)); }
  void text(std::string_view bytes) {
    number(bytes.size());
    out_.append(bytes);
  }

  void value(const ValueType& type, const void* value);

 private:
  template <class T>
  void bits(const T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  /// A name is written once; later it is its number.
  void name(std::string_view name) {
    const auto known = std::find(names_.begin(), names_.end(), name);
    number(static_cast<uint64_t>(known - names_.begin()));
    if (known != names_.end()) return;
    text(name);
    names_.push_back(name);
  }
  void structure(const StructType& type, const void* value);
  void plain(Kind kind, const void* value);

  std::string& out_;
  std::vector<std::string_view> names_;
  int depth_ = 0;
};

void BinaryWriter::structure(const StructType& type, const void* value) {
  const DepthGuard deeper(depth_);
  number(type.version);
  SaveArchive archive(*this);
  type.save(archive, value);
}

void BinaryWriter::plain(Kind kind, const void* value) {
  switch (kind) {
    case Kind::kBool: out_.push_back(as<bool>(value) ? 1 : 0); break;
    case Kind::kString: text(as<std::string>(value)); break;
    case Kind::kBytes: {
      const auto& bytes = as<std::vector<uint8_t>>(value);
      text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      break;
    }
    case Kind::kUuid: bits(as<bson::Uuid>(value).bytes); break;
    case Kind::kObjectId: bits(as<bson::ObjectId>(value).bytes); break;
    case Kind::kTimestamp: bits(as<bson::Timestamp>(value).asUint64()); break;
    case Kind::kDate: folded(as<bson::Date>(value).millis); break;
    case Kind::kDecimal:
      bits(as<bson::Decimal128>(value).low);
      bits(as<bson::Decimal128>(value).high);
      break;
    case Kind::kStatus: {
      const auto& status = as<Status>(value);
      folded(static_cast<int64_t>(status.code()));
      if (status.isOK()) break;
      text(status.reason());
      text(status.extra() ? std::string_view(status.extra()->bytes()) : std::string_view());
      break;
    }
    case Kind::kDocument: text(as<bson::Document>(value).bytes()); break;
    default:  // kValue
      out_.push_back(static_cast<char>(as<bson::Value>(value).type()));
      text(as<bson::Value>(value).valueBytes());
  }
}

void BinaryWriter::value(const ValueType& type, const void* value) {
  switch (type.kind) {
    case Kind::kInteger: {
      const auto& integer = static_cast<const IntegerType&>(type);
      const uint64_t bits = integerOf(integer, value);
      return integer.isSigned ? folded(static_cast<int64_t>(bits)) : number(bits);
    }
    case Kind::kDouble: return bits(doubleOf(static_cast<const DoubleType&>(type), value));
    case Kind::kEnum: return name(enumNameOf(static_cast<const EnumType&>(type), value));
    case Kind::kOptional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      const void* held = optional.get(value);
      out_.push_back(held ? 1 : 0);
      if (held) this->value(optional.element(), held);
      return;
    }
    case Kind::kList: {
      const auto& list = static_cast<const ListType&>(type);
      const DepthGuard deeper(depth_);
      number(list.size(value));
      return list.each(value, [&](const void* element) { this->value(list.element(), element); });
    }
    case Kind::kMap: {
      const auto& map = static_cast<const MapType&>(type);
      const DepthGuard deeper(depth_);
      number(map.size(value));
      return map.each(value, [&](const std::string& key, const void* element) {
        requireKey(key);
        text(key);
        this->value(map.element(), element);
      });
    }
    case Kind::kVariant: {
      const auto& variant = static_cast<const VariantType&>(type);
      const StructType& held = variant.alternative(variant.index(value));
      name(held.name);
      return structure(held, variant.get(value));
    }
    case Kind::kStruct: return structure(static_cast<const StructType&>(type), value);
    default: return plain(type.kind, value);
  }
}

/// Every value takes at least one byte, so that a count is never larger than the bytes that are left.
class BinaryReader final : public FieldSource, public ReadPosition {
 public:
  BinaryReader(std::string_view subject, std::string_view bytes) : ReadPosition(subject), rest_(bytes) {}

  void field(const char* name, const ValueType& type, void* value) override {
    if (failed()) return;
    within(name, [&] { this->value(type, value); });
  }
  void value(const ValueType& type, void* value);
  std::string_view text() {
    const uint64_t size = number();
    if (size > rest_.size()) return damaged(), std::string_view();
    return take(size);
  }
  bool atEnd() const { return rest_.empty(); }
  void damaged() { fail(ErrorCode::kFailedToParse, "the snapshot is damaged here"); }

 private:
  std::string_view take(size_t size) {
    if (size > rest_.size()) {
      damaged();
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint64_t number() {
    uint64_t n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (byte.empty()) return 0;
      const auto bits = static_cast<uint8_t>(byte[0]);
      if (shift == 63 && bits > 1) break;
      n |= uint64_t{bits & 0x7Fu} << shift;
      if (bits < 0x80) return n;
    }
    damaged();
    return 0;
  }
  int64_t folded() {
    const uint64_t n = number();
    return static_cast<int64_t>((n >> 1) ^ (0 - (n & 1)));
  }
  /// A number from 0 to 1.
  bool flag() {
    const std::string_view byte = take(1);
    if (byte.empty() || static_cast<uint8_t>(byte[0]) > 1) damaged();
    return !byte.empty() && byte[0] == 1;
  }
  template <class T>
  T bits() {
    const std::string_view bytes = take(sizeof(T));
    return bytes.empty() ? T{} : bson::load<T>(bytes.data());
  }
  std::string_view name() {
    const uint64_t index = number();
    if (index > names_.size()) return damaged(), std::string_view();
    if (index == names_.size()) names_.push_back(text());
    return names_[index];
  }
  bson::Document document(std::string_view bytes) {
    const auto size = bson::validate(bytes);
    if (size.isOK() && static_cast<size_t>(*size) == bytes.size()) return bson::Document::adopt(std::string(bytes));
    damaged();
    return {};
  }
  bson::Value anyValue() {
    const std::string_view type = take(1);
    const std::string_view bytes = text();
    if (failed() || (type[0] == 0 && bytes.empty())) return {};
    bson::Builder b;
    b.appendRaw("", static_cast<bson::Type>(static_cast<uint8_t>(type[0])), bytes);
    const bson::Document whole = document(b.finish().bytes());
    const bson::Element element = whole.view().first();
    if (element.valueSize() != bytes.size()) damaged();  // it holds more than one element
    return failed() ? bson::Value() : bson::Value(element);
  }
  void structure(const StructType& type, void* value);
  void variant(const VariantType& type, void* value);
  void map(const MapType& type, void* value);
  void list(const ListType& type, void* value);
  void plain(Kind kind, void* value);
  void status(Status& value);

  std::string_view rest_;
  std::vector<std::string_view> names_;
};

void BinaryReader::structure(const StructType& type, void* value) {
  const uint64_t version = number();
  if (failed()) return;
  if (version > type.version) return newer(type, version);
  LoadArchive archive(*this);
  type.load(archive, value, static_cast<unsigned>(version));
}

void BinaryReader::variant(const VariantType& type, void* value) {
  const std::string_view held = name();
  for (size_t i = 0; i < type.count && !failed(); ++i) {
    const StructType& alternative = type.alternative(i);
    if (alternative.name != held) continue;
    setSubject(alternative.subject);
    return structure(alternative, type.emplace(value, i));
  }
  fail(ErrorCode::kFailedToParse, "unknown type '" + std::string(held) + "'");
}

void BinaryReader::list(const ListType& type, void* value) {
  type.clear(value);
  const uint64_t count = number();
  if (count > rest_.size()) return damaged();
  for (uint64_t i = 0; i < count && !failed(); ++i) {
    const auto fill = [&](void* element) { within("*", [&] { this->value(type.element(), element); }); };
    type.append(value, fill);
  }
}

void BinaryReader::map(const MapType& type, void* value) {
  type.clear(value);
  const uint64_t count = number();
  if (count > rest_.size()) return damaged();
  for (uint64_t i = 0; i < count && !failed(); ++i) {
    const std::string_view key = text();
    if (!isKey(key)) damaged();
    if (!failed()) within(key, [&] { this->value(type.element(), type.insert(value, key)); });
  }
}

void BinaryReader::status(Status& value) {
  const int64_t code = folded();
  if (code != static_cast<int32_t>(code)) return damaged();
  value = Status();
  if (code == 0) return;
  const std::string_view reason = text(), extra = text();
  if (failed()) return;
  const auto number = static_cast<ErrorCode>(code);
  value = extra.empty() ? Status(number, std::string(reason)) : Status(number, std::string(reason), document(extra));
}

void BinaryReader::plain(Kind kind, void* value) {
  switch (kind) {
    case Kind::kBool: as<bool>(value) = flag(); break;
    case Kind::kString: as<std::string>(value) = text(); break;
    case Kind::kBytes: {
      const std::string_view bytes = text();
      as<std::vector<uint8_t>>(value).assign(bytes.begin(), bytes.end());
      break;
    }
    case Kind::kUuid: as<bson::Uuid>(value) = bits<bson::Uuid>(); break;
    case Kind::kObjectId: as<bson::ObjectId>(value) = bits<bson::ObjectId>(); break;
    case Kind::kTimestamp: as<bson::Timestamp>(value) = bson::Timestamp::fromUint64(bits<uint64_t>()); break;
    case Kind::kDate: as<bson::Date>(value) = {folded()}; break;
    case Kind::kDecimal:
      as<bson::Decimal128>(value).low = bits<uint64_t>();
      as<bson::Decimal128>(value).high = bits<uint64_t>();
      break;
    case Kind::kStatus: status(as<Status>(value)); break;
    case Kind::kDocument: as<bson::Document>(value) = document(text()); break;
    default: as<bson::Value>(value) = anyValue();  // kValue
  }
}

void BinaryReader::value(const ValueType& type, void* value) {
  switch (type.kind) {
    case Kind::kInteger: {
      const auto& integer = static_cast<const IntegerType&>(type);
      const int64_t signedNumber = integer.isSigned ? folded() : 0;
      const uint64_t n = integer.isSigned ? static_cast<uint64_t>(signedNumber) : number();
      if (!setInteger(integer, value, n, signedNumber < 0)) damaged();
      return;
    }
    case Kind::kDouble: return setDouble(static_cast<const DoubleType&>(type), value, bits<double>());
    case Kind::kEnum: {
      const std::string_view known = name();
      if (failed() || static_cast<const EnumType&>(type).parse(value, known)) return;
      return fail(ErrorCode::kFailedToParse, "unknown name '" + std::string(known) + "'");
    }
    case Kind::kOptional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      if (!flag()) return optional.reset(value);
      return this->value(optional.element(), optional.emplace(value));
    }
    case Kind::kList: return list(static_cast<const ListType&>(type), value);
    case Kind::kMap: return map(static_cast<const MapType&>(type), value);
    case Kind::kVariant: return variant(static_cast<const VariantType&>(type), value);
    case Kind::kStruct: return structure(static_cast<const StructType&>(type), value);
    default: return plain(type.kind, value);
  }
}

}  // namespace

std::string detail::writeBinary(const ValueType& type, const void* value) {
  std::string out(kChecksumSize, '\0');
  out.push_back(kFormat);
  BinaryWriter writer(out);
  writer.text(nameOf(type));
  writer.value(type, value);
  const uint32_t checksum = wire::crc32c(std::string_view(out).substr(kChecksumSize));
  std::copy_n(reinterpret_cast<const char*>(&checksum), kChecksumSize, out.begin());
  return out;
}

Status detail::readBinary(std::string_view bytes, const ValueType& type, void* value) {
  const std::string subject(nameOf(type));
  if (bytes.size() > kMaxSnapshotSize) {
    return {ErrorCode::kInvalidLength,
            subject + ": a snapshot of " + std::to_string(bytes.size()) + " bytes is too large"};
  }
  if (bytes.size() <= kChecksumSize ||
      bson::load<uint32_t>(bytes.data()) != wire::crc32c(bytes.substr(kChecksumSize))) {
    return {ErrorCode::kChecksumMismatch, subject + ": the snapshot is damaged"};
  }
  if (bytes[kChecksumSize] != kFormat)
    return {ErrorCode::kUnsupportedFormat, subject + ": the snapshot has another format"};
  BinaryReader reader(type.kind == Kind::kStruct ? static_cast<const StructType&>(type).subject : kVariantName,
                      bytes.substr(kChecksumSize + 1));
  const std::string_view written = reader.text();
  if (!reader.failed() && written != subject) {
    return {ErrorCode::kTypeMismatch, "a snapshot of " + std::string(written) + " is not one of " + subject};
  }
  if (!reader.failed()) reader.value(type, value);
  if (!reader.atEnd()) reader.damaged();
  return reader.takeStatus();
}

}  // namespace troupe::machines
