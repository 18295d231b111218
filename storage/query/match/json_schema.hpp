#pragma once
#include <memory>

#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {

/// `$jsonSchema` (JSON Schema draft 4 with bsonType): bsonType, type, enum, numbers (minimum, maximum, exclusive...,
/// multipleOf), strings (minLength, maxLength, pattern), objects (required, properties, patternProperties,
/// additionalProperties, minProperties, maxProperties, dependencies), arrays (items, additionalItems, minItems,
/// maxItems, uniqueItems), allOf, anyOf, oneOf, not, title, description. Keywords speak only of values of their own
/// type. Errors: FailedToParse (unknown keywords, bad operands), TypeMismatch, BadValue, Overflow (nesting).
/// Values checked and compared are steps of `context.work`, and copies are charged to its memory: `testDocument` fails
/// with the errors of an interrupt or ExceededMemoryLimit, where `test` says false.
StatusWith<std::unique_ptr<Predicate>> schemaPredicate(bson::View schema, const ParseContext& context);

}  // namespace troupe::query
