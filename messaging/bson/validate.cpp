#include "messaging/bson/validate.hpp"

#include <unicode/utf8.h>

#include <algorithm>
#include <bit>
#include <cstdio>

namespace troupe::bson {
namespace {

static_assert(std::endian::native == std::endian::little, "BSON is read in place");

constexpr int kMaxLevels = 256;
constexpr const char* kShort = "a value is longer than the document that holds it";

/// Sizes of the types whose values have one size; 0xFF for all others.
struct FixedSizes {
  uint8_t size[256];
  constexpr FixedSizes() : size() {
    for (auto& s : size) s = 0xFF;
    size[0x01] = size[0x09] = size[0x11] = size[0x12] = 8;
    size[0x06] = size[0x0A] = size[0x7F] = 0;
    size[0xFF] = 0;
    size[0x07] = 12;
    size[0x10] = 4;
    size[0x13] = 16;
  }
};
constexpr FixedSizes kFixed;

/// One walk over the bytes. `end_` is where the terminator of the innermost open document stands; it is known to be a
/// NUL within the buffer, so that a search for a name's NUL always stops.
class Walk {
 public:
  Walk(std::string_view bytes, const ValidateOptions& options)
      : begin_(bytes.data()),
        bufferEnd_(bytes.data() + bytes.size()),
        maxDepth_(std::min(options.maxDepth, kMaxLevels - 1)),
        checkUtf8_(options.checkUtf8) {}

  /// Returns null, or the text of an error, whose place is `offset()`.
  const char* run(int32_t size) {
    at_ = begin_ + 4;
    end_ = begin_ + size - 1;
    if (*end_ != 0) return "the document does not end with a NUL";
    for (;;) {
      if (at_ >= end_) {
        ++at_;
        if (depth_ == 0) return nullptr;
        end_ = ends_[--depth_];
        continue;
      }
      const auto type = static_cast<uint8_t>(*at_);
      const char* const name = at_ + 1;
      const char* const nul = findNul(name);
      if (nul >= end_) return "a field name is not terminated";
      if (checkUtf8_ && !isUtf8({name, static_cast<size_t>(nul - name)})) return "a field name is not UTF-8";
      at_ = nul + 1;
      const uint8_t fixed = kFixed.size[type];
      if (fixed != 0xFF) {
        if (end_ - at_ < fixed) return kShort;
        at_ += fixed;
      } else if (const char* wrong = variable(static_cast<Type>(type))) {
        return wrong;
      }
    }
  }

  ptrdiff_t offset() const { return at_ - begin_; }
  bool tooDeep() const { return tooDeep_; }

 private:
  const char* findNul(const char* p) const {
    while (p + 8 <= bufferEnd_) {
      const auto word = load<uint64_t>(p);
      const uint64_t zeros = (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;
      if (zeros) return p + (std::countr_zero(zeros) >> 3);
      p += 8;
    }
    while (*p) ++p;
    return p;
  }

  const char* variable(Type type) {
    switch (type) {
      case Type::kString:
      case Type::kCode:
      case Type::kSymbol: return string();
      case Type::kDocument:
      case Type::kArray: return open(static_cast<size_t>(end_ - at_));
      case Type::kBool:
        if (end_ == at_) return kShort;
        if (static_cast<uint8_t>(*at_) > 1) return "a boolean is neither 0 nor 1";
        ++at_;
        return nullptr;
      case Type::kBinary: return binary();
      case Type::kRegex:
        if (const char* wrong = cstring()) return wrong;
        return cstring();
      case Type::kDBPointer:
        if (const char* wrong = string()) return wrong;
        if (end_ - at_ < 12) return kShort;
        at_ += 12;
        return nullptr;
      case Type::kCodeWithScope: return codeWithScope();
      default: return "a field has an unknown type";
    }
  }

  const char* string() {
    if (end_ - at_ < 4) return kShort;
    const auto length = load<int32_t>(at_);
    if (length < 1 || length > end_ - at_ - 4) return "a string has a wrong length";
    if (at_[4 + length - 1] != 0) return "a string does not end with a NUL";
    if (checkUtf8_ && !isUtf8({at_ + 4, static_cast<size_t>(length) - 1})) return "a string is not UTF-8";
    at_ += 4 + length;
    return nullptr;
  }

  const char* cstring() {
    if (at_ >= end_) return kShort;
    const char* nul = findNul(at_);
    if (nul >= end_) return "a regular expression is not terminated";
    if (checkUtf8_ && !isUtf8({at_, static_cast<size_t>(nul - at_)})) return "a regular expression is not UTF-8";
    at_ = nul + 1;
    return nullptr;
  }

  const char* binary() {
    if (end_ - at_ < 5) return kShort;
    const auto length = load<int32_t>(at_);
    if (length < 0 || length > end_ - at_ - 5) return "binary data has a wrong length";
    if (at_[4] == 2 && (length < 4 || load<int32_t>(at_ + 5) != length - 4))
      return "binary data of subtype 2 has a wrong inner length";
    at_ += 5 + length;
    return nullptr;
  }

  const char* codeWithScope() {
    const auto available = end_ - at_;
    if (available < 14) return kShort;
    const auto total = load<int32_t>(at_);
    if (total < 14 || total > available) return "code with scope has a wrong length";
    const char* const whole = at_ + total;
    at_ += 4;
    if (const char* wrong = string()) return wrong;
    if (at_ > whole || whole - at_ < 5 || load<int32_t>(at_) != whole - at_)
      return "code with scope has a wrong length";
    return open(static_cast<size_t>(whole - at_));
  }

  /// Enters a nested document of at most `available` bytes.
  const char* open(size_t available) {
    if (available < 5) return kShort;
    const auto length = load<int32_t>(at_);
    if (length < 5 || static_cast<size_t>(length) > available) return "a nested document has a wrong length";
    if (at_[length - 1] != 0) return "a nested document does not end with a NUL";
    if (depth_ + 1 >= maxDepth_) {
      tooDeep_ = true;
      return "documents are nested too deeply";
    }
    ends_[depth_++] = end_;
    end_ = at_ + length - 1;
    at_ += 4;
    return nullptr;
  }

  const char* const begin_;
  const char* const bufferEnd_;
  const int maxDepth_;
  const bool checkUtf8_;
  bool tooDeep_ = false;
  int depth_ = 0;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* ends_[kMaxLevels];  // terminators of the documents around the innermost one
};

Status invalid(const std::string& what, ptrdiff_t offset) {
  return {ErrorCode::kInvalidBSON, "Invalid BSON: " + what + " (at offset " + std::to_string(offset) + ")"};
}

Status tooLarge(int32_t size, int32_t limit) {
  char text[160];
  std::snprintf(text, sizeof text, "BSONObj size: %d (0x%X) is invalid. Size must be between 0 and %d(%dMB)", size,
                static_cast<uint32_t>(size), limit, limit / (1024 * 1024));
  return {ErrorCode::kBSONObjectTooLarge, text};
}

}  // namespace

bool isUtf8(std::string_view text) {
  size_t i = 0;
  while (i + 8 <= text.size() && !(load<uint64_t>(text.data() + i) & 0x8080808080808080ULL)) i += 8;
  const auto length = static_cast<int32_t>(text.size());
  for (auto at = static_cast<int32_t>(i); at < length;) {
    UChar32 c;
    U8_NEXT(text.data(), at, length, c);
    if (c < 0) return false;
  }
  return true;
}

std::string asUtf8(std::string text) {
  if (isUtf8(text)) return text;
  std::string repaired;
  const auto length = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < length;) {
    const int32_t from = at;
    UChar32 c;
    U8_NEXT(text.data(), at, length, c);
    if (c < 0) repaired += "\xEF\xBF\xBD";
    else repaired.append(text, static_cast<size_t>(from), static_cast<size_t>(at - from));
  }
  return repaired;
}

StatusWith<int32_t> validate(std::string_view bytes, const ValidateOptions& options) {
  if (bytes.size() < 5) return invalid("too short for a document", 0);
  const auto size = load<int32_t>(bytes.data());
  if (size > options.maxSize) return tooLarge(size, options.maxSize);
  if (size < 5 || static_cast<size_t>(size) > bytes.size()) return invalid("the document has a wrong length", 0);
  Walk walk(bytes, options);
  const char* wrong = walk.run(size);
  if (!wrong) return size;
  if (walk.tooDeep())
    return {ErrorCode::kOverflow, "BSONObj exceeds maximum nested object depth: " +
                                      std::to_string(std::min(options.maxDepth, kMaxCommandNesting))};
  return invalid(wrong, walk.offset());
}

}  // namespace troupe::bson
