#pragma once
#include "messaging/bson/document.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/match/schema_validation.hpp"

namespace troupe::query {

/// Why a document does not match a filter: the `details` of a failed validation, as drivers' users know them. Names
/// each part that failed with what it asked for and what it met: {operatorName, specifiedAs, reason, consideredValue},
/// for $and, $or and $nor {operatorName, clausesNotSatisfied: [{index, details}]}, for schemas {operatorName:
/// "$jsonSchema", schemaRulesNotSatisfied}. The document must not match. Meant for failures only: it takes the filter
/// apart again. An explanation of more than kMaxExplanationBytes is left out, and {reason} says so. `work`: the
/// operation that asks; null: none. Errors: those of an interrupt, ExceededMemoryLimit.
StatusWith<bson::Document> explainMismatch(const MatchExpression& filter, bson::View document, QueryWork* work);

constexpr size_t kMaxExplanationBytes = size_t{1} << 20;

/// An explanation in the making. Once it does not go on, every function returns as soon as it can, and what was written
/// so far means nothing.
struct Explanation {
  Validation validation;  ///< of the operation
  bson::Builder out;
  bool isTooLarge = false;

  bool goesOn(int64_t steps = 1) {
    isTooLarge = isTooLarge || out.size() > kMaxExplanationBytes;
    return !isTooLarge && validation.goesOn(steps);
  }
  /// Appends `name: value`, unless the explanation becomes too large by it.
  template <class T>
  void copy(std::string_view name, const T& value, size_t bytes) {
    isTooLarge = isTooLarge || out.size() + bytes > kMaxExplanationBytes;
    if (goesOn(stepsFor(bytes))) out.append(name, value);
  }
  void copy(std::string_view name, const bson::Element& value) { copy(name, value, value.size()); }
  void copy(std::string_view name, bson::View value) { copy(name, value, value.size()); }
};

/// The rules of a schema that a document breaks, appended to an open array: {operatorName, specifiedAs, reason,
/// consideredValue ...}.
void explainSchema(bson::View schema, bson::View document, Explanation& rules);

}  // namespace troupe::query
