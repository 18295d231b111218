#pragma once
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/match/field_path.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/records/record_id.hpp"

namespace troupe::query {

/// `{a: 1, "b.c": -1}`: by which values, in which direction documents are ordered. Immutable; borrows the collator.
class SortPattern {
 public:
  enum class Meta { kNone, kTextScore, kRecordId };
  struct Part {
    FieldPath path;  ///< empty for $meta
    bool ascending = true;
    Meta meta = Meta::kNone;
  };

  /// Errors: 15976 (empty), 15974 / 15975 (direction), 17312 ($meta), 13103 (more than 32 fields), BadValue.
  static StatusWith<SortPattern> parse(bson::View spec, const ParseContext& context);

  const std::vector<Part>& parts() const { return parts_; }
  bson::Document toBson() const;

  /// The key a document sorts by: bytes whose memcmp order is the order of the pattern, collation and directions
  /// included. An array counts as its least element when ascending, its greatest when descending; an empty array as
  /// undefined, a missing field as null; fields of one array are taken from the same element. Errors: BadValue for
  /// parallel arrays.
  StatusWith<std::string> key(bson::View document, double textScore = 0, const storage::RecordId& recordId = {}) const;
  /// The same as values, `{"": v, ...}` in pattern order: for {$meta: "sortKey"} and merging across shards.
  StatusWith<bson::Document> keyValues(bson::View document, double textScore = 0,
                                       const storage::RecordId& recordId = {}) const;
  /// -1, 0, 1 for two results of keyValues.
  int compareKeyValues(bson::View a, bson::View b) const;

 private:
  /// The value of each part, in order; absent elements are null.
  Status select(bson::View document, std::vector<bson::Element>& values) const;
  bool isBetter(const Part& part, const bson::Element& a, const bson::Element& b) const;

  std::vector<Part> parts_;
  const bson::Collator* collator_ = nullptr;
};

}  // namespace troupe::query
