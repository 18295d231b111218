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

/// One comparison of conditions. It takes as long as both are large, and longer where alternatives lie in each other.
class Implication {
 public:
  Implication(const bson::Collator* collator, QueryWork* work) : collator_(collator), work_(work) {}

  bool all(const Conjuncts& query, const MatchExpression& partial) {
    if (!interrupt_.isOK()) return false;
    const auto each = [&](const auto& child) { return all(query, *child); };
    switch (partial.kind()) {
      case MatchKind::kAlwaysTrue: return true;
      case MatchKind::kAnd: return std::all_of(partial.children().begin(), partial.children().end(), each);
      case MatchKind::kOr:
        if (std::any_of(partial.children().begin(), partial.children().end(), each)) return true;
        break;
      default: break;
    }
    return std::any_of(query.begin(), query.end(),
                       [&](const MatchExpression* one) { return this->one(*one, partial); });
  }

  /// The interrupt that ended it, if any: the answer was "no" then.
  const Status& interrupt() const { return interrupt_; }

 private:
  bool goesOn() {
    if (work_ && interrupt_.isOK()) interrupt_ = work_->step();
    return interrupt_.isOK();
  }

  bool one(const MatchExpression& query, const MatchExpression& partial) {
    if (!goesOn()) return false;
    if (query.kind() == MatchKind::kOr) {
      return std::all_of(query.children().begin(), query.children().end(),
                         [&](const auto& branch) { return all(conjunctsOf(branch.get()), partial); });
    }
    if (query.path() != partial.path() || query.path().empty()) return false;
    if (query.kind() == partial.kind() && query.operand().identical(partial.operand()) && isValueTest(partial))
      return true;
    if (!isValueTest(partial)) return false;
    if (partial.kind() == MatchKind::kExists && needsValue(query)) return true;
    if (query.kind() == MatchKind::kEq) return isScalar(query.operand()) && partial.predicate()->test(query.operand());
    if (query.kind() == MatchKind::kIn) {
      const bson::View values = query.operand().asArray();
      return std::all_of(values.begin(), values.end(), [&](const bson::Element& e) {
        return goesOn() && isScalar(e) && partial.predicate()->test(e);
      });
    }
    return isRange(query.kind()) && isRange(partial.kind()) && rangeImplies(query, partial, collator_);
  }

  const bson::Collator* collator_;
  QueryWork* work_;
  Status interrupt_;
};

}  // namespace

StatusWith<bool> implies(const Conjuncts& query, const MatchExpression& partial, const bson::Collator* collator,
                         QueryWork* work) {
  Implication implication(collator, work);
  const bool holds = implication.all(query, partial);
  TROUPE_TRY(implication.interrupt());
  return holds;
}

}  // namespace troupe::query
