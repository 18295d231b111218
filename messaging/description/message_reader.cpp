#include <capnp/any.h>
#include <kj/exception.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "messaging/bson/validate.hpp"
#include "messaging/description/message_archive.hpp"
#include "messaging/description/message_layout.hpp"
#include "messaging/description/read_position.hpp"

namespace troupe::machines {
namespace {

using capnp::AnyPointer;
using capnp::AnyStruct;
using detail::as;
using detail::MessageLayout;
using DataBytes = kj::ArrayPtr<const kj::byte>;

std::string_view viewOf(capnp::Data::Reader data) { return {reinterpret_cast<const char*>(data.begin()), data.size()}; }

/// Zero for what lies beyond the section of an older sender.
uint64_t bitsAt(DataBytes data, uint32_t place, unsigned bits) {
  if ((place + bits + 7) / 8 > data.size()) return 0;
  if (bits == 1) return data[place / 8] >> place % 8 & 1;
  uint64_t value = 0;
  std::memcpy(&value, data.begin() + place / 8, bits / 8);
  return value;
}

AnyPointer::Reader pointerAt(capnp::List<AnyPointer>::Reader pointers, uint32_t place) {
  return place < pointers.size() ? pointers[place] : AnyPointer::Reader();
}

void setPlain(const ValueType& type, void* value, uint64_t bits) {
  switch (type.kind) {
    case Kind::kBool: as<bool>(value) = bits != 0; return;
    case Kind::kInteger: std::memcpy(value, &bits, static_cast<const IntegerType&>(type).bytes); return;
    case Kind::kTimestamp: as<bson::Timestamp>(value) = bson::Timestamp::fromUint64(bits); return;
    case Kind::kDate: as<bson::Date>(value) = {static_cast<int64_t>(bits)}; return;
    default: break;
  }
  if (static_cast<const DoubleType&>(type).isFloat)
    as<float>(value) = std::bit_cast<float>(static_cast<uint32_t>(bits));
  else as<double>(value) = std::bit_cast<double>(bits);
}

class MessageReader : public ReadPosition {
 public:
  using ReadPosition::ReadPosition;
  void structure(const StructType& type, void* value, AnyStruct::Reader in);

 private:
  class Fields;
  void pointer(const ValueType& type, void* value, AnyPointer::Reader in);
  void composite(const ValueType& type, void* value, AnyStruct::Reader in);
  void optional(const OptionalType& type, void* value, AnyPointer::Reader in);
  void list(const ListType& type, void* value, AnyPointer::Reader in);
  void map(const MapType& type, void* value, AnyPointer::Reader in);
  void variant(const VariantType& type, void* value, AnyStruct::Reader in);
  void status(Status& value, AnyStruct::Reader in);
  void enumeration(const EnumType& type, void* value, capnp::Text::Reader in);
  void plain(const ValueType& type, void* value, AnyPointer::Reader in);
  bson::Document document(std::string_view bytes);
  /// A list whose elements are of that size. Cap'n Proto leaves this check to the caller.
  template <class T>
  typename capnp::List<T>::Reader listOf(AnyPointer::Reader in, capnp::ElementSize size) {
    const auto list = in.getAs<capnp::AnyList>();
    if (list.size() == 0 || list.getElementSize() == size) return list.template as<capnp::List<T>>();
    fail(ErrorCode::kFailedToParse, "a list of other elements");
    return {};
  }
  /// Calls `read(i)` for each place below `count`, as long as nothing fails.
  template <class Read>
  void each(unsigned count, const ListType& type, void* list, const Read& read);
  /// Bytes of a fixed size; none mean all zero.
  void fixed(void* out, size_t size, std::string_view bytes) {
    if (bytes.empty()) std::memset(out, 0, size);
    else if (bytes.size() == size) std::memcpy(out, bytes.data(), size);
    else
      fail(ErrorCode::kBadValue, "expected " + std::to_string(size) + " bytes, found " + std::to_string(bytes.size()));
  }
};

class MessageReader::Fields final : public FieldSource {
 public:
  Fields(MessageReader& reader, const MessageLayout& layout, AnyStruct::Reader in)
      : reader_(reader), layout_(layout), data_(in.getDataSection()), pointers_(in.getPointerSection()) {}

  void field(const char* name, const ValueType& type, void* value) override {
    if (reader_.failed()) return;
    if (next_ >= layout_.slots.size() || layout_.slots[next_].name != name)
      throw std::logic_error(std::string("the field '") + name + "' is not described for every value");
    const MessageLayout::Slot& slot = layout_.slots[next_++];
    if (const unsigned bits = detail::dataBits(type)) return setPlain(type, value, bitsAt(data_, slot.place, bits));
    reader_.within(slot.name, [&] { reader_.pointer(type, value, pointerAt(pointers_, slot.place)); });
  }

 private:
  MessageReader& reader_;
  const MessageLayout& layout_;
  const DataBytes data_;
  const capnp::List<AnyPointer>::Reader pointers_;
  size_t next_ = 0;
};

void MessageReader::structure(const StructType& type, void* value, AnyStruct::Reader in) {
  Fields fields(*this, type.layout(), in);
  LoadArchive archive(fields);
  type.load(archive, value, type.version);
}

/// Calls `use` with a list of numbers or bools of that width.
template <class Use>
void withNumbers(AnyPointer::Reader in, unsigned bits, const Use& use) {
  switch (bits) {
    case 1: return use(in.getAs<capnp::List<bool>>());
    case 8: return use(in.getAs<capnp::List<uint8_t>>());
    case 16: return use(in.getAs<capnp::List<uint16_t>>());
    case 32: return use(in.getAs<capnp::List<uint32_t>>());
    default: return use(in.getAs<capnp::List<uint64_t>>());
  }
}

void MessageReader::optional(const OptionalType& type, void* value, AnyPointer::Reader in) {
  if (in.isNull()) return type.reset(value);
  const ValueType& element = type.element();
  const unsigned bits = detail::dataBits(element);
  if (bits == 0) return pointer(element, type.emplace(value), in);
  withNumbers(in, bits, [&](auto box) {
    if (box.size() > 1)
      return fail(ErrorCode::kBadValue, "expected one value at most, found " + std::to_string(box.size()));
    if (box.size() == 0) type.reset(value);
    else setPlain(element, type.emplace(value), box[0]);
  });
}

template <class Read>
void MessageReader::each(unsigned count, const ListType& type, void* list, const Read& read) {
  for (unsigned i = 0; i < count && !failed(); ++i) {
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, i).ptr;
    const std::string_view place(digits, static_cast<size_t>(end - digits));
    const auto fill = [&](void* element) { within(place, [&] { read(element, i); }); };
    type.append(list, fill);
  }
}

void MessageReader::list(const ListType& type, void* value, AnyPointer::Reader in) {
  type.clear(value);
  const ValueType& element = type.element();
  if (element.kind == Kind::kOptional) throw std::logic_error("a list of optionals cannot be carried");
  if (const unsigned bits = detail::dataBits(element)) {
    withNumbers(in, bits, [&](auto numbers) {
      each(numbers.size(), type, value, [&](void* held, unsigned i) { setPlain(element, held, numbers[i]); });
    });
  } else if (detail::isComposite(element)) {
    const auto structs = listOf<AnyStruct>(in, capnp::ElementSize::INLINE_COMPOSITE);
    each(structs.size(), type, value, [&](void* held, unsigned i) { composite(element, held, structs[i]); });
  } else {
    const auto pointers = listOf<AnyPointer>(in, capnp::ElementSize::POINTER);
    each(pointers.size(), type, value, [&](void* held, unsigned i) { pointer(element, held, pointers[i]); });
  }
}

void MessageReader::map(const MapType& type, void* value, AnyPointer::Reader given) {
  type.clear(value);
  const auto in = listOf<AnyStruct>(given, capnp::ElementSize::INLINE_COMPOSITE);
  const ValueType& element = type.element();
  for (unsigned i = 0; i < in.size() && !failed(); ++i) {
    const auto pointers = in[i].getPointerSection();
    const auto key = pointerAt(pointers, 0).getAs<capnp::Text>();
    const std::string_view name(key.begin(), key.size());
    if (!isKey(name)) return fail(ErrorCode::kBadValue, "a map's key holds a NUL");
    void* held = type.insert(value, name);
    if (const unsigned bits = detail::dataBits(element))
      setPlain(element, held, bitsAt(in[i].getDataSection(), 0, bits));
    else within(name, [&] { pointer(element, held, pointerAt(pointers, 1)); });
  }
}

void MessageReader::variant(const VariantType& type, void* value, AnyStruct::Reader in) {
  const auto index = static_cast<size_t>(bitsAt(in.getDataSection(), 0, 16));
  if (index >= type.count) return fail(ErrorCode::kBadValue, "holds a type that this node does not know");
  const StructType& held = type.alternative(index);
  within(held.name, [&] {
    const auto alternative = pointerAt(in.getPointerSection(), 0).getAs<AnyStruct>();
    structure(held, type.emplace(value, index), alternative);
  });
}

void MessageReader::status(Status& value, AnyStruct::Reader in) {
  const auto code = static_cast<ErrorCode>(static_cast<int32_t>(bitsAt(in.getDataSection(), 0, 32)));
  const auto pointers = in.getPointerSection();
  const auto text = pointerAt(pointers, 0).getAs<capnp::Text>();
  const auto given = pointerAt(pointers, 1);
  const bson::Document extra = document(viewOf(given.getAs<capnp::Data>()));
  std::string reason(text.begin(), text.size());
  if (code == ErrorCode::kOK) value = Status();
  else value = given.isNull() ? Status(code, std::move(reason)) : Status(code, std::move(reason), extra);
}

void MessageReader::composite(const ValueType& type, void* value, AnyStruct::Reader in) {
  switch (type.kind) {
    case Kind::kVariant: return variant(static_cast<const VariantType&>(type), value, in);
    case Kind::kStatus: return status(as<Status>(value), in);
    default: return structure(static_cast<const StructType&>(type), value, in);
  }
}

void MessageReader::enumeration(const EnumType& type, void* value, capnp::Text::Reader in) {
  const std::string_view name(in.begin(), in.size());
  if (name.empty() || type.parse(value, name)) return;  // not set: the default
  fail(ErrorCode::kBadValue, "unknown name '" + std::string(name) + "'");
}

void MessageReader::pointer(const ValueType& type, void* value, AnyPointer::Reader in) {
  switch (type.kind) {
    case Kind::kOptional: return optional(static_cast<const OptionalType&>(type), value, in);
    case Kind::kList: return list(static_cast<const ListType&>(type), value, in);
    case Kind::kMap: return map(static_cast<const MapType&>(type), value, in);
    case Kind::kEnum: return enumeration(static_cast<const EnumType&>(type), value, in.getAs<capnp::Text>());
    case Kind::kVariant:
    case Kind::kStatus:
    case Kind::kStruct: return composite(type, value, in.getAs<AnyStruct>());
    default: return plain(type, value, in);
  }
}

void MessageReader::plain(const ValueType& type, void* value, AnyPointer::Reader in) {
  if (type.kind == Kind::kString) {
    const auto text = in.getAs<capnp::Text>();
    as<std::string>(value).assign(text.begin(), text.size());
    return;
  }
  const std::string_view bytes = viewOf(in.getAs<capnp::Data>());
  switch (type.kind) {
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

bson::Document MessageReader::document(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto size = bson::validate(bytes);
  if (size.isOK() && static_cast<size_t>(*size) == bytes.size()) return bson::Document::adopt(std::string(bytes));
  fail(ErrorCode::kFailedToParse, "not a document");
  return {};
}

}  // namespace

Status detail::readMessage(const StructType& type, const Payload& payload, const PayloadTypeInfo& info, void* value) {
  if (payload.type() != info.id || !payload.isSerializable())
    return {ErrorCode::kTypeMismatch, std::string("expected a message ") + info.name + ", found " + payload.typeName()};
  MessageReader reader(type.subject);
  try {
    const auto words = payload.words();
    capnp::FlatArrayMessageReader message(words, {words.size() * 32 + 1024, 4 * kMaxValueDepth});
    reader.structure(type, value, message.getRoot<AnyPointer>().getAs<AnyStruct>());
  } catch (const kj::Exception& damage) {
    return {ErrorCode::kFailedToParse,
            std::string(type.subject) + ": the message is damaged: " + damage.getDescription().cStr()};
  }
  return reader.takeStatus();
}

}  // namespace troupe::machines
