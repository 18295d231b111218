#pragma once
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/header.hpp"

namespace troupe::wire {

/// Flag bits of OP_MSG. Unknown bits below 16 are refused, those above are ignored.
enum MsgFlag : uint32_t {
  kChecksumPresent = 1u << 0,  ///< a CRC-32C follows the sections
  kMoreToCome = 1u << 1,       ///< in requests: no answer wanted; in replies: another reply follows unasked
  kExhaustAllowed = 1u << 16,  ///< the client accepts several replies to this request
};

/// Sections of kind 1 a message may have; more are refused (TooManyDocumentSequences).
inline constexpr size_t kMaxDocumentSequences = 10;

/// Borrowed, validated documents that lie one after the other.
class DocumentRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = bson::View;
    using difference_type = std::ptrdiff_t;
    using pointer = const bson::View*;
    using reference = bson::View;
    Iterator() = default;
    explicit Iterator(const char* at) : at_(at) {}
    bson::View operator*() const { return bson::View(at_); }
    Iterator& operator++() {
      at_ += bson::View(at_).size();
      return *this;
    }
    Iterator operator++(int) {
      auto old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const char* at_ = nullptr;
  };

  DocumentRange() = default;
  /// `bytes` are `count` valid documents.
  DocumentRange(std::string_view bytes, size_t count) : bytes_(bytes), count_(count) {}
  Iterator begin() const { return Iterator(bytes_.data()); }
  Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
  size_t count_ = 0;
};

/// A section of kind 1: an array argument that travels outside the body, e.g. "documents" of insert.
struct DocumentSequence {
  std::string_view name;
  DocumentRange documents;
};

/// A parsed OP_MSG. Borrows the bytes of its frame and must not outlive them.
struct OpMsg {
  MsgHeader header;
  uint32_t flags = 0;
  bson::View body;
  std::string_view database;  ///< of a request: its `$db`
  std::vector<DocumentSequence> sequences;

  bool has(MsgFlag flag) const { return (flags & flag) != 0; }
  /// The sequence of that name, or null.
  const DocumentSequence* sequence(std::string_view name) const;
};

enum class Direction { kRequest, kReply };

/// Parses a whole frame. Every document is validated in the same pass; nothing is copied.
/// Errors: IllegalOpMsgFlag, ChecksumMismatch, ProtocolError, TooManyDocumentSequences (see `closesConnection`);
/// InvalidBSON, BSONObjectTooLarge, Overflow, Location40430 ... 40433, 40587 for sections, 40571 for a request without
/// `$db`.
StatusWith<OpMsg> parseOpMsg(std::string_view frame, Direction direction = Direction::kRequest);

/// False for an OP_MSG that wants no answer, also when its sections are malformed.
bool expectsReply(std::string_view frame);

}  // namespace troupe::wire
