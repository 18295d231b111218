#include "messaging/log/bounded_attributes.hpp"

#include <algorithm>

namespace troupe::log {

namespace {

using bson::Element;
using bson::Type;

/// Attributes of that size are written as they are: no value takes more than eight times its bytes as JSON.
constexpr size_t kSmallBytes = kMostLineBytes / 8;
/// Of one attribute as JSON, so that a large one leaves room for those behind it.
constexpr size_t kMostAttributeBytes = 20 * 1024;
constexpr size_t kMostNameBytes = 1024;
/// Cost of a value that is no text and holds no others: `{"$numberDecimal": "..."}`.
constexpr size_t kScalarBytes = 64;
constexpr size_t kMostDepth = 50;

size_t jsonSize(char c) {
  if (static_cast<unsigned char>(c) < 0x20) return 6;
  return c == '"' || c == '\\' ? 2 : 1;
}

size_t jsonSize(std::string_view text) {
  size_t size = 0;
  for (const char c : text) size += jsonSize(c);
  return size;
}

/// How many of the first bytes take at most `room` bytes as JSON.
size_t fitting(std::string_view text, size_t room) {
  size_t bytes = 0;
  while (bytes < text.size() && jsonSize(text[bytes]) <= room) room -= jsonSize(text[bytes++]);
  return bytes;
}

/// Copies attributes and leaves out what does not fit.
class Cutter {
 public:
  void attribute(const Element& e) {
    whole_ = true;
    const size_t given = std::min(left_, kMostAttributeBytes);
    room_ = std::max(given, kMostNameBytes);  // small ones always fit
    const size_t before = room_;
    copy(e, 0);
    left_ -= std::min(left_, before - room_);
    if (!whole_)
      truncated.append(e.name(),
                       bson::doc("type", bson::typeName(e.type()), "size", static_cast<int64_t>(e.valueSize())));
  }

  bson::Builder out, truncated;

 private:
  void copy(const Element& e, size_t depth) {
    const size_t name = e.name().size() > kMostNameBytes ? room_ + 1 : jsonSize(e.name()) + kScalarBytes;
    if (depth > kMostDepth || name > room_) return void(whole_ = false);
    room_ -= name;
    switch (e.type()) {
      case Type::kDocument:
      case Type::kArray: return copyAll(e, depth);
      case Type::kString: return copyText(e);
      default: break;
    }
    const size_t size = size_t{e.valueSize()} * 6;
    if (size > room_) return void(whole_ = false);
    room_ -= size;
    out.append(e);
  }

  void copyAll(const Element& e, size_t depth) {
    if (e.is(Type::kArray)) out.openArray(e.name());
    else out.openDocument(e.name());
    const bson::View inner = e.is(Type::kArray) ? e.asArray() : e.asDocument();
    for (const Element& each : inner) {
      copy(each, depth + 1);
      if (room_ < kScalarBytes) {
        whole_ = false;
        break;
      }
    }
    out.close();
  }

  void copyText(const Element& e) {
    const std::string_view text = e.asString();
    const std::string_view shown = beginningOf(text, std::min(kMostTextBytes, fitting(text, room_)));
    room_ -= jsonSize(shown);
    whole_ = whole_ && shown.size() == text.size();
    out.append(e.name(), shown);
  }

  size_t left_ = kMostLineBytes - 4 * kMostNameBytes;  ///< for the line
  size_t room_ = 0;                                    ///< for the attribute
  bool whole_ = true;
};

}  // namespace

std::string_view beginningOf(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

BoundedAttributes::BoundedAttributes(bson::View given) : shown(given) {
  if (given.size() <= kSmallBytes) return;
  Cutter cutter;
  for (const Element& e : given) cutter.attribute(e);
  cut_ = cutter.out.finish();
  truncated = cutter.truncated.finish();
  shown = cut_;
}

}  // namespace troupe::log
