#pragma once
#include "messaging/bson/document.hpp"
#include "storage/query/match/match_expression.hpp"

namespace troupe::query {

/// Why a document does not match a filter: the `details` of a failed validation, as drivers' users know them. Names
/// each part that failed with what it asked for and what it met: {operatorName, specifiedAs, reason, consideredValue},
/// for $and, $or and $nor {operatorName, clausesNotSatisfied: [{index, details}]}, for schemas {operatorName:
/// "$jsonSchema", schemaRulesNotSatisfied}. The document must not match. Meant for failures only: it takes the filter
/// apart again.
bson::Document explainMismatch(const MatchExpression& filter, bson::View document);

/// The rules of a schema that a document breaks, appended to an open array: {operatorName, specifiedAs, reason,
/// consideredValue ...}.
void explainSchema(bson::View schema, bson::View document, bson::Builder& rules);

}  // namespace troupe::query
