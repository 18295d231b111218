#include "messaging/bson/document.hpp"

#include "messaging/errors/invariant.hpp"

#include <charconv>

namespace troupe::bson {

Builder::Builder() {
  levels_.reserve(4);
  levels_.push_back({0, 0});
  put<int32_t>(0);
}

Builder::Builder(size_t prefix, std::string storage) : buffer_(std::move(storage)) {
  buffer_.assign(prefix, '\0');
  levels_.reserve(4);
  levels_.push_back({static_cast<uint32_t>(prefix), 0});
  put<int32_t>(0);
}

void Builder::header(std::string_view name, Type type) {
  invariant(name.find('\0') == std::string_view::npos, "a field name ends at its first NUL: readers trust lengths");
  buffer_.push_back(static_cast<char>(type));
  buffer_.append(name);
  buffer_.push_back('\0');
}

std::string_view Builder::nextIndex(char (&digits)[12]) {
  const auto end = std::to_chars(digits, digits + sizeof digits, levels_.back().next++).ptr;
  return {digits, static_cast<size_t>(end - digits)};
}

Builder& Builder::append(std::string_view name, double v) {
  header(name, Type::kDouble);
  put(v);
  return *this;
}
Builder& Builder::append(std::string_view name, int32_t v) {
  header(name, Type::kInt32);
  put(v);
  return *this;
}
Builder& Builder::append(std::string_view name, int64_t v) {
  header(name, Type::kInt64);
  put(v);
  return *this;
}

Builder& Builder::append(std::string_view name, bool v) {
  header(name, Type::kBool);
  buffer_.push_back(v ? 1 : 0);
  return *this;
}

Builder& Builder::append(std::string_view name, std::string_view v) {
  header(name, Type::kString);
  put(static_cast<int32_t>(v.size() + 1));
  buffer_.append(v);
  buffer_.push_back('\0');
  return *this;
}

Builder& Builder::append(std::string_view name, View document) {
  return appendRaw(name, Type::kDocument, document.bytes());
}

Builder& Builder::appendArray(std::string_view name, View array) {
  return appendRaw(name, Type::kArray, array.bytes());
}

Builder& Builder::append(std::string_view name, const ObjectId& v) {
  return appendRaw(name, Type::kObjectId, {reinterpret_cast<const char*>(v.bytes.data()), v.bytes.size()});
}

Builder& Builder::append(std::string_view name, const Uuid& v) {
  return append(name, Binary{kBinaryUuid, {reinterpret_cast<const char*>(v.bytes.data()), v.bytes.size()}});
}

Builder& Builder::append(std::string_view name, Date v) {
  header(name, Type::kDate);
  put(v.millis);
  return *this;
}

Builder& Builder::append(std::string_view name, Timestamp v) {
  header(name, Type::kTimestamp);
  put(v.asUint64());
  return *this;
}

Builder& Builder::append(std::string_view name, Decimal128 v) {
  header(name, Type::kDecimal128);
  put(v.low);
  put(v.high);
  return *this;
}

Builder& Builder::append(std::string_view name, const Binary& v) {
  header(name, Type::kBinary);
  put(static_cast<int32_t>(v.bytes.size()));
  buffer_.push_back(static_cast<char>(v.subtype));
  buffer_.append(v.bytes);
  return *this;
}

Builder& Builder::append(std::string_view name, const Regex& v) {
  header(name, Type::kRegex);
  buffer_.append(v.pattern).push_back('\0');
  buffer_.append(v.options).push_back('\0');
  return *this;
}

Builder& Builder::append(std::string_view name, Code v) {
  header(name, Type::kCode);
  put(static_cast<int32_t>(v.code.size() + 1));
  buffer_.append(v.code).push_back('\0');
  return *this;
}

Builder& Builder::append(std::string_view name, Symbol v) {
  header(name, Type::kSymbol);
  put(static_cast<int32_t>(v.symbol.size() + 1));
  buffer_.append(v.symbol).push_back('\0');
  return *this;
}

Builder& Builder::append(std::string_view name, const DBPointer& v) {
  header(name, Type::kDBPointer);
  put(static_cast<int32_t>(v.ns.size() + 1));
  buffer_.append(v.ns).push_back('\0');
  buffer_.append(reinterpret_cast<const char*>(v.id.bytes.data()), v.id.bytes.size());
  return *this;
}

Builder& Builder::append(std::string_view name, Null) {
  header(name, Type::kNull);
  return *this;
}
Builder& Builder::append(std::string_view name, Undefined) {
  header(name, Type::kUndefined);
  return *this;
}
Builder& Builder::append(std::string_view name, MinKey) {
  header(name, Type::kMinKey);
  return *this;
}
Builder& Builder::append(std::string_view name, MaxKey) {
  header(name, Type::kMaxKey);
  return *this;
}

Builder& Builder::append(std::string_view name, const Element& e) {
  if (e.ok()) appendRaw(name, e.type(), e.valueBytes());
  return *this;
}

Builder& Builder::append(std::string_view name, const Value& v) {
  if (v.ok()) appendRaw(name, v.type(), v.valueBytes());
  return *this;
}

Builder& Builder::append(const Element& e) {
  if (e.ok()) buffer_.append(e.raw());
  return *this;
}

Builder& Builder::appendAll(View document) {
  buffer_.append(document.data() + 4, document.size() - 5);
  return *this;
}

Builder& Builder::appendRaw(std::string_view name, Type type, std::string_view valueBytes) {
  header(name, type);
  buffer_.append(valueBytes);
  return *this;
}

Builder& Builder::open(std::string_view name, Type type) {
  header(name, type);
  levels_.push_back({static_cast<uint32_t>(buffer_.size()), 0});
  put<int32_t>(0);
  return *this;
}

Builder& Builder::close() {
  buffer_.push_back('\0');
  const uint32_t start = levels_.back().start;
  const auto length = static_cast<int32_t>(buffer_.size() - start);
  std::memcpy(buffer_.data() + start, &length, sizeof length);
  levels_.pop_back();
  return *this;
}

Document Builder::finish() {
  while (!levels_.empty()) close();
  Document result = Document::adopt(std::move(buffer_));
  buffer_.clear();
  levels_.push_back({0, 0});
  put<int32_t>(0);
  return result;
}

std::string Builder::finishBytes() {
  while (!levels_.empty()) close();
  return std::move(buffer_);
}

Value Builder::finishArray() { return Value::array(finish()); }

Value::Value(const Element& e) { assign(e); }

void Value::assign(const Element& e) {
  if (!e.ok()) return bytes_.clear();
  bytes_.reserve(2 + e.valueSize());
  bytes_.assign(1, static_cast<char>(e.type()));
  bytes_.push_back('\0');
  bytes_.append(e.valueBytes());
}

Value Value::array(View elements) { return raw(Type::kArray, elements.bytes()); }

Value Value::raw(Type type, std::string_view valueBytes) {
  Value v;
  v.bytes_.reserve(2 + valueBytes.size());
  v.bytes_.assign(1, static_cast<char>(type));
  v.bytes_.push_back('\0');
  v.bytes_.append(valueBytes);
  return v;
}

Value Value::string(std::string_view text) {
  Value v;
  const auto length = static_cast<int32_t>(text.size() + 1);
  v.bytes_.reserve(2 + sizeof length + text.size() + 1);
  v.bytes_.assign(1, static_cast<char>(Type::kString));
  v.bytes_.push_back('\0');
  v.bytes_.append(reinterpret_cast<const char*>(&length), sizeof length).append(text).push_back('\0');
  return v;
}

}  // namespace troupe::bson
