#pragma once
#include <cstdint>
#include <iterator>
#include <string_view>

#include "messaging/bson/types.hpp"

namespace troupe::bson {

class View;

/// Size in bytes of a valid element's value of this type that starts at `value`.
uint32_t valueSizeOf(Type type, const char* value);

/// One field of a document: a borrowed pointer into bytes that were validated (validate.hpp). Cheap to copy. It must
/// not outlive the bytes. A default-constructed element is "absent": `ok()` is false and `type()` is kEnd.
class Element {
 public:
  Element() = default;
  /// `raw` points at the type byte of a valid element.
  explicit Element(const char* raw)
      : raw_(raw),
        nameSize_(static_cast<uint32_t>(std::strlen(raw + 1))),
        valueSize_(sizeOf(static_cast<Type>(static_cast<uint8_t>(*raw)), raw + 2 + nameSize_)) {}

  bool ok() const { return raw_ != nullptr; }
  explicit operator bool() const { return ok(); }
  Type type() const { return raw_ ? static_cast<Type>(static_cast<uint8_t>(*raw_)) : Type::kEnd; }
  std::string_view name() const { return raw_ ? std::string_view(raw_ + 1, nameSize_) : std::string_view(); }
  /// The whole element: type byte, name, NUL, value.
  std::string_view raw() const { return {raw_, size()}; }
  uint32_t size() const { return 2 + nameSize_ + valueSize_; }
  const char* value() const { return raw_ + 2 + nameSize_; }
  uint32_t valueSize() const { return valueSize_; }
  std::string_view valueBytes() const { return raw_ ? std::string_view(value(), valueSize_) : std::string_view(); }

  bool is(Type t) const { return type() == t; }
  bool isNumber() const;
  bool isNullish() const { return !ok() || is(Type::kNull) || is(Type::kUndefined); }
  bool isObjectLike() const { return is(Type::kDocument) || is(Type::kArray); }

  // Typed access: the caller has checked the type.
  double asDouble() const { return load<double>(value()); }
  int32_t asInt32() const { return load<int32_t>(value()); }
  int64_t asInt64() const { return load<int64_t>(value()); }
  bool asBool() const { return *value() != 0; }
  Date asDate() const { return {load<int64_t>(value())}; }
  Timestamp asTimestamp() const { return Timestamp::fromUint64(load<uint64_t>(value())); }
  Decimal128 asDecimal() const { return {load<uint64_t>(value()), load<uint64_t>(value() + 8)}; }
  ObjectId asObjectId() const;
  /// String, code or symbol, without the closing NUL.
  std::string_view asString() const { return {value() + 4, static_cast<size_t>(load<int32_t>(value()) - 1)}; }
  View asDocument() const;  ///< document or array
  View asArray() const;     ///< array; the names are the indexes
  Binary asBinary() const;
  Regex asRegex() const;
  DBPointer asDBPointer() const;
  std::string_view codeWithScopeCode() const;
  View codeWithScopeScope() const;

  // Lenient access, for arguments: any number (or bool), else the fallback. Doubles are truncated and clamped.
  int64_t toInt64(int64_t fallback = 0) const;
  double toDouble(double fallback = 0) const;
  /// True for `true` and non-zero numbers; false for false, zero, null, undefined and absent; true for all else.
  bool truthy() const;
  std::string_view toStringOr(std::string_view fallback = {}) const;

  /// Same type, name and bytes.
  bool identical(const Element& other) const { return raw() == other.raw(); }

 private:
  /// The usual types inline: walking documents is the hot loop of every query.
  static uint32_t sizeOf(Type type, const char* value) {
    switch (type) {
      case Type::kInt32: return 4;
      case Type::kDouble:
      case Type::kDate:
      case Type::kTimestamp:
      case Type::kInt64: return 8;
      case Type::kString: return 4 + static_cast<uint32_t>(load<int32_t>(value));
      case Type::kDocument:
      case Type::kArray: return static_cast<uint32_t>(load<int32_t>(value));
      case Type::kObjectId: return 12;
      case Type::kBool: return 1;
      default: return valueSizeOf(type, value);
    }
  }

  const char* raw_ = nullptr;
  uint32_t nameSize_ = 0;
  uint32_t valueSize_ = 0;
};

/// A borrowed, validated document or array. Cheap to copy; must not outlive its bytes. The default is the empty
/// document.
class View {
 public:
  View() : data_(kEmpty) {}
  /// `data` points at the length of a valid document.
  explicit View(const char* data) : data_(data) {}

  const char* data() const { return data_; }
  uint32_t size() const { return static_cast<uint32_t>(load<int32_t>(data_)); }
  std::string_view bytes() const { return {data_, size()}; }
  bool empty() const { return size() <= 5; }
  /// Number of fields; walks the document.
  int count() const;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using pointer = const Element*;
    using reference = const Element&;
    Iterator() = default;
    explicit Iterator(const char* at) { load(at); }
    const Element& operator*() const { return element_; }
    const Element* operator->() const { return &element_; }
    Iterator& operator++() {
      load(element_.raw().data() + element_.size());
      return *this;
    }
    Iterator operator++(int) {
      auto old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator& other) const {
      return element_.ok() == other.element_.ok() &&
             (!element_.ok() || element_.raw().data() == other.element_.raw().data());
    }

   private:
    void load(const char* at) { element_ = *at ? Element(at) : Element(); }
    Element element_;
  };
  Iterator begin() const { return Iterator(data_ + 4); }
  Iterator end() const { return {}; }

  /// The first field of that name, or an absent element.
  Element operator[](std::string_view name) const;
  /// Follows a dotted path through documents only (array indexes as names also work); absent where it leads nowhere.
  Element at(std::string_view dottedPath) const;
  Element first() const { return *begin(); }
  bool has(std::string_view name) const { return (*this)[name].ok(); }

  bool operator==(const View& other) const { return bytes() == other.bytes(); }

 private:
  static const char kEmpty[5];
  const char* data_;
};

/// Has the value more levels of documents and arrays, its own included, than `levels`? By recursion of that depth at
/// most; values too small for it are not looked at.
bool nestsDeeper(const Element& e, int levels);

}  // namespace troupe::bson
