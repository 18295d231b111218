#include <algorithm>
#include <cmath>
#include <limits>

#include "messaging/bson/decimal.hpp"
#include "messaging/description/bson_archive.hpp"
#include "messaging/description/bson_names.hpp"
#include "messaging/description/read_position.hpp"

namespace troupe::machines {
namespace {

using bson::Element;
using bson::Type;

/// Where a document comes from decides how it is read.
enum class Source {
  kStored,      ///< fields that are not known are passed over
  kStoredKept,  ///< and kept
  kClient,      ///< and refused; fields may be left out
};

/// State shared by all fields of one document while it is read.
class Reading : public ReadPosition {
 public:
  Reading(std::string_view subject, Source source) : ReadPosition(subject), source_(source) {}

  bool keepsUnknown() const { return source_ == Source::kStoredKept; }
  bool isOfClient() const { return source_ == Source::kClient; }
  void mistyped(const char* expected, const Element& e) {
    fail(ErrorCode::kTypeMismatch,
         std::string("expected ") + expected + ", found " + std::string(bson::typeName(e.type())));
  }

  void value(const ValueType& type, void* value, const Element& e, UnknownFields& unknown);
  void structure(const StructType& type, void* value, bson::View document, UnknownFields& unknown, bool inVariant);
  void variant(const VariantType& type, void* value, bson::View document, UnknownFields& unknown);

 private:
  void integer(const IntegerType& type, void* value, const Element& e);
  void real(const DoubleType& type, void* value, const Element& e);
  void list(const ListType& type, void* value, const Element& e, UnknownFields& unknown);
  void map(const MapType& type, void* value, const Element& e, UnknownFields& unknown);
  void plain(Kind kind, void* value, const Element& e);
  void status(Status& value, const Element& e);

  const Source source_;
};

void adoptNested(UnknownFields& parent, UnknownFields&& nested, std::string_view name) {
  if (nested.empty()) return;
  nested.name = name;
  parent.nested.push_back(std::move(nested));
}

/// Reads the fields of one struct, and remembers which elements they took.
class StructReader final : public FieldSource {
 public:
  StructReader(Reading& reading, const StructType& type, bson::View document, UnknownFields& unknown)
      : reading_(reading), type_(type), document_(document), next_(document.begin()), unknown_(unknown) {}

  void field(const char* name, const ValueType& type, void* value) override {
    const std::string_view shown = documentName(name);
    if (shown == kVersionField) ownVersion_ = true;
    if (reading_.failed()) return;
    const Element e = take(shown);
    reading_.within(shown, [&] {
      if (e.ok()) {
        UnknownFields nested;
        reading_.value(type, value, e, nested);
        adoptNested(unknown_, std::move(nested), shown);
      } else if (reading_.isOfClient()) {
        return;
      } else if (type.kind == Kind::kOptional) {
        static_cast<const OptionalType&>(type).reset(value);
      } else if (type.kind == Kind::kValue) {
        *static_cast<bson::Value*>(value) = bson::Value();
      } else {
        reading_.fail(ErrorCode::kNoSuchKey, "the field is missing");
      }
    });
  }

  /// The version of what is read; the newest one after a failure.
  unsigned version() {
    if (type_.version == 0) return 0;
    const Element e = take(kVersionField);
    if (!e.ok()) return 0;
    return checkVersion(e);
  }

  void takeType() { (void)take(kTypeField); }

  void finish() {
    if (type_.version == 0 && !ownVersion_) {
      // A type that has had no versions yet: fields may be missing or changed because a newer one was written.
      const Element e = document_[kVersionField];
      if (e.isNumber() && e.toInt64() > 0) checkVersion(e);
    }
    if (reading_.failed() || !(reading_.keepsUnknown() || reading_.isOfClient())) return;
    if (static_cast<size_t>(document_.count()) == taken_.size()) return;
    bson::Builder rest;
    for (const Element& e : document_) {
      if (std::find(taken_.begin(), taken_.end(), e.raw().data()) != taken_.end()) continue;
      if (reading_.isOfClient()) return refuse(e.name());
      rest.append(e);
    }
    unknown_.fields = rest.finish();
  }

 private:
  void refuse(std::string_view field) {
    reading_.within(field, [&] { reading_.fail(ErrorCode::kUnknownField, "unknown field"); });
  }
  /// The field's element; mostly it is the next one.
  Element take(std::string_view name) {
    Element found = *next_;
    if (found.ok() && found.name() == name) {
      ++next_;
    } else {
      found = Element();
      for (auto it = document_.begin(); it->ok(); ++it) {
        if (it->name() != name) continue;
        found = *it;
        next_ = ++it;
        break;
      }
    }
    const char* at = found.ok() ? found.raw().data() : nullptr;
    if (at && std::find(taken_.begin(), taken_.end(), at) == taken_.end()) taken_.push_back(at);
    return found;
  }

  unsigned checkVersion(const Element& e) {
    reading_.within(kVersionField, [&] {
      if (!e.isNumber()) reading_.mistyped("a number", e);
      else if (e.toInt64(-1) < 0) reading_.fail(ErrorCode::kBadValue, "versions are not negative");
    });
    if (reading_.failed() && type_.version > 0) return type_.version;
    const int64_t found = e.toInt64();
    if (found <= static_cast<int64_t>(type_.version)) return static_cast<unsigned>(found);
    reading_.newer(type_, static_cast<uint64_t>(found));
    return type_.version;
  }

  Reading& reading_;
  const StructType& type_;
  bson::View document_;
  bson::View::Iterator next_;
  UnknownFields& unknown_;
  std::vector<const char*> taken_;
  bool ownVersion_ = false;
};

void Reading::structure(const StructType& type, void* value, bson::View document, UnknownFields& unknown,
                        bool inVariant) {
  StructReader reader(*this, type, document, unknown);
  if (inVariant) reader.takeType();
  const unsigned version = reader.version();
  if (failed()) return;
  LoadArchive archive(reader);
  type.load(archive, value, version);
  reader.finish();
}

void Reading::variant(const VariantType& type, void* value, bson::View document, UnknownFields& unknown) {
  const Element name = document[kTypeField];
  const StructType* held = nullptr;
  within(kTypeField, [&] {
    if (!name.ok()) return fail(ErrorCode::kNoSuchKey, "the field is missing");
    if (!name.is(Type::kString)) return mistyped("a string", name);
    for (size_t i = 0; i < type.count && !held; ++i) {
      if (type.alternative(i).name != name.asString()) continue;
      held = &type.alternative(i);
      value = type.emplace(value, i);
    }
    if (!held) fail(ErrorCode::kBadValue, "unknown type '" + std::string(name.asString()) + "'");
  });
  if (failed()) return;
  unknown.type = held->name;
  setSubject(held->subject);
  structure(*held, value, document, unknown, true);
}

void Reading::integer(const IntegerType& type, void* value, const Element& e) {
  uint64_t bits = 0;
  bool negative = false, exact = true;
  switch (e.type()) {
    case Type::kInt32:
    case Type::kInt64: {
      const int64_t number = e.toInt64();
      bits = static_cast<uint64_t>(number);
      negative = number < 0;
      break;
    }
    case Type::kDouble: {  // as people write it in a shell
      const double number = e.asDouble();
      exact = std::trunc(number) == number && std::abs(number) < 9223372036854775808.0;
      bits = exact ? static_cast<uint64_t>(static_cast<int64_t>(number)) : 0;
      negative = number < 0;
      break;
    }
    case Type::kDecimal128: {
      const bson::Decimal128 number = e.asDecimal();
      exact = !bson::isNaN(number) && !bson::isInfinite(number);
      const bson::DecimalParts parts = exact ? bson::partsOf(number) : bson::DecimalParts{};
      exact = exact && parts.exponent == 0 && parts.high == 0 && !parts.negative;
      bits = parts.low;
      break;
    }
    default: return mistyped("an integer", e);
  }
  if (!exact) return fail(ErrorCode::kTypeMismatch, "expected an integer, found a number that is none");
  if (!setInteger(type, value, bits, negative)) {
    fail(ErrorCode::kOverflow, "the number does not fit into " + std::to_string(type.bytes * 8) +
                                   (type.isSigned ? " bits" : " bits without sign"));
  }
}

void Reading::real(const DoubleType& type, void* value, const Element& e) {
  if (!e.is(Type::kDouble) && !e.is(Type::kInt32) && !e.is(Type::kInt64)) return mistyped("a double", e);
  const double number = e.toDouble();
  if (e.is(Type::kInt64) &&
      (std::abs(number) >= 9223372036854775808.0 || static_cast<int64_t>(number) != e.asInt64())) {
    return fail(ErrorCode::kOverflow, "the number does not fit into a double");
  }
  setDouble(type, value, number);
}

void Reading::list(const ListType& type, void* value, const Element& e, UnknownFields& unknown) {
  if (!e.is(Type::kArray)) return mistyped("an array", e);
  type.clear(value);
  const ValueType& elementType = type.element();
  for (const Element& element : e.asArray()) {
    const auto fill = [&](void* made) {
      within(element.name(), [&] {
        UnknownFields nested;
        this->value(elementType, made, element, nested);
        if (nested.empty()) return;
        if (element.is(Type::kDocument)) {
          if (const Element id = element.asDocument()["_id"]; id.ok()) nested.id = bson::Value(id);
        }
        adoptNested(unknown, std::move(nested), element.name());
      });
    };
    type.append(value, fill);
    if (failed()) return;
    ++unknown.listSize;
  }
}

void Reading::map(const MapType& type, void* value, const Element& e, UnknownFields& unknown) {
  if (!e.is(Type::kDocument)) return mistyped("an object", e);
  type.clear(value);
  for (const Element& element : e.asDocument()) {
    within(element.name(), [&] {
      UnknownFields nested;
      this->value(type.element(), type.insert(value, element.name()), element, nested);
      adoptNested(unknown, std::move(nested), element.name());
    });
    if (failed()) return;
  }
}

void Reading::status(Status& value, const Element& e) {
  if (!e.is(Type::kDocument)) return mistyped("an object", e);
  const bson::View fields = e.asDocument();
  const Element code = fields["code"], reason = fields["errmsg"], extra = fields["extra"];
  within("code", [&] {
    if (!code.is(Type::kInt32)) mistyped("an int", code);
  });
  within("errmsg", [&] {
    if (reason.ok() && !reason.is(Type::kString)) mistyped("a string", reason);
  });
  within("extra", [&] {
    if (extra.ok() && !extra.is(Type::kDocument)) mistyped("an object", extra);
  });
  if (failed()) return;
  const auto number = static_cast<ErrorCode>(code.asInt32());
  if (number == ErrorCode::kOK) value = Status();
  else if (extra.ok()) value = Status(number, std::string(reason.toStringOr()), bson::Document(extra.asDocument()));
  else value = Status(number, std::string(reason.toStringOr()));
}

void Reading::plain(Kind kind, void* value, const Element& e) {
  using detail::as;
  const auto expect = [&](Type type, const char* name) {
    if (!e.is(type)) mistyped(name, e);
    return e.is(type);
  };
  switch (kind) {
    case Kind::kBool:
      if (isOfClient() && e.isNumber()) as<bool>(value) = e.truthy();
      else if (expect(Type::kBool, "a bool")) as<bool>(value) = e.asBool();
      return;
    case Kind::kString:
      if (expect(Type::kString, "a string")) as<std::string>(value) = e.asString();
      return;
    case Kind::kBytes:
      if (expect(Type::kBinary, "binary data")) {
        const auto bytes = e.asBinary().bytes;
        as<std::vector<uint8_t>>(value).assign(bytes.begin(), bytes.end());
      }
      return;
    case Kind::kUuid: {
      if (!e.is(Type::kBinary) || e.asBinary().subtype != bson::kBinaryUuid || e.asBinary().bytes.size() != 16) {
        return mistyped("a UUID", e);
      }
      std::copy_n(e.asBinary().bytes.begin(), 16, as<bson::Uuid>(value).bytes.begin());
      return;
    }
    case Kind::kObjectId:
      if (expect(Type::kObjectId, "an ObjectId")) as<bson::ObjectId>(value) = e.asObjectId();
      return;
    case Kind::kTimestamp:
      if (expect(Type::kTimestamp, "a timestamp")) as<bson::Timestamp>(value) = e.asTimestamp();
      return;
    case Kind::kDate:
      if (expect(Type::kDate, "a date")) as<bson::Date>(value) = e.asDate();
      return;
    case Kind::kDecimal:
      if (expect(Type::kDecimal128, "a decimal")) as<bson::Decimal128>(value) = e.asDecimal();
      return;
    case Kind::kDocument:
      if (expect(Type::kDocument, "an object")) as<bson::Document>(value) = bson::Document(e.asDocument());
      return;
    case Kind::kStatus: return status(as<Status>(value), e);
    default:  // kValue
      as<bson::Value>(value) = e.is(Type::kUndefined) ? bson::Value() : bson::Value(e);
  }
}

void Reading::value(const ValueType& type, void* value, const Element& e, UnknownFields& unknown) {
  switch (type.kind) {
    case Kind::kInteger: return integer(static_cast<const IntegerType&>(type), value, e);
    case Kind::kDouble: return real(static_cast<const DoubleType&>(type), value, e);
    case Kind::kEnum:
      if (!e.is(Type::kString)) return mistyped("a string", e);
      if (!static_cast<const EnumType&>(type).parse(value, e.asString())) {
        fail(ErrorCode::kBadValue, "unknown name '" + std::string(e.asString()) + "'");
      }
      return;
    case Kind::kOptional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      if (e.is(Type::kNull)) return optional.reset(value);
      return this->value(optional.element(), optional.emplace(value), e, unknown);
    }
    case Kind::kList: return list(static_cast<const ListType&>(type), value, e, unknown);
    case Kind::kMap: return map(static_cast<const MapType&>(type), value, e, unknown);
    case Kind::kVariant:
      if (!e.is(Type::kDocument)) return mistyped("an object", e);
      return variant(static_cast<const VariantType&>(type), value, e.asDocument(), unknown);
    case Kind::kStruct:
      if (!e.is(Type::kDocument)) return mistyped("an object", e);
      return structure(static_cast<const StructType&>(type), value, e.asDocument(), unknown, false);
    default: return plain(type.kind, value, e);
  }
}

}  // namespace

namespace {
Status readDocument(bson::View document, const ValueType& type, void* value, Source source, UnknownFields& kept) {
  const bool isStruct = type.kind == Kind::kStruct;
  Reading reading(isStruct ? static_cast<const StructType&>(type).subject : "value", source);
  if (document.size() > static_cast<uint32_t>(bson::kMaxInternalDocumentSize)) {
    reading.fail(ErrorCode::kBSONObjectTooLarge, "the document has " + std::to_string(document.size()) + " bytes");
  } else if (isStruct) {
    reading.structure(static_cast<const StructType&>(type), value, document, kept, false);
  } else {
    reading.variant(static_cast<const VariantType&>(type), value, document, kept);
  }
  return reading.takeStatus();
}
}  // namespace

Status detail::readBson(bson::View document, const ValueType& type, void* value, UnknownFields* unknown) {
  UnknownFields passedOver;
  if (!unknown) return readDocument(document, type, value, Source::kStored, passedOver);
  return readDocument(document, type, value, Source::kStoredKept, *unknown);
}

Status detail::readGivenBson(bson::View document, const ValueType& type, void* value) {
  UnknownFields none;
  return readDocument(document, type, value, Source::kClient, none);
}

Status detail::readBsonField(bson::View document, const char* name, const ValueType& type, void* value) {
  Reading reading("value", Source::kStored);
  UnknownFields passedOver;
  reading.within(documentName(name), [&] {
    const Element e = document[documentName(name)];
    if (e.ok()) reading.value(type, value, e, passedOver);
    else if (type.kind != Kind::kOptional && type.kind != Kind::kValue)
      reading.fail(ErrorCode::kNoSuchKey, "is missing");
  });
  return reading.takeStatus();
}

}  // namespace troupe::machines
