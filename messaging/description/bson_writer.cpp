#include <charconv>
#include <limits>
#include <stdexcept>

#include "messaging/bson/decimal.hpp"
#include "messaging/description/bson_archive.hpp"
#include "messaging/description/bson_names.hpp"

namespace troupe::machines {
namespace {

using bson::Builder;

void writeStruct(Builder& out, const StructType& type, const void* value, const UnknownFields* unknown, int depth,
                 std::string_view variantName = {});
void writeValue(Builder& out, std::string_view name, const ValueType& type, const void* value,
                const UnknownFields* unknown, int depth, bool inContainer);

const UnknownFields* nestedIn(const UnknownFields* unknown, std::string_view name) {
  if (!unknown) return nullptr;
  for (const UnknownFields& nested : unknown->nested) {
    if (nested.name == name) return &nested;
  }
  return nullptr;
}

/// Writes the fields of one struct into the document that is open.
class StructWriter final : public FieldSink {
 public:
  StructWriter(Builder& out, const StructType& type, const UnknownFields* unknown, int depth)
      : out_(out), type_(type), unknown_(unknown), depth_(depth) {}

  void field(const char* name, const ValueType& type, const void* value) override {
    const std::string_view shown = documentName(name);
    if (versionPending_ && shown != "_id") writeVersion();
    if (type_.version > 0 && shown == kVersionField) {
      throw std::logic_error(std::string(type_.subject) + ": the field `version` is the archive's");
    }
    if (unknown_) written_.push_back(shown);
    writeValue(out_, shown, type, value, nestedIn(unknown_, shown), depth_, false);
    if (versionPending_) writeVersion();
  }

  void finish(std::string_view variantName) {
    if (versionPending_) writeVersion();
    if (!unknown_) return;
    for (const bson::Element& e : unknown_->fields.view()) {
      bool taken = (type_.version > 0 && e.name() == kVersionField) || (!variantName.empty() && e.name() == kTypeField);
      for (const std::string_view name : written_) taken = taken || name == e.name();
      if (!taken) out_.append(e);
    }
  }

 private:
  void writeVersion() {
    versionPending_ = false;
    if (type_.version > 0) out_.append(kVersionField, static_cast<int32_t>(type_.version));
  }

  Builder& out_;
  const StructType& type_;
  const UnknownFields* unknown_;
  const int depth_;
  bool versionPending_ = true;
  std::vector<std::string_view> written_;
};

void writeStruct(Builder& out, const StructType& type, const void* value, const UnknownFields* unknown, int depth,
                 std::string_view variantName) {
  if (depth > kMaxValueDepth) throw std::length_error(std::string(type.subject) + ": nested too deep to be written");
  if (!variantName.empty()) out.append(kTypeField, variantName);
  StructWriter writer(out, type, unknown, depth);
  SaveArchive archive(writer);
  type.save(archive, value);
  writer.finish(variantName);
}

void writeVariant(Builder& out, const VariantType& type, const void* value, const UnknownFields* unknown, int depth) {
  const StructType& held = type.alternative(type.index(value));
  if (unknown && unknown->type != held.name) unknown = nullptr;
  writeStruct(out, held, type.get(value), unknown, depth, held.name);
}

void writeInteger(Builder& out, std::string_view name, const IntegerType& type, const void* value) {
  const uint64_t bits = integerOf(type, value);
  if (!type.isSigned && bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    out.append(name, bson::fromParts({.negative = false, .high = 0, .low = bits, .exponent = 0}));
  } else if (type.bytes < 4 || (type.bytes == 4 && type.isSigned)) {
    out.append(name, static_cast<int32_t>(bits));
  } else {
    out.append(name, static_cast<int64_t>(bits));
  }
}

void writeStatus(Builder& out, std::string_view name, const Status& status) {
  out.openDocument(name).append("code", static_cast<int32_t>(status.code()));
  if (!status.isOK()) {
    out.append("codeName", errorName(status.code())).append("errmsg", status.reason());
    if (status.extra()) out.append("extra", *status.extra());
  }
  out.close();
}

/// The kept unknown fields of a list's element, found by its `_id`, else by its place.
const UnknownFields* unknownOfElement(const UnknownFields* unknown, const ValueType& type, const void* element,
                                      std::string_view place, bool sameSize, int depth) {
  if (!unknown || (type.kind != Kind::kStruct && type.kind != Kind::kVariant))
    return sameSize ? nestedIn(unknown, place) : nullptr;
  Builder alone;
  writeValue(alone, "", type, element, nullptr, depth, true);
  const bson::Document document = alone.finish();
  const bson::Element id = document.view().first().asDocument()["_id"];
  for (const UnknownFields& nested : unknown->nested) {
    const bool same = id.ok()
                          ? nested.id.ok() && nested.id.type() == id.type() && nested.id.valueBytes() == id.valueBytes()
                          : sameSize && !nested.id.ok() && nested.name == place;
    if (same) return &nested;
  }
  return nullptr;
}

void writeList(Builder& out, std::string_view name, const ListType& type, const void* value,
               const UnknownFields* unknown, int depth) {
  const ValueType& element = type.element();
  const bool sameSize = unknown && !type.isSet && unknown->listSize == type.size(value);
  size_t next = 0;
  out.openArray(name);
  const auto writeElement = [&](const void* item) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, next++).ptr;
    const std::string_view place(digits, static_cast<size_t>(end - digits));
    const UnknownFields* nested = unknownOfElement(unknown, element, item, place, sameSize, depth + 1);
    writeValue(out, place, element, item, nested, depth + 1, true);
  };
  type.each(value, writeElement);
  out.close();
}

void writeMap(Builder& out, std::string_view name, const MapType& type, const void* value, const UnknownFields* unknown,
              int depth) {
  out.openDocument(name);
  const auto writeEntry = [&](const std::string& key, const void* item) {
    requireKey(key);
    writeValue(out, key, type.element(), item, nestedIn(unknown, key), depth + 1, true);
  };
  type.each(value, writeEntry);
  out.close();
}

void writePlain(Builder& out, std::string_view name, Kind kind, const void* value, bool inContainer) {
  using detail::as;
  switch (kind) {
    case Kind::kBool: out.append(name, as<bool>(value)); break;
    case Kind::kString: out.append(name, as<std::string>(value)); break;
    case Kind::kBytes: {
      const auto& bytes = as<std::vector<uint8_t>>(value);
      out.append(name, bson::Binary{bson::kBinaryGeneric, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
      break;
    }
    case Kind::kUuid: out.append(name, as<bson::Uuid>(value)); break;
    case Kind::kObjectId: out.append(name, as<bson::ObjectId>(value)); break;
    case Kind::kTimestamp: out.append(name, as<bson::Timestamp>(value)); break;
    case Kind::kDate: out.append(name, as<bson::Date>(value)); break;
    case Kind::kDecimal: out.append(name, as<bson::Decimal128>(value)); break;
    case Kind::kStatus: writeStatus(out, name, as<Status>(value)); break;
    case Kind::kDocument: out.append(name, as<bson::Document>(value)); break;
    default:  // kValue
      if (as<bson::Value>(value).ok()) out.append(name, as<bson::Value>(value));
      else if (inContainer) out.append(name, bson::Undefined{});
  }
}

void writeValue(Builder& out, std::string_view name, const ValueType& type, const void* value,
                const UnknownFields* unknown, int depth, bool inContainer) {
  switch (type.kind) {
    case Kind::kInteger: return writeInteger(out, name, static_cast<const IntegerType&>(type), value);
    case Kind::kDouble: out.append(name, doubleOf(static_cast<const DoubleType&>(type), value)); return;
    case Kind::kEnum: out.append(name, enumNameOf(static_cast<const EnumType&>(type), value)); return;
    case Kind::kOptional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      const void* held = optional.get(value);
      if (held) writeValue(out, name, optional.element(), held, unknown, depth, inContainer);
      else if (inContainer) out.append(name, bson::Null{});
      return;
    }
    case Kind::kList: return writeList(out, name, static_cast<const ListType&>(type), value, unknown, depth);
    case Kind::kMap: return writeMap(out, name, static_cast<const MapType&>(type), value, unknown, depth);
    case Kind::kVariant:
      out.openDocument(name);
      writeVariant(out, static_cast<const VariantType&>(type), value, unknown, depth + 1);
      out.close();
      return;
    case Kind::kStruct:
      out.openDocument(name);
      writeStruct(out, static_cast<const StructType&>(type), value, unknown, depth + 1);
      out.close();
      return;
    default: return writePlain(out, name, type.kind, value, inContainer);
  }
}

}  // namespace

bson::Document detail::writeBson(const ValueType& type, const void* value, const UnknownFields* unknown) {
  if (unknown && unknown->empty()) unknown = nullptr;
  Builder out;
  if (type.kind == Kind::kVariant) writeVariant(out, static_cast<const VariantType&>(type), value, unknown, 0);
  else writeStruct(out, static_cast<const StructType&>(type), value, unknown, 0);
  return out.finish();
}

void detail::writeBsonField(Builder& out, const char* name, const ValueType& type, const void* value) {
  writeValue(out, documentName(name), type, value, nullptr, 0, false);
}

}  // namespace troupe::machines
