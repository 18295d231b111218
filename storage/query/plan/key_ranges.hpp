#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "storage/query/plan/interval.hpp"

namespace troupe::query {

/// The bounds of an index scan as key bytes. Tells of each key whether it is within, and if not, where to go on: so a
/// scan jumps over keys that compound bounds leave out. Immutable after construction, but for scratch space.
class KeyRanges {
 public:
  enum class Verdict { kInside, kSeek, kEnd };

  KeyRanges() = default;
  /// `bounds` for each field of the index, `descending` its direction. Each takes steps of `work` (null: none).
  KeyRanges(const std::vector<Intervals>& bounds, const std::vector<bool>& descending, bool forward, QueryWork* work);
  /// Whole keys between two byte strings, exclusive; empty is open.
  KeyRanges(std::string lower, std::string upper, bool forward)
      : forward_(forward), single_(true), lower_(std::move(lower)), upper_(std::move(upper)) {}

  /// The interrupt that ended the making of the ranges; they mean nothing then.
  const Status& interrupt() const { return interrupt_; }
  /// No key is within.
  bool empty() const { return empty_; }
  /// Where the scan begins: a byte string before or behind (backward) all keys within; empty: at the very end.
  const std::string& start() const { return forward_ ? lower_ : upper_; }
  /// With kSeek, `target` is where to go on: no key equals it; the next in the scan's direction is wanted.
  Verdict check(std::string_view key, std::string& target) const;
  /// The bytes behind (or, backward, before) all keys that begin with the first component of `key`.
  std::string pastFirstComponent(std::string_view key) const;

 private:
  struct Range {
    std::string low, high;  ///< components, in the order of bytes
    bool lowInclusive = true, highInclusive = true;
  };
  struct Field {
    std::vector<Range> ranges;  ///< ascending by bytes
    bool descending = false;
    bool all = false;
  };

  Status addField(const Intervals& intervals, bool descending, QueryWork* work);
  bool makeSingle();
  /// Appends the first bounds, in the scan's direction, of the fields from `field` on.
  void appendStart(size_t field, std::string& out) const;

  Status interrupt_;
  std::vector<Field> fields_;  ///< up to the last with bounds
  bool firstDescending_ = false;
  bool forward_ = true;
  bool empty_ = false;
  bool single_ = false;  ///< one stretch of the index, from lower to upper
  std::string lower_, upper_;
};

}  // namespace troupe::query
