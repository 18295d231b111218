#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::storage {

/// How one document or array becomes another: a tree, borrowed from the bytes it was made from. In the oplog it is a
/// document (encode); document_delta.hpp reads and applies that.
///
/// A document's fields that stay keep their order, and what is inserted follows them: so fields that change places are
/// expressed as inserted, the last of them last.
struct DocumentDifference {
  /// A field, or an element of an array, that gets another value in its place.
  struct Change {
    std::string_view name;
    uint32_t index = 0;                          ///< within an array
    bson::Element value;                         ///< absent when `nested` says how the old value becomes the new one
    std::unique_ptr<DocumentDifference> nested;  ///< of two documents, or of two arrays
  };

  bool array = false;
  std::optional<uint32_t> length;         ///< of an array that becomes shorter; first of all
  std::vector<std::string_view> removed;  ///< fields of a document
  std::vector<Change> changed;            ///< elements of an array in the order of their indexes
  std::vector<bson::Element> inserted;    ///< fields that stand at the end afterwards, in this order
  size_t encodedSize = 5;                 ///< bytes of `encode`
};

/// Deepest nesting that a difference follows; what lies deeper is replaced as a whole.
inline constexpr int kMaxDifferenceDepth = bson::kMaxNestingDepth;

/// The changes that turn `before` into `after`. Linear in their sizes but for fields that have moved, which are sorted.
/// Where a document has two fields of one name the result may lead elsewhere: compare with what applying it gives.
DocumentDifference differenceOf(bson::View before, bson::View after);

/// Appends the fields {d: {removed: false}, u: {changed: value}, i: {inserted: value}, s<name>: {nested}}, or for
/// arrays {a: true, l: length, u<index>: value, s<index>: {nested}}; parts without content are left out.
void encode(const DocumentDifference& difference, bson::Builder& into);

}  // namespace troupe::storage
