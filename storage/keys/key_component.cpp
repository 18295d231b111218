#include "storage/keys/key_component.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "storage/keys/key_tags.hpp"
#include "storage/keys/number_key.hpp"

namespace troupe::storage::key_string {

namespace {

/// Steps over components without reading their values.
class Skipper {
 public:
  Skipper(std::string_view bytes, bool descending) : bytes_(bytes), mask_(descending ? 0xFF : 0) {}

  /// The position behind the component, or 0.
  size_t one() {
    component(0);
    return failed_ ? 0 : at_;
  }

 private:
  void component(int depth) {
    const uint8_t tag = byte();
    if (tag >= kNaN && tag <= kPositiveInfinity) return number(tag);
    switch (tag) {
      case kMinKey:
      case kUndefined:
      case kNull:
      case kFalse:
      case kTrue:
      case kMaxKey: return;
      case kString:
      case kCode: return escaped();
      case kDocument: return fields(depth);
      case kArray: return items(depth);
      case kBinary: return skip(1 + size_t{length()});
      case kObjectId: return skip(12);
      case kDate:
      case kTimestamp: return skip(8);
      case kRegex: untilNul(); return untilNul();
      case kDBPointer: return skip(12 + size_t{length()});
      case kCodeWithScope: escaped(); return fields(depth);
      default: failed_ = true;
    }
  }

  void number(uint8_t tag) {
    if (tag == kNaN || tag == kNegativeInfinity || tag == kPositiveInfinity || tag == kZero) return;
    const bool negative = tag < kZero;
    if (tag == kNegativeLarge || tag == kPositiveLarge || tag == kNegativeSmall || tag == kPositiveSmall)
      return tail(negative);
    skip(static_cast<size_t>(negative ? kNegativeBytes - tag : tag - kPositiveBytes) - 1);
    const uint8_t last = byte() ^ (negative ? 0xFF : 0);
    if (last & 1) tail(negative);
  }

  void tail(bool negative) {
    skip(8);
    const uint8_t marker = byte() ^ (negative ? 0xFF : 0);
    if (marker != 0) skip(17);
  }

  void items(int depth) {
    if (depth >= kMaxDepth) failed_ = true;
    while (!failed_ && peek() != kClose) component(depth + 1);
    byte();
  }

  void fields(int depth) {
    if (depth >= kMaxDepth) failed_ = true;
    while (!failed_ && byte() != kClose) {
      untilNul();
      component(depth + 1);
    }
  }

  void untilNul() {
    const void* nul = std::memchr(bytes_.data() + at_, mask_, bytes_.size() - at_);
    if (!nul) {
      failed_ = true;
      return;
    }
    at_ = static_cast<size_t>(static_cast<const char*>(nul) - bytes_.data()) + 1;
  }

  void escaped() {
    untilNul();
    while (!failed_ && at_ < bytes_.size() && peek() == kEscaped) {
      ++at_;
      untilNul();
    }
  }

  uint32_t length() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }
  void skip(size_t count) {
    if (bytes_.size() - at_ < count) failed_ = true;
    else at_ += count;
  }
  uint8_t peek() {
    if (at_ < bytes_.size()) return static_cast<uint8_t>(bytes_[at_]) ^ mask_;
    failed_ = true;
    return kClose;
  }
  uint8_t byte() {
    const uint8_t value = peek();
    if (!failed_) ++at_;
    return value;
  }

  std::string_view bytes_;
  uint8_t mask_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

size_t componentSize(std::string_view bytes, bool descending) { return Skipper(bytes, descending).one(); }

int compareComponents(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  const int order = std::memcmp(a.data(), b.data(), common);
  if (order != 0) return order < 0 ? -1 : 1;
  if (a.size() == b.size()) return 0;
  // One goes on where the other ends (a string with NULs): what follows the end in a key decides.
  const bool aLonger = a.size() > common;
  const auto next = static_cast<uint8_t>(aLonger ? a[common] : b[common]);
  return (next > kEnd) == aLonger ? 1 : -1;
}

}  // namespace troupe::storage::key_string
