#include "storage/query/plan/implication.hpp"

#include <algorithm>
#include <cmath>

#include "messaging/bson/compare.hpp"
#include "storage/query/match/predicates.hpp"

namespace troupe::query {

namespace {

bool isRange(MatchKind kind) {
  return kind == MatchKind::kLt || kind == MatchKind::kLte || kind == MatchKind::kGt || kind == MatchKind::kGte;
}

bool isScalar(const bson::Element& e) {
  return !e.isNullish() && !e.is(bson::Type::kArray) && !e.is(bson::Type::kRegex);
}

/// NaN compares with nothing but itself.
bool isNaN(const bson::Element& e) { return e.isNumber() && std::isnan(e.toDouble()); }

/// A test of one value on a path, which every document with that value there passes.
bool isValueTest(const MatchExpression& partial) {
  switch (partial.kind()) {
    case MatchKind::kEq:
    case MatchKind::kIn:
    case MatchKind::kMod:
    case MatchKind::kType:
    case MatchKind::kRegex:
    case MatchKind::kExists: return true;
    default: return isRange(partial.kind());
  }
}

/// Whether the condition cannot hold where the path leads nowhere.
bool needsValue(const MatchExpression& query) {
  if (query.kind() == MatchKind::kElemMatchObject || query.kind() == MatchKind::kElemMatchValue ||
      query.kind() == MatchKind::kExists)
    return true;
  return isValueTest(query) && !query.predicate()->test(bson::Element());
}

/// x > 5 says x > 3, x >= 5 ...
bool rangeImplies(const MatchExpression& query, const MatchExpression& partial, const bson::Collator* collator) {
  const bson::Element q = query.operand(), p = partial.operand();
  const bool up = query.kind() == MatchKind::kGt || query.kind() == MatchKind::kGte;
  const bool partialUp = partial.kind() == MatchKind::kGt || partial.kind() == MatchKind::kGte;
  if (isNaN(q) || isNaN(p)) return false;
  if (up != partialUp || !isScalar(q) || !isScalar(p) || bson::canonicalRank(q.type()) != bson::canonicalRank(p.type()))
    return false;
  const bool partialInclusive = partial.kind() == MatchKind::kLte || partial.kind() == MatchKind::kGte;
  const bool queryInclusive = query.kind() == MatchKind::kLte || query.kind() == MatchKind::kGte;
  const int order = bson::compareValues(q, p, collator);
  return (up ? order > 0 : order < 0) || (order == 0 && (partialInclusive || !queryInclusive));
}

bool oneImplies(const MatchExpression& query, const MatchExpression& partial, const bson::Collator* collator) {
  if (query.kind() == MatchKind::kOr) {
    return std::all_of(query.children().begin(), query.children().end(),
                       [&](const auto& branch) { return implies(conjunctsOf(branch.get()), partial, collator); });
  }
  if (query.path() != partial.path() || query.path().empty()) return false;
  if (query.kind() == partial.kind() && query.operand().identical(partial.operand()) && isValueTest(partial))
    return true;
  if (!isValueTest(partial)) return false;
  if (partial.kind() == MatchKind::kExists && needsValue(query)) return true;
  if (query.kind() == MatchKind::kEq) return isScalar(query.operand()) && partial.predicate()->test(query.operand());
  if (query.kind() == MatchKind::kIn) {
    const bson::View values = query.operand().asArray();
    return std::all_of(values.begin(), values.end(),
                       [&](const bson::Element& e) { return isScalar(e) && partial.predicate()->test(e); });
  }
  return isRange(query.kind()) && isRange(partial.kind()) && rangeImplies(query, partial, collator);
}

}  // namespace

bool implies(const Conjuncts& query, const MatchExpression& partial, const bson::Collator* collator) {
  const auto each = [&](const auto& child) { return implies(query, *child, collator); };
  switch (partial.kind()) {
    case MatchKind::kAlwaysTrue: return true;
    case MatchKind::kAnd: return std::all_of(partial.children().begin(), partial.children().end(), each);
    case MatchKind::kOr:
      if (std::any_of(partial.children().begin(), partial.children().end(), each)) return true;
      break;
    default: break;
  }
  return std::any_of(query.begin(), query.end(), [&](const MatchExpression* one) {
    if (one->kind() == MatchKind::kOr && partial.kind() == MatchKind::kOr) {
      return std::all_of(one->children().begin(), one->children().end(),
                         [&](const auto& branch) { return implies(conjunctsOf(branch.get()), partial, collator); });
    }
    return oneImplies(*one, partial, collator);
  });
}

}  // namespace troupe::query
