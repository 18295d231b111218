#pragma once
#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// Overflow, of a computed value.
Status nestedTooDeeply();

/// Checks that a value is nested no deeper than so many levels. Walks the value in steps of `work` (null: none), since
/// it may be as large as an operation's memory. Errors: Overflow, those of an interrupt.
Status checkNesting(const bson::Element& value, int levels, QueryWork* work);

}  // namespace troupe::query
