#pragma once
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/match/field_path.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/query_work.hpp"
#include "storage/records/record_id.hpp"

namespace troupe::query {

/// `{a: 1, "b.c": -1}`: by which values, in which direction documents are ordered. Immutable; borrows the collator
/// and the operation, whose steps the values are that it looks at.
class SortPattern {
 public:
  enum class Meta { kNone, kTextScore, kRecordId, kScore, kRandomValue, kSearchScore };
  /// What a key may hold beside the document's fields. Borrowed.
  struct Metadata {
    double textScore = 0;
    const storage::RecordId* recordId = nullptr;
    bson::Element score{};  ///< of $rankFusion; absent for others
  };
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
  /// parallel arrays, ExceededMemoryLimit, those of an interrupt.
  StatusWith<std::string> key(bson::View document, const Metadata& metadata) const;
  StatusWith<std::string> key(bson::View document) const { return key(document, Metadata()); }
  /// The same as values, `{"": v, ...}` in pattern order: for {$meta: "sortKey"} and merging across shards.
  StatusWith<bson::Document> keyValues(bson::View document, const Metadata& metadata) const;
  StatusWith<bson::Document> keyValues(bson::View document) const { return keyValues(document, Metadata()); }
  /// -1, 0, 1 for two results of keyValues.
  int compareKeyValues(bson::View a, bson::View b) const;

 private:
  class Best;
  class PartValues;
  /// A part whose values come from the elements of an array, which lies at component `at` of its path.
  struct OfArray {
    size_t part;
    size_t at;
  };

  /// The value of each part, in order; absent elements are null.
  Status select(bson::View document, std::vector<bson::Element>& values) const;
  Status selectElement(const bson::Element& array, const std::vector<OfArray>& sharing,
                       std::vector<bson::Element>& values) const;
  int compare(const Part& part, const bson::Element& a, const bson::Element& b) const;
  Status step(size_t bytes) const { return work_ ? work_->step(stepsFor(bytes)) : Status::OK(); }

  std::vector<Part> parts_;
  const bson::Collator* collator_ = nullptr;
  QueryWork* work_ = nullptr;
};

}  // namespace troupe::query
