#include "messaging/description/message_archive.hpp"

#include <kj/exception.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "messaging/bson/validate.hpp"
#include "messaging/description/depth_guard.hpp"
#include "messaging/description/message_plan.hpp"
#include "messaging/description/read_position.hpp"

namespace troupe::machines {
namespace {

using capnp::DynamicList;
using capnp::DynamicStruct;
using capnp::DynamicValue;
using detail::as;
using detail::MessagePlan;
using Node = MessagePlan::Node;
using Slot = MessagePlan::Slot;

capnp::Data::Reader dataOf(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
template <class Bytes>
std::string_view viewOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string_view viewOf(const capnp::Data::Reader& data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

/// Where a value is to be written: a field of a struct or an element of a list.
class Place {
 public:
  Place(DynamicStruct::Builder owner, capnp::StructSchema::Field field) : struct_(owner), field_(field) {}
  Place(DynamicList::Builder owner, unsigned index) : list_(owner), index_(index), inList_(true) {}

  void set(const DynamicValue::Reader& value) { inList_ ? list_.set(index_, value) : struct_.set(field_, value); }
  DynamicStruct::Builder structure() { return (inList_ ? list_[index_] : struct_.init(field_)).as<DynamicStruct>(); }
  DynamicList::Builder list(size_t size) {
    const auto count = static_cast<unsigned>(size);
    return (inList_ ? list_.init(index_, count) : struct_.init(field_, count)).as<DynamicList>();
  }

 private:
  DynamicStruct::Builder struct_;
  capnp::StructSchema::Field field_;
  DynamicList::Builder list_;
  unsigned index_ = 0;
  bool inList_ = false;
};

class Writer {
 public:
  void structure(const Node& node, const void* value, DynamicStruct::Builder out);
  /// `present`: an empty text or list is written too, because nothing would mean absence.
  void value(const Node& node, const void* value, Place place, bool present = false);

 private:
  class Fields;
  void optional(const Node& node, const void* value, Place place);
  void list(const Node& node, const void* value, Place place, bool present);
  void map(const Node& node, const void* value, Place place, bool present);
  void variant(const Node& node, const void* value, DynamicStruct::Builder out);
  void status(const Node& node, const Status& status, DynamicStruct::Builder out);
  void enumeration(const Node& node, const void* value, Place place);
  void bytes(std::string_view bytes, Place place, bool present) {
    if (present || !bytes.empty()) place.set(dataOf(bytes));
  }
  void text(const Node& node, const std::string& text, Place place, bool present) {
    if (!node.carrier.isText()) return bytes(text, place, present);
    if (present || !text.empty()) place.set(capnp::Text::Reader(text.c_str(), text.size()));
  }
  void plain(const Node& node, const void* value, Place place, bool present);

  int depth_ = 0;
};

class Writer::Fields final : public FieldSink {
 public:
  Fields(Writer& writer, const Node& node, DynamicStruct::Builder out) : writer_(writer), node_(node), out_(out) {}
  void field(const char* name, const ValueType&, const void* value) override {
    // The plan has the fields of a default value; a `serialize` that leaves some out for others is not for messages.
    if (next_ >= node_.slots.size() || node_.slots[next_].name != name) {
      throw std::logic_error(std::string("the field '") + name + "' is not described for every value");
    }
    const Slot& slot = node_.slots[next_++];
    writer_.value(*slot.node, value, Place(out_, slot.field));
  }

 private:
  Writer& writer_;
  const Node& node_;
  DynamicStruct::Builder out_;
  size_t next_ = 0;
};

void Writer::structure(const Node& node, const void* value, DynamicStruct::Builder out) {
  const auto& type = static_cast<const StructType&>(*node.type);
  const DepthGuard deeper(depth_);
  Fields fields(*this, node, out);
  SaveArchive archive(fields);
  type.save(archive, value);
}

void Writer::optional(const Node& node, const void* value, Place place) {
  const void* held = static_cast<const OptionalType&>(*node.type).get(value);
  if (!held) return;
  if (node.boxed) this->value(*node.element, held, Place(place.list(1), 0), true);
  else this->value(*node.element, held, place, true);
}

void Writer::list(const Node& node, const void* value, Place place, bool present) {
  const auto& type = static_cast<const ListType&>(*node.type);
  const size_t size = type.size(value);
  if (size == 0 && !present) return;
  const DepthGuard deeper(depth_);
  DynamicList::Builder out = place.list(size);
  unsigned next = 0;
  type.each(value, [&](const void* element) { this->value(*node.element, element, Place(out, next++)); });
}

void Writer::map(const Node& node, const void* value, Place place, bool present) {
  const auto& type = static_cast<const MapType&>(*node.type);
  const size_t size = type.size(value);
  if (size == 0 && !present) return;
  const DepthGuard deeper(depth_);
  DynamicList::Builder out = place.list(size);
  unsigned next = 0;
  type.each(value, [&](const std::string& key, const void* element) {
    DynamicStruct::Builder entry = out[next++].as<DynamicStruct>();
    requireKey(key);
    text(*node.slots[0].node, key, Place(entry, node.slots[0].field), false);
    this->value(*node.slots[1].node, element, Place(entry, node.slots[1].field));
  });
}

void Writer::variant(const Node& node, const void* value, DynamicStruct::Builder out) {
  const auto& type = static_cast<const VariantType&>(*node.type);
  const DepthGuard deeper(depth_);
  const Slot& slot = node.slots[type.index(value)];
  if (slot.node) structure(*slot.node, type.get(value), Place(out, slot.field).structure());
  else out.set(slot.field, capnp::VOID);
}

void Writer::status(const Node& node, const Status& status, DynamicStruct::Builder out) {
  out.set(node.slots[0].field, static_cast<int32_t>(status.code()));
  if (status.isOK()) return;
  text(*node.slots[1].node, status.reason(), Place(out, node.slots[1].field), false);
  if (status.extra()) bytes(status.extra()->bytes(), Place(out, node.slots[2].field), false);
}

void Writer::enumeration(const Node& node, const void* value, Place place) {
  const std::string name(enumNameOf(static_cast<const EnumType&>(*node.type), value));
  if (node.carrier.isText()) return text(node, name, place, true);
  for (const auto& [known, enumerant] : node.enumerants) {
    if (known == name) return place.set(capnp::DynamicEnum(enumerant));
  }
  throw std::logic_error("the enum of the schema has no '" + name + "'");
}

void Writer::plain(const Node& node, const void* value, Place place, bool present) {
  switch (node.type->kind) {
    case Kind::kBool: return place.set(as<bool>(value));
    case Kind::kInteger: {
      const auto& type = static_cast<const IntegerType&>(*node.type);
      const uint64_t bits = integerOf(type, value);
      return type.isSigned ? place.set(static_cast<int64_t>(bits)) : place.set(bits);
    }
    case Kind::kDouble: return place.set(doubleOf(static_cast<const DoubleType&>(*node.type), value));
    case Kind::kString: return text(node, as<std::string>(value), place, present);
    case Kind::kBytes: return bytes(viewOf(as<std::vector<uint8_t>>(value)), place, present);
    case Kind::kUuid: return bytes(viewOf(as<bson::Uuid>(value).bytes), place, present);
    case Kind::kObjectId: return bytes(viewOf(as<bson::ObjectId>(value).bytes), place, present);
    case Kind::kTimestamp: return place.set(as<bson::Timestamp>(value).asUint64());
    case Kind::kDate: return place.set(as<bson::Date>(value).millis);
    case Kind::kDecimal: {
      const auto& decimal = as<bson::Decimal128>(value);
      const uint64_t words[2] = {decimal.low, decimal.high};
      return bytes({reinterpret_cast<const char*>(words), sizeof words}, place, present);
    }
    case Kind::kDocument: return bytes(as<bson::Document>(value).bytes(), place, present);
    default:  // kValue
      if (!as<bson::Value>(value).ok()) return bytes({}, place, present);
      return bytes(bson::doc("", as<bson::Value>(value)).bytes(), place, present);
  }
}

void Writer::value(const Node& node, const void* value, Place place, bool present) {
  switch (node.type->kind) {
    case Kind::kEnum: return enumeration(node, value, place);
    case Kind::kOptional: return optional(node, value, place);
    case Kind::kList: return list(node, value, place, present);
    case Kind::kMap: return map(node, value, place, present);
    case Kind::kVariant: return variant(node, value, place.structure());
    case Kind::kStruct: return structure(node, value, place.structure());
    case Kind::kStatus: return status(node, as<Status>(value), place.structure());
    default: return plain(node, value, place, present);
  }
}

class Reader : public ReadPosition {
 public:
  explicit Reader(std::string_view subject) : ReadPosition(subject) {}
  void structure(const Node& node, void* value, DynamicStruct::Reader in);

 private:
  class Fields;
  void field(const Slot& slot, void* value, DynamicStruct::Reader in);
  void value(const Node& node, void* value, const DynamicValue::Reader& in);
  void list(const Node& node, void* value, DynamicList::Reader in);
  void map(const Node& node, void* value, DynamicList::Reader in);
  void variant(const Node& node, void* value, DynamicStruct::Reader in);
  void status(const Node& node, Status& value, DynamicStruct::Reader in);
  void enumeration(const Node& node, void* value, const DynamicValue::Reader& in);
  void integer(const IntegerType& type, void* value, const DynamicValue::Reader& in);
  void plain(const Node& node, void* value, const DynamicValue::Reader& in);
  bson::Document document(std::string_view bytes);
  /// Bytes of a fixed size; none mean all zero.
  void fixed(void* out, size_t size, std::string_view bytes) {
    if (bytes.empty()) std::memset(out, 0, size);
    else if (bytes.size() == size) std::memcpy(out, bytes.data(), size);
    else
      fail(ErrorCode::kBadValue, "expected " + std::to_string(size) + " bytes, found " + std::to_string(bytes.size()));
  }
};

class Reader::Fields final : public FieldSource {
 public:
  Fields(Reader& reader, const Node& node, DynamicStruct::Reader in) : reader_(reader), node_(node), in_(in) {}
  void field(const char* name, const ValueType&, void* value) override {
    if (reader_.failed()) return;
    if (next_ >= node_.slots.size() || node_.slots[next_].name != name) {
      throw std::logic_error(std::string("the field '") + name + "' is not described for every value");
    }
    const Slot& slot = node_.slots[next_++];
    reader_.within(slot.name, [&] { reader_.field(slot, value, in_); });
  }

 private:
  Reader& reader_;
  const Node& node_;
  DynamicStruct::Reader in_;
  size_t next_ = 0;
};

void Reader::structure(const Node& node, void* value, DynamicStruct::Reader in) {
  const auto& type = static_cast<const StructType&>(*node.type);
  Fields fields(*this, node, in);
  LoadArchive archive(fields);
  type.load(archive, value, type.version);
}

void Reader::field(const Slot& slot, void* value, DynamicStruct::Reader in) {
  const Node& node = *slot.node;
  if (node.type->kind != Kind::kOptional) return this->value(node, value, in.get(slot.field));
  const auto& type = static_cast<const OptionalType&>(*node.type);
  if (!in.has(slot.field)) return type.reset(value);
  if (!node.boxed) return this->value(*node.element, type.emplace(value), in.get(slot.field));
  const auto box = in.get(slot.field).as<DynamicList>();
  if (box.size() > 1)
    return fail(ErrorCode::kBadValue, "expected one value at most, found " + std::to_string(box.size()));
  if (box.size() == 0) type.reset(value);
  else this->value(*node.element, type.emplace(value), box[0]);
}

void Reader::list(const Node& node, void* value, DynamicList::Reader in) {
  const auto& type = static_cast<const ListType&>(*node.type);
  type.clear(value);
  for (unsigned i = 0; i < in.size() && !failed(); ++i) {
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, i).ptr;
    const std::string_view place(digits, static_cast<size_t>(end - digits));
    const auto fill = [&](void* element) { within(place, [&] { this->value(*node.element, element, in[i]); }); };
    type.append(value, fill);
  }
}

void Reader::map(const Node& node, void* value, DynamicList::Reader in) {
  const auto& type = static_cast<const MapType&>(*node.type);
  type.clear(value);
  for (unsigned i = 0; i < in.size() && !failed(); ++i) {
    const auto entry = in[i].as<DynamicStruct>();
    std::string key;
    this->value(*node.slots[0].node, &key, entry.get(node.slots[0].field));
    if (!isKey(key)) return fail(ErrorCode::kBadValue, "a map's key holds a NUL");
    within(key, [&] { field(node.slots[1], type.insert(value, key), entry); });
  }
}

void Reader::variant(const Node& node, void* value, DynamicStruct::Reader in) {
  const auto& type = static_cast<const VariantType&>(*node.type);
  KJ_IF_MAYBE (active, in.which()) {
    for (size_t i = 0; i < node.slots.size(); ++i) {
      const Slot& slot = node.slots[i];
      if (slot.field != *active) continue;
      void* held = type.emplace(value, i);
      if (slot.node) within(slot.name, [&] { structure(*slot.node, held, in.get(slot.field).as<DynamicStruct>()); });
      return;
    }
  }
  fail(ErrorCode::kBadValue, "holds a type that this node does not know");
}

bson::Document Reader::document(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto size = bson::validate(bytes);
  if (size.isOK() && static_cast<size_t>(*size) == bytes.size()) return bson::Document::adopt(std::string(bytes));
  fail(ErrorCode::kFailedToParse, "not a document");
  return {};
}

void Reader::status(const Node& node, Status& value, DynamicStruct::Reader in) {
  const auto code = static_cast<ErrorCode>(in.get(node.slots[0].field).as<int32_t>());
  std::string reason;
  this->value(*node.slots[1].node, &reason, in.get(node.slots[1].field));
  const bson::Document extra = document(viewOf(in.get(node.slots[2].field).as<capnp::Data>()));
  if (code == ErrorCode::kOK) value = Status();
  else value = in.has(node.slots[2].field) ? Status(code, std::move(reason), extra) : Status(code, std::move(reason));
}

void Reader::enumeration(const Node& node, void* value, const DynamicValue::Reader& in) {
  std::string name;
  if (node.carrier.isText()) {
    name = in.as<capnp::Text>().cStr();
    if (name.empty()) return;  // not set: the default
  } else {
    const auto number = in.as<capnp::DynamicEnum>();
    KJ_IF_MAYBE (enumerant, number.getEnumerant()) name = enumerant->getProto().getName().cStr();
    else return fail(ErrorCode::kBadValue, "unknown value " + std::to_string(number.getRaw()));
  }
  if (static_cast<const EnumType&>(*node.type).parse(value, name)) return;
  fail(ErrorCode::kBadValue, "unknown name '" + name + "'");
}

void Reader::integer(const IntegerType& type, void* value, const DynamicValue::Reader& in) {
  const bool isSigned = in.getType() == DynamicValue::INT;
  const int64_t number = isSigned ? in.as<int64_t>() : 0;
  const uint64_t bits = isSigned ? static_cast<uint64_t>(number) : in.as<uint64_t>();
  if (!setInteger(type, value, bits, number < 0)) fail(ErrorCode::kOverflow, "the number does not fit");
}

void Reader::plain(const Node& node, void* value, const DynamicValue::Reader& in) {
  switch (node.type->kind) {
    case Kind::kBool: as<bool>(value) = in.as<bool>(); return;
    case Kind::kInteger: return integer(static_cast<const IntegerType&>(*node.type), value, in);
    case Kind::kDouble: return setDouble(static_cast<const DoubleType&>(*node.type), value, in.as<double>());
    case Kind::kTimestamp: as<bson::Timestamp>(value) = bson::Timestamp::fromUint64(in.as<uint64_t>()); return;
    case Kind::kDate: as<bson::Date>(value) = {in.as<int64_t>()}; return;
    case Kind::kString:
      if (node.carrier.isText()) {
        const auto text = in.as<capnp::Text>();
        as<std::string>(value).assign(text.begin(), text.size());
        return;
      }
      break;
    default: break;
  }
  const std::string_view bytes = viewOf(in.as<capnp::Data>());
  switch (node.type->kind) {
    case Kind::kString: as<std::string>(value) = bytes; return;
    case Kind::kBytes: as<std::vector<uint8_t>>(value).assign(bytes.begin(), bytes.end()); return;
    case Kind::kUuid: return fixed(as<bson::Uuid>(value).bytes.data(), 16, bytes);
    case Kind::kObjectId: return fixed(as<bson::ObjectId>(value).bytes.data(), 12, bytes);
    case Kind::kDecimal: {
      uint64_t words[2] = {};
      fixed(words, sizeof words, bytes);
      as<bson::Decimal128>(value) = {words[0], words[1]};
      return;
    }
    case Kind::kDocument: as<bson::Document>(value) = document(bytes); return;
    default: as<bson::Value>(value) = bson::Value(document(bytes).view().first());  // kValue
  }
}

void Reader::value(const Node& node, void* value, const DynamicValue::Reader& in) {
  switch (node.type->kind) {
    case Kind::kEnum: return enumeration(node, value, in);
    case Kind::kList: return list(node, value, in.as<DynamicList>());
    case Kind::kMap: return map(node, value, in.as<DynamicList>());
    case Kind::kVariant: return variant(node, value, in.as<DynamicStruct>());
    case Kind::kStruct: return structure(node, value, in.as<DynamicStruct>());
    case Kind::kStatus: return status(node, as<Status>(value), in.as<DynamicStruct>());
    default: return plain(node, value, in);
  }
}

void requireFit(const MessagePlan& plan) {
  if (!plan.mistakes().empty()) throw std::logic_error("a message does not fit its schema: " + plan.mistakes());
}

}  // namespace

Payload detail::writeMessage(const MessagePlan& plan, const void* value, const PayloadTypeInfo& info) {
  requireFit(plan);
  Writer writer;
  ScratchSegment scratch;
  if (scratch.words().size() == 0) {
    capnp::MallocMessageBuilder message;
    writer.structure(plan.root(), value, message.initRoot<DynamicStruct>(plan.schema()));
    return PayloadFactory::finish(message, info, nullptr);
  }
  capnp::MallocMessageBuilder message(scratch.words());
  writer.structure(plan.root(), value, message.initRoot<DynamicStruct>(plan.schema()));
  return PayloadFactory::finish(message, info, nullptr);
}

Status detail::readMessage(const MessagePlan& plan, const Payload& payload, const PayloadTypeInfo& info, void* value) {
  requireFit(plan);
  if (payload.type() != info.id || !payload.isSerializable()) {
    return {ErrorCode::kTypeMismatch, std::string("expected a message ") + info.name + ", found " + payload.typeName()};
  }
  Reader reader(plan.type().subject);
  try {
    const auto words = payload.words();
    capnp::FlatArrayMessageReader message(words, {words.size() * 32 + 1024, 4 * kMaxValueDepth});
    reader.structure(plan.root(), value, message.getRoot<DynamicStruct>(plan.schema()));
  } catch (const kj::Exception& damage) {
    return {ErrorCode::kFailedToParse,
            std::string(plan.type().subject) + ": the message is damaged: " + damage.getDescription().cStr()};
  }
  return reader.takeStatus();
}

}  // namespace troupe::machines
