#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "messaging/bson/view.hpp"

namespace troupe::bson {

/// A document that owns its bytes. Converts to View; moving it moves the bytes (views into it then dangle).
class Document {
 public:
  Document() : bytes_(View().bytes()) {}
  explicit Document(View view) : bytes_(view.bytes()) {}
  /// Takes bytes that are known to be a valid document.
  static Document adopt(std::string bytes) {
    Document d(Raw{});
    d.bytes_ = std::move(bytes);
    return d;
  }

  operator View() const { return view(); }  // NOLINT: a document is usable as its view
  View view() const { return View(bytes_.data()); }
  const std::string& bytes() const { return bytes_; }
  std::string release() && { return std::move(bytes_); }
  Element operator[](std::string_view name) const { return view()[name]; }
  bool empty() const { return view().empty(); }
  bool operator==(const Document& other) const { return bytes_ == other.bytes_; }

 private:
  struct Raw {};
  explicit Document(Raw) {}
  std::string bytes_;
};

class Value;

/// Writes a document front to back into one buffer. Nested documents are opened and closed on the same builder:
///   Builder b; b.append("n", 1).openArray("list"); b.append("0", "x"); b.close(); Document d = b.finish();
/// In an array, `push(v)` names the field by its index. Not thread-safe.
class Builder {
 public:
  Builder();
  /// Starts the document behind `prefix` zero bytes (the header of a message), in the memory of `storage`.
  explicit Builder(size_t prefix, std::string storage = {});

  // One overload a BSON type; int, long and long long by their width.
  Builder& append(std::string_view name, double v);
  Builder& append(std::string_view name, int32_t v);
  Builder& append(std::string_view name, int64_t v);
  Builder& append(std::string_view name, long long v) { return append(name, static_cast<int64_t>(v)); }
  Builder& append(std::string_view name, bool v);
  Builder& append(std::string_view name, std::string_view v);
  Builder& append(std::string_view name, const char* v) { return append(name, std::string_view(v)); }
  Builder& append(std::string_view name, std::nullptr_t) { return append(name, Null()); }
  Builder& append(std::string_view name, const std::string& v) { return append(name, std::string_view(v)); }
  Builder& append(std::string_view name, View document);
  Builder& append(std::string_view name, const Document& document) { return append(name, document.view()); }
  Builder& appendArray(std::string_view name, View array);
  Builder& append(std::string_view name, const ObjectId& v);
  Builder& append(std::string_view name, const Uuid& v);
  Builder& append(std::string_view name, Date v);
  Builder& append(std::string_view name, Timestamp v);
  Builder& append(std::string_view name, Decimal128 v);
  Builder& append(std::string_view name, const Binary& v);
  Builder& append(std::string_view name, const Regex& v);
  Builder& append(std::string_view name, Code v);
  Builder& append(std::string_view name, Symbol v);
  Builder& append(std::string_view name, const DBPointer& v);
  Builder& append(std::string_view name, Null);
  Builder& append(std::string_view name, Undefined);
  Builder& append(std::string_view name, MinKey);
  Builder& append(std::string_view name, MaxKey);
  /// The element's value under a new name.
  Builder& append(std::string_view name, const Element& e);
  Builder& append(std::string_view name, const Value& v);
  /// An array of strings, numbers or documents.
  template <class T>
  Builder& append(std::string_view name, const std::vector<T>& items) {
    openArray(name);
    for (const auto& item : items) push(item);
    return close();
  }
  /// The element with its own name.
  Builder& append(const Element& e);
  /// All fields of a document.
  Builder& appendAll(View document);
  /// A block of neighbouring elements, as they lie in a document.
  Builder& appendElements(std::string_view rawElements) {
    buffer_.append(rawElements);
    return *this;
  }
  /// A value by type and bytes.
  Builder& appendRaw(std::string_view name, Type type, std::string_view valueBytes);

  /// Appends to the innermost open array, naming the field by its index.
  template <class T>
  Builder& push(const T& v) {
    char digits[12];
    return append(nextIndex(digits), v);
  }
  Builder& pushArray(View array) {
    char digits[12];
    return appendArray(nextIndex(digits), array);
  }

  Builder& openDocument(std::string_view name) { return open(name, Type::kDocument); }
  Builder& openArray(std::string_view name) { return open(name, Type::kArray); }
  /// Opens a document inside the innermost open array.
  Builder& pushDocument() {
    char digits[12];
    return openDocument(nextIndex(digits));
  }
  Builder& pushOpenArray() {
    char digits[12];
    return openArray(nextIndex(digits));
  }
  /// Closes the innermost open document or array.
  Builder& close();

  /// How many documents and arrays are open, the outermost included.
  int depth() const { return static_cast<int>(levels_.size()); }
  /// Bytes written so far, including headers of open documents.
  size_t size() const { return buffer_.size(); }
  void reserve(size_t bytes) { buffer_.reserve(bytes); }
  /// Closes the outermost document and hands it over; the builder is empty again.
  Document finish();
  /// Closes the outermost document and hands over all bytes with the prefix in front; the builder is used up.
  std::string finishBytes();
  /// As `finish`, into a value of type array (the builder was used with `push`).
  Value finishArray();

 private:
  struct Level {
    uint32_t start;
    uint32_t next;
  };
  Builder& open(std::string_view name, Type type);
  void header(std::string_view name, Type type);
  std::string_view nextIndex(char (&digits)[12]);
  template <class T>
  void put(const T& v) {
    buffer_.append(reinterpret_cast<const char*>(&v), sizeof(T));
  }

  std::string buffer_;
  std::vector<Level> levels_;
};

/// A value that owns its bytes: one nameless element. Scalars stay within the string's inline space, so that values of
/// numbers, dates and short strings do not allocate. The default is "missing" (`ok()` is false).
class Value {
 public:
  Value() = default;
  explicit Value(const Element& e);
  template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Value> &&
                                              !std::is_same_v<std::decay_t<T>, Element>>>
  explicit Value(const T& v) {
    Builder b;
    b.append("", v);
    assign(b.finish().view().first());
  }
  static Value array(View elements);
  static Value raw(Type type, std::string_view valueBytes);
  /// Of any length, with one allocation and one copy.
  static Value string(std::string_view text);

  bool ok() const { return !bytes_.empty(); }
  Type type() const { return ok() ? static_cast<Type>(static_cast<uint8_t>(bytes_[0])) : Type::kEnd; }
  /// Borrowed; valid until this value changes.
  Element element() const { return ok() ? Element(bytes_.data()) : Element(); }
  std::string_view valueBytes() const { return ok() ? std::string_view(bytes_).substr(2) : std::string_view(); }

 private:
  void assign(const Element& e);
  std::string bytes_;  // type byte, NUL (empty name), value
};

/// `doc("a", 1, "b", "x")` for short fixed documents.
template <class... Args>
Document doc(Args&&... args) {
  Builder b;
  if constexpr (sizeof...(args) > 0) {
    const auto each = [&b](auto&& self, std::string_view name, const auto& value, const auto&... rest) -> void {
      b.append(name, value);
      if constexpr (sizeof...(rest) > 0) self(self, rest...);
    };
    each(each, args...);
  }
  return b.finish();
}

/// `array(1, "x", doc(...))` as a value of type array.
template <class... Args>
Value array(const Args&... args) {
  Builder b;
  (b.push(args), ...);
  return b.finishArray();
}

}  // namespace troupe::bson
