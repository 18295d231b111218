#pragma once
#include <memory>

#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {

/// Parses a filter document. The result owns what it needs of `filter`; it borrows `context.collator` and
/// `context.let`. An empty filter gives kAnd without children, which matches everything; a filter of one condition
/// gives that condition. Errors: BadValue (unknown operators, operands of the wrong form), TypeMismatch, FailedToParse,
/// Overflow (nesting), 51091 (invalid regular expression), 51075, 51108 (regex options), and those of expressions
/// within $expr.
StatusWith<std::unique_ptr<MatchExpression>> parseMatch(bson::View filter, const ParseContext& context);

/// Parses the conditions of $pull or of a value $elemMatch, e.g. `{$gte: 5, $lt: 9}`: a filter for matchesValue().
StatusWith<std::unique_ptr<MatchExpression>> parseValueMatch(bson::View operators, const ParseContext& context);

}  // namespace troupe::query
