#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::bson {

/// The order of strings by a locale's rules (ICU). Immutable; may be used by any thread. The order `simple` (bytewise)
/// has no collator: it is a null pointer everywhere.
class Collator {
 public:
  /// From a collation document `{locale, strength, caseLevel, caseFirst, numericOrdering, alternate, maxVariable,
  /// normalization, backwards}`; null for `{locale: "simple"}`.
  /// Errors: BadValue (unknown locale or value out of range), 40414 (no locale), 40415 (unknown field), FailedToParse
  /// (options with "simple"), TypeMismatch, IncompatibleCollationVersion.
  static StatusWith<std::shared_ptr<const Collator>> parse(View specification);
  ~Collator();

  /// -1, 0 or 1.
  int compare(std::string_view a, std::string_view b) const;
  /// Bytes that memcmp orders as `compare` orders the strings; equal for strings that compare equal. Holds no NUL.
  std::string comparisonKey(std::string_view text) const;
  /// Appends the comparison key, without allocating for it when `out` has room.
  void appendComparisonKey(std::string_view text, std::string& out) const;
  /// All fields filled in, as listIndexes and listCollections show it.
  const Document& specification() const { return specification_; }
  /// Whether two collations (null is `simple`) order all strings alike.
  static bool same(const Collator* a, const Collator* b);

 private:
  struct Icu;
  Collator(std::unique_ptr<Icu> icu, Document specification);
  std::unique_ptr<Icu> icu_;
  Document specification_;
};

/// The value with every string in it (also in nested documents and arrays) replaced by its comparison key, as index
/// keys and hashes of a collation need it. Symbols are strings here; field names stay as they are.
Value withComparisonKeys(const Element& value, const Collator& collator);

}  // namespace troupe::bson
