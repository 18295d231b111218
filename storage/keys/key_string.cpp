#include "storage/keys/key_string.hpp"

#include <charconv>

#include "messaging/errors/invariant.hpp"
#include "storage/keys/key_tags.hpp"
#include "storage/keys/number_key.hpp"

namespace troupe::storage {

StatusWith<Ordering> Ordering::fromKeyPattern(bson::View keyPattern) {
  uint32_t mask = 0;
  size_t field = 0;
  for (const bson::Element& e : keyPattern) {
    if (field == key_string::kMaxFields)
      return {ErrorCode::kCannotCreateIndex,
              "Index key pattern has more than " + std::to_string(key_string::kMaxFields) + " fields"};
    if (e.isNumber() && e.toDouble() < 0) mask |= 1U << field;
    ++field;
  }
  return Ordering(mask);
}

namespace key_string {
namespace {

using bson::Element;
using bson::Type;

constexpr uint64_t kSignBit = 1ULL << 63;
constexpr size_t kRecordIdSize = 8;

/// The tag of all values of a rank.
uint8_t rankTag(Type type) {
  switch (type) {
    case Type::kMinKey: return kMinKey;
    case Type::kUndefined: return kUndefined;
    case Type::kEnd:
    case Type::kNull: return kNull;
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128: return kNumber;
    case Type::kString:
    case Type::kSymbol: return kString;
    case Type::kDocument: return kDocument;
    case Type::kArray: return kArray;
    case Type::kBinary: return kBinary;
    case Type::kObjectId: return kObjectId;
    case Type::kBool: return kFalse;
    case Type::kDate: return kDate;
    case Type::kTimestamp: return kTimestamp;
    case Type::kRegex: return kRegex;
    case Type::kDBPointer: return kDBPointer;
    case Type::kCode: return kCode;
    case Type::kCodeWithScope: return kCodeWithScope;
    case Type::kMaxKey: return kMaxKey;
  }
  return kMaxKey;
}

/// Writes one component, ascending: a tag that orders the ranks of types, then bytes that memcmp orders as the values
/// of the rank are. No component is a prefix of another one of its rank (fixed sizes, sizes in front, or a closing byte
/// that is lower than all that may follow), so that the next component does not disturb the order. Facts that the order
/// does not need, such as the type of a number, go into the type bits.
class ComponentWriter {
 public:
  ComponentWriter(Buffer& out, TypeBitsWriter& bits, const bson::Collator* collator)
      : out_(out), bits_(bits), collator_(collator) {}

  void write(const Element& e) {
    switch (e.type()) {
      case Type::kDouble:
      case Type::kInt32:
      case Type::kInt64:
      case Type::kDecimal128: return appendNumber(out_, bits_, e);
      case Type::kString:
      case Type::kSymbol: return string(e);
      case Type::kBool: return out_.push(e.asBool() ? kTrue : kFalse);
      default: out_.push(rankTag(e.type())); return value(e);
    }
  }

 private:
  void value(const Element& e) {
    switch (e.type()) {
      case Type::kObjectId: return out_.append(e.value(), 12);
      // Two's complement with the sign inverted orders as unsigned bytes.
      case Type::kDate: return out_.appendBigEndian(static_cast<uint64_t>(e.asDate().millis) ^ kSignBit);
      case Type::kTimestamp: return out_.appendBigEndian(e.asTimestamp().asUint64());
      case Type::kDocument: return document(e.asDocument(), collator_);
      case Type::kArray:
        for (const Element& item : e.asArray()) write(item);
        return out_.push(kClose);
      case Type::kBinary: {
        // By length, then by subtype, then by bytes: the order of the query language.
        const bson::Binary binary = e.asBinary();
        out_.appendBigEndian(static_cast<uint32_t>(binary.bytes.size()));
        out_.push(binary.subtype);
        return out_.append(binary.bytes);
      }
      case Type::kRegex: return out_.append(e.valueBytes());
      case Type::kDBPointer: {
        const bson::DBPointer pointer = e.asDBPointer();
        out_.appendBigEndian(static_cast<uint32_t>(pointer.ns.size()));
        out_.append(pointer.ns);
        return out_.append(pointer.id.bytes.data(), pointer.id.bytes.size());
      }
      case Type::kCode: return escaped(e.asString());
      case Type::kCodeWithScope: escaped(e.codeWithScopeCode()); return document(e.codeWithScopeScope(), nullptr);
      default: return;  // MinKey, undefined, null and MaxKey are all tag
    }
  }

  void string(const Element& e) {
    // Symbols order among strings; the type bits tell them apart again. With a collation the text itself is not in the
    // key, which therefore covers no query.
    out_.push(kString);
    bits_.put(e.is(Type::kSymbol) ? 1 : 0, 1);
    if (!collator_) return escaped(e.asString());
    std::string key;
    collator_->appendComparisonKey(e.asString(), key);
    escaped(key);
  }

  /// The text up to the closing NUL. A NUL within is followed by a byte that is higher than any tag behind the end, so
  /// that "a" orders before "a\0b".
  void escaped(std::string_view text) {
    for (;;) {
      const size_t nul = text.find('\0');
      if (nul == std::string_view::npos) break;
      out_.append(text.substr(0, nul + 1));
      out_.push(kEscaped);
      text.remove_prefix(nul + 1);
    }
    out_.append(text);
    out_.push(kClose);
  }

  void document(bson::View view, const bson::Collator* collator) {
    const bson::Collator* outer = std::exchange(collator_, collator);
    // Documents compare field by field: by rank of the value, by name, by value. Hence the rank stands in front.
    for (const Element& field : view) {
      out_.push(rankTag(field.type()));
      out_.append(field.name().data(), field.name().size() + 1);  // with its NUL
      write(field);
    }
    out_.push(kClose);
    collator_ = outer;
  }

  Buffer& out_;
  TypeBitsWriter& bits_;
  const bson::Collator* collator_;
};

/// Reads components back into a document.
class ComponentReader {
 public:
  ComponentReader(std::string_view bytes, std::string_view typeBits) : in_(bytes), bits_(typeBits) {}

  /// Reads all components up to the end byte, naming each by `nameOf(index)`.
  template <class NameOf>
  StatusWith<bson::Document> readAll(Ordering ordering, NameOf&& nameOf) {
    bson::Builder out;
    for (size_t field = 0;; ++field) {
      const uint8_t next = in_.peekRaw();
      if (next == kEnd || next == kEndBefore || next == kEndAfter) break;
      in_.setMask(ordering.isDescending(field) ? 0xFF : 0);
      read(out, nameOf(field), 0);
      if (in_.failed()) return {ErrorCode::kFailedToParse, "the bytes of an index key are damaged"};
    }
    return out.finish();
  }

 private:
  void read(bson::Builder& out, std::string_view name, int depth) {
    const uint8_t tag = in_.byte();
    if (tag >= kNaN && tag <= kPositiveInfinity) return readNumber(tag, in_, bits_, out, name);
    switch (tag) {
      case kMinKey: out.append(name, bson::MinKey{}); return;
      case kUndefined: out.append(name, bson::Undefined{}); return;
      case kNull: out.append(name, bson::Null{}); return;
      case kString: return string(out, name);
      case kDocument:
      case kArray: return nested(tag, out, name, depth);
      case kBinary: return binary(out, name);
      case kObjectId: out.append(name, objectId()); return;
      case kFalse: out.append(name, false); return;
      case kTrue: out.append(name, true); return;
      case kDate: out.append(name, bson::Date{static_cast<int64_t>(in_.bigEndian(8) ^ kSignBit)}); return;
      case kTimestamp: out.append(name, bson::Timestamp::fromUint64(in_.bigEndian(8))); return;
      case kRegex: return regex(out, name);
      case kDBPointer: return pointer(out, name);
      case kCode: out.append(name, bson::Code{unescaped()}); return;
      case kCodeWithScope: return codeWithScope(out, name, depth);
      case kMaxKey: out.append(name, bson::MaxKey{}); return;
      default: return in_.fail();
    }
  }

  void string(bson::Builder& out, std::string_view name) {
    const bool symbol = bits_.take(1) != 0;
    const std::string text = unescaped();
    if (symbol) out.append(name, bson::Symbol{text});
    else out.append(name, text);
  }

  void nested(uint8_t tag, bson::Builder& out, std::string_view name, int depth) {
    if (depth >= kMaxDepth) return in_.fail();
    if (tag == kArray) {
      out.openArray(name);
      items(out, depth + 1);
    } else {
      out.openDocument(name);
      fields(out, depth + 1);
    }
    out.close();
  }

  void items(bson::Builder& out, int depth) {
    for (uint32_t index = 0; !in_.failed() && in_.peek() != kClose; ++index) {
      char digits[12];
      const auto end = std::to_chars(digits, digits + sizeof digits, index).ptr;
      read(out, {digits, static_cast<size_t>(end - digits)}, depth);
    }
    in_.byte();
  }

  void fields(bson::Builder& out, int depth) {
    while (!in_.failed() && in_.byte() != kClose) {
      const std::string name = untilNul();
      read(out, name, depth);
    }
  }

  void binary(bson::Builder& out, std::string_view name) {
    const auto size = static_cast<size_t>(in_.bigEndian(4));
    const uint8_t subtype = in_.byte();
    const std::string bytes = in_.take(size);
    // Subtype 2 repeats its length inside, which damage may have changed.
    if (subtype == 2 && (size < 4 || in_.failed() || bson::load<uint32_t>(bytes.data()) != size - 4)) return in_.fail();
    out.append(name, bson::Binary{subtype, bytes});
  }

  void regex(bson::Builder& out, std::string_view name) {
    const std::string pattern = untilNul(), options = untilNul();
    out.append(name, bson::Regex{pattern, options});
  }

  void pointer(bson::Builder& out, std::string_view name) {
    const auto size = static_cast<size_t>(in_.bigEndian(4));
    const std::string ns = in_.take(size);
    out.append(name, bson::DBPointer{ns, objectId()});
  }

  void codeWithScope(bson::Builder& out, std::string_view name, int depth) {
    if (depth >= kMaxDepth) return in_.fail();
    const std::string code = unescaped();
    bson::Builder scope;
    fields(scope, depth + 1);
    const bson::Document document = scope.finish();
    const auto codeSize = static_cast<int32_t>(code.size() + 1);
    const auto total = static_cast<int32_t>(8 + code.size() + 1 + document.bytes().size());
    std::string value(reinterpret_cast<const char*>(&total), sizeof total);
    value.append(reinterpret_cast<const char*>(&codeSize), sizeof codeSize);
    value.append(code).push_back('\0');
    out.appendRaw(name, Type::kCodeWithScope, value.append(document.bytes()));
  }

  bson::ObjectId objectId() {
    bson::ObjectId id;
    for (uint8_t& byte : id.bytes) byte = in_.byte();
    return id;
  }

  std::string untilNul() {
    std::string text;
    while (!in_.failed()) {
      const uint8_t byte = in_.byte();
      if (byte == 0) break;
      text.push_back(static_cast<char>(byte));
    }
    return text;
  }

  std::string unescaped() {
    std::string text;
    while (!in_.failed()) {
      text += untilNul();
      if (in_.atEnd() || in_.peek() != kEscaped) break;
      in_.byte();
      text.push_back('\0');
    }
    return text;
  }

  ByteReader in_;
  TypeBitsReader bits_;
};

}  // namespace

Builder& Builder::append(const Element& value, const bson::Collator* collator) {
  invariant(!finished_, "components come before the end of a key");
  const size_t start = bytes_.size();
  ComponentWriter(bytes_, typeBits_, collator).write(value);
  if (ordering_.isDescending(field_)) bytes_.invertFrom(start);  // the complement of bytes orders the other way round
  ++field_;
  return *this;
}

Builder& Builder::finish(Discriminator discriminator) {
  switch (discriminator) {
    case Discriminator::kInclusive: bytes_.push(kEnd); break;
    case Discriminator::kExclusiveBefore: bytes_.push(kEndBefore); break;
    case Discriminator::kExclusiveAfter: bytes_.push(kEndAfter); break;
  }
  finished_ = true;
  return *this;
}

Builder& Builder::appendRecordId(int64_t id) {
  if (!finished_) finish();
  bytes_.appendBigEndian(static_cast<uint64_t>(id) ^ kSignBit);
  return *this;
}

void Builder::reset() {
  bytes_.clear();
  typeBits_.clear();
  field_ = 0;
  finished_ = false;
}

int compare(std::string_view a, std::string_view b) {
  const int c = a.compare(b);
  return static_cast<int>(c > 0) - static_cast<int>(c < 0);
}

StatusWith<bson::Value> decode(std::string_view bytes, std::string_view typeBits, Ordering ordering) {
  char digits[12];
  const auto index = [&digits](size_t field) {
    return std::string_view(digits, std::to_chars(digits, digits + sizeof digits, field).ptr);
  };
  TROUPE_ASSIGN(const bson::Document values, ComponentReader(bytes, typeBits).readAll(ordering, index));
  return bson::Value::array(values);
}

StatusWith<bson::Document> decodeWithNames(std::string_view bytes, std::string_view typeBits, bson::View keyPattern) {
  TROUPE_ASSIGN(const Ordering ordering, Ordering::fromKeyPattern(keyPattern));
  auto next = keyPattern.begin();
  const auto name = [&next](size_t) { return next == bson::View::Iterator() ? std::string_view() : (next++)->name(); };
  return ComponentReader(bytes, typeBits).readAll(ordering, name);
}

std::optional<int64_t> recordIdAtEnd(std::string_view bytes) {
  if (bytes.size() <= kRecordIdSize) return std::nullopt;
  return decodeRecordId(bytes.substr(bytes.size() - kRecordIdSize));
}

std::string_view withoutRecordId(std::string_view bytes) {
  return bytes.substr(0, bytes.size() - std::min(bytes.size(), kRecordIdSize));
}

std::array<char, 8> encodeRecordId(int64_t id) {
  const uint64_t bigEndian = __builtin_bswap64(static_cast<uint64_t>(id) ^ kSignBit);
  std::array<char, 8> bytes;
  std::memcpy(bytes.data(), &bigEndian, sizeof bigEndian);
  return bytes;
}

int64_t decodeRecordId(std::string_view bytes) {
  return static_cast<int64_t>(__builtin_bswap64(bson::load<uint64_t>(bytes.data())) ^ kSignBit);
}

}  // namespace key_string
}  // namespace troupe::storage
