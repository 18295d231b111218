#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

inline constexpr int kMaxIndexFields = 32;
inline constexpr int kMaxIndexesPerCollection = 64;

/// One field of an index key pattern.
struct IndexField {
  std::string path;
  bool descending = false;
};

enum class IndexKind { kOrdered, kHashed };

/// A definition of an index, checked and normalised (IDX). Immutable value; `stored` is what the catalog and
/// `listIndexes` show.
struct IndexSpec {
  std::string name;
  bson::Document key;              ///< key pattern as given, e.g. {a: 1, "b.c": -1}
  std::vector<IndexField> fields;  ///< the pattern's fields in order
  IndexKind kind = IndexKind::kOrdered;
  bool unique = false;
  bool sparse = false;
  bool hidden = false;
  bool prepareUnique = false;
  bool idIndex = false;  ///< {_id: 1}: unique, key without RecordId (KEY-004)
  std::optional<bson::Document> partialFilter;
  std::optional<int64_t> expireAfterSeconds;
  bson::Document collation;  ///< full collation; empty means bytewise ("simple")
  bson::Document stored;     ///< {v, unique?, key, name, ...} in the server's field order

  bool isUnique() const { return unique || idIndex; }
  /// Bit i is set when field i is descending.
  uint32_t descendingMask() const;
};

/// Parses one element of `createIndexes.indexes` or a stored spec. `defaultCollation` (of the collection, may be empty)
/// is taken over when the spec has none. Unknown options are refused when `strict`.
/// Errors: FailedToParse (missing key), CannotCreateIndex (67: bad pattern, too many fields, options that exclude each
/// other, kinds not served: text, 2d, 2dsphere, wildcard, columnstore), TypeMismatch (14), BadValue,
/// InvalidIndexSpecificationOption (197: unknown option).
StatusWith<IndexSpec> parseIndexSpec(bson::View spec, bson::View defaultCollation = {}, bool strict = true);

/// The spec as listIndexes shows it: flags as booleans, times as integers (CAT-007).
bson::Document listedSpec(const IndexSpec& spec);

/// "a_1_b.c_-1".
std::string defaultIndexName(bson::View key);

/// The spec of the `_id` index of a new collection.
IndexSpec idIndexSpec(bson::View defaultCollation = {});

/// Checks the specification of the `_id` index that `create` may be given, for a collection of that collation. It may
/// say nothing else than what the index is anyway. Errors: those of parseIndexSpec.
Status checkIdIndexSpec(bson::View spec, bson::View collectionCollation);

/// How a wanted index relates to an existing one.
enum class SpecMatch { kDistinct, kIdentical };
/// Identical: same key, name and options. Distinct: both may exist. Errors, in the server's words: IndexOptionsConflict
/// (85: same key pattern with another name or other options), IndexKeySpecsConflict (86: same name, other key or
/// options).
StatusWith<SpecMatch> compareSpecs(const IndexSpec& wanted, const IndexSpec& existing);

/// The spec with other values of what collMod may change; null members stay.
struct SpecChange {
  std::optional<bool> hidden, unique, prepareUnique;
  std::optional<int64_t> expireAfterSeconds;
};
IndexSpec changedSpec(const IndexSpec& spec, const SpecChange& change);

}  // namespace troupe::storage
