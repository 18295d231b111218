#include "messaging/description/message_layout.hpp"

#include <array>
#include <bit>
#include <utility>

namespace troupe::machines::detail {
namespace {

/// Gives out places in a data section: each value at a multiple of its size, small ones in what larger ones left free.
class DataSection {
 public:
  /// The first of 2^log bits, log being at most 6.
  uint32_t take(unsigned log) {
    if (log == kWord) return words_++ * 64u;
    if (holes_[log] != 0) return std::exchange(holes_[log], 0);
    const uint32_t place = take(log + 1);
    holes_[log] = place + (1u << log);
    return place;
  }
  uint16_t words() const { return words_; }

 private:
  static constexpr unsigned kWord = 6;
  uint16_t words_ = 0;
  std::array<uint32_t, kWord> holes_{};  ///< the free place of each size, of which there is at most one; 0: none
};

class LayoutSink final : public FieldSink {
 public:
  void field(const char* name, const ValueType& type, const void*) override {
    const unsigned bits = dataBits(type);
    const uint32_t place = bits > 0 ? data_.take(static_cast<unsigned>(std::countr_zero(bits))) : layout_.pointers++;
    layout_.slots.push_back({name, place});
  }
  MessageLayout finish() {
    layout_.dataWords = data_.words();
    return std::move(layout_);
  }

 private:
  MessageLayout layout_;
  DataSection data_;
};

}  // namespace

std::shared_ptr<const MessageLayout> makeMessageLayout(const StructType& type) {
  LayoutSink sink;
  type.describe(sink);
  return std::make_shared<const MessageLayout>(sink.finish());
}

unsigned dataBits(const ValueType& type) {
  switch (type.kind) {
    case Kind::kBool: return 1;
    case Kind::kInteger: return static_cast<const IntegerType&>(type).bytes * 8u;
    case Kind::kDouble: return static_cast<const DoubleType&>(type).isFloat ? 32 : 64;
    case Kind::kTimestamp:
    case Kind::kDate: return 64;
    default: return 0;
  }
}

bool isComposite(const ValueType& type) {
  return type.kind == Kind::kStruct || type.kind == Kind::kVariant || type.kind == Kind::kStatus;
}

StructSize structSize(const ValueType& type) {
  if (type.kind == Kind::kVariant) return {1, 1};  // the number of the alternative, the alternative
  if (type.kind == Kind::kStatus) return {1, 2};   // code; reason, extra
  const MessageLayout& layout = static_cast<const StructType&>(type).layout();
  return {layout.dataWords, layout.pointers};
}

StructSize entrySize(const ValueType& value) { return dataBits(value) > 0 ? StructSize{1, 1} : StructSize{0, 2}; }

}  // namespace troupe::machines::detail
