#pragma once
#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"

namespace troupe::query {

/// Whether a filter may decide which documents an index holds (IDX): comparisons, $in, $exists: true and $type of
/// fields, combined by $and and $or. Their answer depends on the document alone; an expression ($expr), a schema or a
/// negation is refused. Errors: CannotCreateIndex (67).
Status checkPartialFilter(const MatchExpression& filter);

}  // namespace troupe::query
