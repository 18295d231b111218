#include <capnp/any.h>
#include <capnp/message.h>

#include <bit>
#include <cstring>
#include <stdexcept>

#include "messaging/description/depth_guard.hpp"
#include "messaging/description/message_archive.hpp"
#include "messaging/description/message_layout.hpp"

namespace troupe::machines {
namespace {

using capnp::AnyPointer;
using capnp::AnyStruct;
using detail::as;
using detail::MessageLayout;

static_assert(std::endian::native == std::endian::little, "data sections are written as they lie in memory");

/// The bits of a value that lies in the data section; more than it takes for negative numbers.
uint64_t plainBits(const ValueType& type, const void* value) {
  switch (type.kind) {
    case Kind::kBool: return as<bool>(value) ? 1 : 0;
    case Kind::kInteger: return integerOf(static_cast<const IntegerType&>(type), value);
    case Kind::kTimestamp: return as<bson::Timestamp>(value).asUint64();
    case Kind::kDate: return static_cast<uint64_t>(as<bson::Date>(value).millis);
    default: break;
  }
  if (static_cast<const DoubleType&>(type).isFloat) return std::bit_cast<uint32_t>(as<float>(value));
  return std::bit_cast<uint64_t>(as<double>(value));
}

/// Into a data section that is zero there.
void putBits(kj::ArrayPtr<kj::byte> data, uint32_t place, unsigned bits, uint64_t value) {
  if (bits == 1) data[place / 8] |= static_cast<kj::byte>(value << place % 8);
  else std::memcpy(data.begin() + place / 8, &value, bits / 8);
}

template <class T, class Each>
void putList(AnyPointer::Builder out, unsigned count, const Each& each) {
  auto list = out.initAs<capnp::List<T>>(count);
  unsigned next = 0;
  each([&](uint64_t bits) { list.set(next++, static_cast<T>(bits)); });
}

/// A list of numbers or bools; `each` shows the bits of one after the other.
template <class Each>
void putNumbers(AnyPointer::Builder out, unsigned bits, unsigned count, const Each& each) {
  switch (bits) {
    case 1: return putList<bool>(out, count, each);
    case 8: return putList<uint8_t>(out, count, each);
    case 16: return putList<uint16_t>(out, count, each);
    case 32: return putList<uint32_t>(out, count, each);
    default: return putList<uint64_t>(out, count, each);
  }
}

class MessageWriter {
 public:
  void structure(const StructType& type, const void* value, AnyStruct::Builder out);

 private:
  class Fields;
  /// `present`: an empty text or list is written too, because nothing would mean absence.
  void pointer(const ValueType& type, const void* value, AnyPointer::Builder out, bool present);
  void composite(const ValueType& type, const void* value, AnyStruct::Builder out);
  void list(const ListType& type, const void* value, AnyPointer::Builder out);
  void map(const MapType& type, const void* value, AnyPointer::Builder out);
  void status(const Status& status, AnyStruct::Builder out);
  void plain(const ValueType& type, const void* value, AnyPointer::Builder out, bool present);

  static void text(std::string_view text, AnyPointer::Builder out, bool present) {
    if (!present && text.empty()) return;
    auto written = out.initAs<capnp::Text>(static_cast<unsigned>(text.size()));
    std::memcpy(written.begin(), text.data(), text.size());
  }
  static void bytes(const void* data, size_t size, AnyPointer::Builder out, bool present) {
    if (present || size > 0) out.setAs<capnp::Data>({static_cast<const kj::byte*>(data), size});
  }
  static void bytes(std::string_view bytes, AnyPointer::Builder out, bool present) {
    MessageWriter::bytes(bytes.data(), bytes.size(), out, present);
  }

  int depth_ = 0;
};

class MessageWriter::Fields final : public FieldSink {
 public:
  Fields(MessageWriter& writer, const MessageLayout& layout, AnyStruct::Builder out)
      : writer_(writer), layout_(layout), data_(out.getDataSection()), pointers_(out.getPointerSection()) {}

  void field(const char* name, const ValueType& type, const void* value) override {
    // The layout has the fields of a default value; a `serialize` that leaves some out for others is not for messages.
    if (next_ >= layout_.slots.size() || layout_.slots[next_].name != name)
      throw std::logic_error(std::string("the field '") + name + "' is not described for every value");
    const uint32_t place = layout_.slots[next_++].place;
    if (const unsigned bits = detail::dataBits(type)) putBits(data_, place, bits, plainBits(type, value));
    else writer_.pointer(type, value, pointers_[place], false);
  }

 private:
  MessageWriter& writer_;
  const MessageLayout& layout_;
  kj::ArrayPtr<kj::byte> data_;
  capnp::List<AnyPointer>::Builder pointers_;
  size_t next_ = 0;
};

void MessageWriter::structure(const StructType& type, const void* value, AnyStruct::Builder out) {
  const DepthGuard deeper(depth_);
  Fields fields(*this, type.layout(), out);
  SaveArchive archive(fields);
  type.save(archive, value);
}

void MessageWriter::composite(const ValueType& type, const void* value, AnyStruct::Builder out) {
  if (type.kind == Kind::kStruct) return structure(static_cast<const StructType&>(type), value, out);
  if (type.kind == Kind::kStatus) return status(as<Status>(value), out);
  const auto& variant = static_cast<const VariantType&>(type);
  const DepthGuard deeper(depth_);
  const size_t index = variant.index(value);
  putBits(out.getDataSection(), 0, 16, index);
  pointer(variant.alternative(index), variant.get(value), out.getPointerSection()[0], true);
}

void MessageWriter::status(const Status& status, AnyStruct::Builder out) {
  putBits(out.getDataSection(), 0, 32, static_cast<uint32_t>(status.code()));
  if (status.isOK()) return;
  text(status.reason(), out.getPointerSection()[0], false);
  if (status.extra()) bytes(status.extra()->bytes(), out.getPointerSection()[1], false);
}

void MessageWriter::list(const ListType& type, const void* value, AnyPointer::Builder out) {
  const DepthGuard deeper(depth_);
  const ValueType& element = type.element();
  if (element.kind == Kind::kOptional) throw std::logic_error("a list of optionals cannot be carried");
  const auto count = static_cast<unsigned>(type.size(value));
  unsigned next = 0;
  if (const unsigned bits = detail::dataBits(element)) {
    putNumbers(out, bits, count,
               [&](const auto& put) { type.each(value, [&](const void* held) { put(plainBits(element, held)); }); });
  } else if (detail::isComposite(element)) {
    const auto size = detail::structSize(element);
    auto written = out.initAsListOfAnyStruct(size.dataWords, size.pointers, count);
    type.each(value, [&](const void* held) { composite(element, held, written[next++]); });
  } else {
    auto written = out.initAsAnyList(capnp::ElementSize::POINTER, count).as<capnp::List<AnyPointer>>();
    type.each(value, [&](const void* held) { pointer(element, held, written[next++], false); });
  }
}

void MessageWriter::map(const MapType& type, const void* value, AnyPointer::Builder out) {
  const DepthGuard deeper(depth_);
  const ValueType& element = type.element();
  const auto size = detail::entrySize(element);
  auto written = out.initAsListOfAnyStruct(size.dataWords, size.pointers, static_cast<unsigned>(type.size(value)));
  unsigned next = 0;
  type.each(value, [&](const std::string& key, const void* held) {
    AnyStruct::Builder entry = written[next++];
    requireKey(key);
    text(key, entry.getPointerSection()[0], false);
    if (const unsigned bits = detail::dataBits(element))
      putBits(entry.getDataSection(), 0, bits, plainBits(element, held));
    else pointer(element, held, entry.getPointerSection()[1], false);
  });
}

void MessageWriter::pointer(const ValueType& type, const void* value, AnyPointer::Builder out, bool present) {
  switch (type.kind) {
    case Kind::kOptional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      const void* held = optional.get(value);
      if (!held) return;
      const ValueType& element = optional.element();
      const unsigned bits = detail::dataBits(element);
      if (bits == 0) return pointer(element, held, out, true);
      return putNumbers(out, bits, 1, [&](const auto& put) { put(plainBits(element, held)); });
    }
    case Kind::kList: {
      const auto& listed = static_cast<const ListType&>(type);
      if (present || listed.size(value) > 0) list(listed, value, out);
      return;
    }
    case Kind::kMap: {
      const auto& mapped = static_cast<const MapType&>(type);
      if (present || mapped.size(value) > 0) map(mapped, value, out);
      return;
    }
    case Kind::kStatus:
      if (!present && as<Status>(value).isOK()) return;
      [[fallthrough]];
    case Kind::kVariant:
    case Kind::kStruct: {
      const auto size = detail::structSize(type);
      return composite(type, value, out.initAsAnyStruct(size.dataWords, size.pointers));
    }
    default: return plain(type, value, out, present);
  }
}

void MessageWriter::plain(const ValueType& type, const void* value, AnyPointer::Builder out, bool present) {
  switch (type.kind) {
    case Kind::kString: return text(as<std::string>(value), out, present);
    case Kind::kEnum: return text(enumNameOf(static_cast<const EnumType&>(type), value), out, true);
    case Kind::kBytes: {
      const auto& held = as<std::vector<uint8_t>>(value);
      return bytes(held.data(), held.size(), out, present);
    }
    case Kind::kUuid: return bytes(as<bson::Uuid>(value).bytes.data(), 16, out, present);
    case Kind::kObjectId: return bytes(as<bson::ObjectId>(value).bytes.data(), 12, out, present);
    case Kind::kDecimal: {
      const auto& decimal = as<bson::Decimal128>(value);
      const uint64_t words[2] = {decimal.low, decimal.high};
      return bytes(words, sizeof words, out, present);
    }
    case Kind::kDocument: return bytes(as<bson::Document>(value).bytes(), out, present);
    default:  // kValue
      if (!as<bson::Value>(value).ok()) return bytes({}, out, present);
      return bytes(bson::doc("", as<bson::Value>(value)).bytes(), out, present);
  }
}

Payload writeInto(capnp::MallocMessageBuilder& message, const StructType& type, const void* value,
                  const PayloadTypeInfo& info) {
  const auto size = detail::structSize(type);
  auto root = message.initRoot<AnyPointer>();
  MessageWriter().structure(type, value, root.initAsAnyStruct(size.dataWords, size.pointers));
  return PayloadFactory::finish(message, info, nullptr);
}

}  // namespace

Payload detail::writeMessage(const StructType& type, const void* value, const PayloadTypeInfo& info) {
  const ScratchSegment scratch;
  if (scratch.words().size() == 0) {
    capnp::MallocMessageBuilder message;
    return writeInto(message, type, value, info);
  }
  capnp::MallocMessageBuilder message(scratch.words());
  return writeInto(message, type, value, info);
}

}  // namespace troupe::machines
