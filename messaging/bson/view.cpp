#include "messaging/bson/view.hpp"

#include <algorithm>

#include <cmath>
#include <limits>

#include "messaging/bson/numeric.hpp"

namespace troupe::bson {

const char View::kEmpty[5] = {5, 0, 0, 0, 0};

uint32_t valueSizeOf(Type type, const char* value) {
  switch (type) {
    case Type::kEnd:
    case Type::kUndefined:
    case Type::kNull:
    case Type::kMinKey:
    case Type::kMaxKey: return 0;
    case Type::kBool: return 1;
    case Type::kInt32: return 4;
    case Type::kDouble:
    case Type::kDate:
    case Type::kTimestamp:
    case Type::kInt64: return 8;
    case Type::kObjectId: return 12;
    case Type::kDecimal128: return 16;
    case Type::kString:
    case Type::kCode:
    case Type::kSymbol: return 4 + static_cast<uint32_t>(load<int32_t>(value));
    case Type::kDocument:
    case Type::kArray:
    case Type::kCodeWithScope: return static_cast<uint32_t>(load<int32_t>(value));
    case Type::kBinary: return 5 + static_cast<uint32_t>(load<int32_t>(value));
    case Type::kDBPointer: return 4 + static_cast<uint32_t>(load<int32_t>(value)) + 12;
    case Type::kRegex: {
      const size_t pattern = std::strlen(value) + 1;
      return static_cast<uint32_t>(pattern + std::strlen(value + pattern) + 1);
    }
  }
  return 0;
}

bool Element::isNumber() const {
  switch (type()) {
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128: return true;
    default: return false;
  }
}

ObjectId Element::asObjectId() const {
  ObjectId id;
  std::memcpy(id.bytes.data(), value(), id.bytes.size());
  return id;
}

View Element::asDocument() const { return View(value()); }
View Element::asArray() const { return View(value()); }

Binary Element::asBinary() const {
  return {static_cast<uint8_t>(value()[4]), {value() + 5, static_cast<size_t>(load<int32_t>(value()))}};
}

Regex Element::asRegex() const {
  const std::string_view pattern(value());
  return {pattern, std::string_view(value() + pattern.size() + 1)};
}

DBPointer Element::asDBPointer() const {
  DBPointer pointer{asString(), {}};
  std::memcpy(pointer.id.bytes.data(), value() + 4 + load<int32_t>(value()), 12);
  return pointer;
}

std::string_view Element::codeWithScopeCode() const {
  return {value() + 8, static_cast<size_t>(load<int32_t>(value() + 4) - 1)};
}

View Element::codeWithScopeScope() const { return View(value() + 8 + load<int32_t>(value() + 4)); }

int64_t Element::toInt64(int64_t fallback) const {
  switch (type()) {
    case Type::kInt32: return asInt32();
    case Type::kInt64: return asInt64();
    case Type::kBool: return asBool() ? 1 : 0;
    case Type::kDouble: return saturatingInt64(asDouble());
    case Type::kDecimal128: return roundedInt64(asDecimal());
    default: return fallback;
  }
}

double Element::toDouble(double fallback) const {
  switch (type()) {
    case Type::kInt32: return asInt32();
    case Type::kInt64: return static_cast<double>(asInt64());
    case Type::kBool: return asBool() ? 1 : 0;
    case Type::kDouble: return asDouble();
    case Type::kDecimal128: return toDoubleLossy(asDecimal());
    default: return fallback;
  }
}

bool Element::truthy() const {
  switch (type()) {
    case Type::kEnd:
    case Type::kNull:
    case Type::kUndefined: return false;
    case Type::kBool: return asBool();
    case Type::kInt32: return asInt32() != 0;
    case Type::kInt64: return asInt64() != 0;
    case Type::kDouble: return asDouble() != 0;
    case Type::kDecimal128: return !isZero(asDecimal());
    default: return true;
  }
}

std::string_view Element::toStringOr(std::string_view fallback) const {
  return is(Type::kString) || is(Type::kSymbol) ? asString() : fallback;
}

int View::count() const {
  int n = 0;
  for (auto it = begin(); it != end(); ++it) ++n;
  return n;
}

Element View::operator[](std::string_view name) const {
  for (const Element& e : *this) {
    if (e.name() == name) return e;
  }
  return {};
}

Element View::at(std::string_view dottedPath) const {
  View here = *this;
  for (;;) {
    const auto dot = dottedPath.find('.');
    const Element e = here[dottedPath.substr(0, dot)];
    if (dot == std::string_view::npos || !e.ok()) return e;
    if (!e.isObjectLike()) return {};
    here = e.asDocument();
    dottedPath.remove_prefix(dot + 1);
  }
}

bool nestsDeeper(const Element& e, int levels) {
  constexpr size_t kLeastBytes = 7;  // that a level takes: a length, an end, and the header of its field
  if (!e.isObjectLike()) return false;
  if (levels <= 0) return true;
  if (e.valueSize() <= kLeastBytes * static_cast<size_t>(levels)) return false;
  const View inner = e.asDocument();
  return std::any_of(inner.begin(), inner.end(), [&](const Element& item) { return nestsDeeper(item, levels - 1); });
}

}  // namespace troupe::bson
