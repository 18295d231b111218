#pragma once
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::bson {
class Collator;
}

namespace troupe::query {

/// Whether every document that satisfies all the conditions of the query also satisfies `partial` (of a partial index):
/// by comparing conditions one by one, so that "no" may also mean "not found out". Both compare strings by `collator`.
/// `work` may be null. Errors: of an interrupt.
StatusWith<bool> implies(const Conjuncts& query, const MatchExpression& partial, const bson::Collator* collator,
                         QueryWork* work);

}  // namespace troupe::query
