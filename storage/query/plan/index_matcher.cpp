#include "storage/query/plan/index_matcher.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "messaging/bson/collation.hpp"
#include "storage/query/plan/implication.hpp"

namespace troupe::query {

namespace {

using storage::IndexEntry;

/// Components that two paths have in common from the root.
size_t sharedComponents(std::string_view a, std::string_view b) {
  size_t shared = 0;
  for (;;) {
    const size_t endA = std::min(a.find('.'), a.size()), endB = std::min(b.find('.'), b.size());
    if (a.substr(0, endA) != b.substr(0, endB)) return shared;
    ++shared;
    if (endA == a.size() || endB == b.size()) return shared;
    a.remove_prefix(endA + 1);
    b.remove_prefix(endB + 1);
  }
}

/// Whether a component of the path may be the position of an array's element.
bool namesElement(std::string_view path) {
  while (!path.empty()) {
    const size_t end = std::min(path.find('.'), path.size());
    if (arrayIndex(path.substr(0, end)) >= 0) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

/// How much bounds narrow a field, to choose between predicates that cannot be combined.
int narrowness(const Intervals& intervals) {
  if (isAll(intervals)) return 0;
  if (!arePoints(intervals)) return 1;
  return intervals.size() == 1 ? 3 : 2;
}

/// Whether the condition may hold where its path leads nowhere: in a document without the field, in an element of an
/// array that an object $elemMatch looks at, or (a negation, which an empty array satisfies) in an array on the way.
/// It is asked of the condition itself, since an $elemMatch around it needs the array, not the field within.
bool allowsMissing(const MatchExpression& node, bool multikey) {
  return node.matches(bson::View()) || (node.kind() == MatchKind::kNot && multikey);
}

/// Assigns the query's predicates to the fields of one index.
class Matcher {
 public:
  Matcher(const storage::IndexPtr& index, const IndexQuery& query)
      : index_(index), query_(query), sameCollation_(bson::Collator::same(index->access->collator(), query.collator)) {
    plan_.index = index;
    plan_.multikey = index->multikey();
  }

  StatusWith<IndexPlan> match() {
    const auto& fields = index_->spec.fields;
    for (size_t i = 0; i < fields.size(); ++i) {
      arrays_.push_back(index_->state->path(i));
      TROUPE_TRY(assignField(i));
    }
    for (const Intervals& intervals : plan_.bounds)
      TROUPE_TRY(query_.step(static_cast<int64_t>(intervals.size() / kPointsPerStep)));
    while (plan_.equalities < static_cast<int>(fields.size()) && arePoints(plan_.bounds[plan_.equalities]))
      ++plan_.equalities;
    while (plan_.bounded < static_cast<int>(fields.size()) && !isAll(plan_.bounds[plan_.bounded])) ++plan_.bounded;
    TROUPE_TRY(splitFilter());
    plan_.providesSort = orderBySort();
    TROUPE_TRY(plan_.charge(query_.work, storage::MemoryBudget::kFree));
    return std::move(plan_);
  }

  /// Whether conditions on the first field narrow the scan.
  bool leads() const { return !used_.empty() && used_.front().field == 0; }

 private:
  struct Used {
    const QueryPredicate* predicate;
    size_t field;
    Tightness tightness;
  };

  struct Offer {
    const QueryPredicate* predicate;
    PredicateBounds bounds;
    int narrowness;
  };

  bool isHashed(size_t field) const {
    return index_->spec.key[index_->spec.fields[field].path].is(bson::Type::kString);
  }

  StatusWith<std::optional<PredicateBounds>> boundsFor(const QueryPredicate& predicate, size_t field) const {
    std::optional<PredicateBounds> none;
    if (!sameCollation_ && comparesStrings(*predicate.node)) return none;
    // "a.0" has a key for each item of an array that it names, which conditions see as one value; and none for the
    // documents in an array that have no field "0", which conditions see as well.
    const bool names = namesElement(predicate.path);
    const bool splits = names && arrays_[field] != 0;
    if (names && predicate.node->matches(bson::View())) return none;
    if (splits && predicate.node->kind() == MatchKind::kNot) return none;
    TROUPE_ASSIGN(auto bounds, boundsOf(*predicate.node, {index_->access->collator(), arrays_[field] != 0,
                                                          isHashed(field), query_.work}));
    if (bounds && splits) bounds->tightness = Tightness::kInexactFetch;
    return bounds;
  }

  /// Two conditions on paths through the same array may be met by different elements, which no single key shows.
  bool combines(const QueryPredicate& a, size_t fieldA, const QueryPredicate& b, size_t fieldB) const {
    if (arrays_[fieldA] == 0) return true;
    const auto& fields = index_->spec.fields;
    const size_t shared = sharedComponents(fields[fieldA].path, fields[fieldB].path);
    const uint64_t arrays = arrays_[fieldA] & (shared >= 64 ? ~uint64_t{0} : (uint64_t{1} << shared) - 1);
    for (uint64_t left = arrays; left != 0; left &= left - 1) {
      if (!a.sharesElement(b, static_cast<size_t>(std::countr_zero(left)))) return false;
    }
    return true;
  }

  bool combinesWithUsed(const QueryPredicate& predicate, size_t field) const {
    return std::all_of(used_.begin(), used_.end(),
                       [&](const Used& used) { return combines(predicate, field, *used.predicate, used.field); });
  }

  Status assignField(size_t field) {
    Intervals intervals{Interval::all()};
    // The narrowest first: others join where they can.
    std::vector<Offer> offers;
    for (const QueryPredicate& predicate : query_.predicates.on(index_->spec.fields[field].path)) {
      TROUPE_ASSIGN(auto bounds, boundsFor(predicate, field));
      if (!bounds) continue;
      TROUPE_TRY(query_.step(static_cast<int64_t>(bounds->intervals.size() / kPointsPerStep)));
      const int narrow = narrowness(bounds->intervals);
      offers.push_back({&predicate, std::move(*bounds), narrow});
    }
    std::stable_sort(offers.begin(), offers.end(),
                     [](const Offer& a, const Offer& b) { return a.narrowness > b.narrowness; });
    for (const auto& [predicate, bounds, narrow] : offers) {
      TROUPE_TRY(query_.step(static_cast<int64_t>(1 + used_.size() / 8)));
      if (!combinesWithUsed(*predicate, field)) continue;
      intervals = intersect(intervals, bounds.intervals, query_.work);
      TROUPE_TRY(query_.step());
      used_.push_back({predicate, field, bounds.tightness});
      if (predicate->number < 64) plan_.used |= uint64_t{1} << predicate->number;
    }
    plan_.bounds.push_back(std::move(intervals));
    return Status::OK();
  }

  /// Whether a key that is one element of an array says nothing exact about the condition.
  static bool needsWholeValue(const QueryPredicate& predicate) {
    return predicate.node->kind() == MatchKind::kNot || namesElement(predicate.path);
  }

  /// Conditions that the bounds do not cover are tested: on the key if that suffices, else on the document.
  Status splitFilter() {
    const bool keysAreValues = !plan_.multikey && !index_->access->collator();
    std::unordered_set<const MatchExpression*> exact, onKey;
    for (const Used& used : used_) {
      if (used.tightness == Tightness::kExact) {
        exact.insert(used.predicate->node);
        if (needsWholeValue(*used.predicate)) plan_.exactBounds |= uint32_t{1} << used.field;
      }
      const bool byKey = keysAreValues && used.tightness == Tightness::kInexactCovered &&
                         used.predicate->path.find('.') == std::string::npos && !isHashed(used.field);
      if (byKey) onKey.insert(used.predicate->node);
    }
    for (const MatchExpression* conjunct : query_.conjuncts) {
      TROUPE_TRY(query_.step());
      if (!exact.contains(conjunct)) (onKey.contains(conjunct) ? plan_.keyFilter : plan_.residual).push_back(conjunct);
    }
    return Status::OK();
  }

  bool isSinglePoint(size_t field) const {
    return plan_.bounds[field].size() == 1 && plan_.bounds[field].front().isPoint() && !isHashed(field);
  }

  /// An array counts by its least (or greatest) element, which comes first only when all its keys are read.
  bool ordersByArray(size_t field) const {
    return arrays_[field] == 0 || std::all_of(plan_.bounds.begin(), plan_.bounds.end(), isAll);
  }

  /// Whether some direction of the scan gives the wanted order; sets the direction.
  bool orderBySort() {
    if (!query_.sort || !sameCollation_) return false;
    const auto& fields = index_->spec.fields;
    std::optional<bool> forward;
    size_t at = 0;
    int throughArrays = 0;
    for (const auto& part : query_.sort->parts()) {
      if (part.meta != SortPattern::Meta::kNone) return false;
      const auto constant = [&](size_t i) {
        return fields[i].path == part.path.text() && isSinglePoint(i) && arrays_[i] == 0;
      };
      bool skip = false;
      for (size_t i = 0; i < fields.size() && !skip; ++i) skip = constant(i);
      if (skip) continue;
      while (at < fields.size() && fields[at].path != part.path.text() && isSinglePoint(at)) ++at;
      if (at == fields.size() || fields[at].path != part.path.text() || isHashed(at) || !ordersByArray(at))
        return false;
      throughArrays += arrays_[at] != 0;
      const bool wanted = fields[at].descending != part.ascending;
      if (throughArrays > 1 || forward.value_or(wanted) != wanted) return false;
      forward = wanted;
      ++at;
    }
    plan_.forward = forward.value_or(true);
    return true;
  }

  static constexpr size_t kPointsPerStep = 16;  ///< of intervals that are only asked whether they are points
  const storage::IndexPtr& index_;
  const IndexQuery& query_;
  bool sameCollation_;
  std::vector<uint64_t> arrays_;
  std::vector<Used> used_;
  IndexPlan plan_;
};

}  // namespace

StatusWith<IndexQuery> IndexQuery::of(const MatchExpression* filter, PlannedIndexes& indexes,
                                      const ParseContext& context) {
  IndexQuery query;
  query.conjuncts = conjunctsOf(filter);
  TROUPE_ASSIGN(query.predicates, QueryPredicates::of(query.conjuncts, indexes, context.work));
  query.indexes = &indexes;
  query.collator = context.collator;
  query.work = context.work;
  return query;
}

StatusWith<bool> holdsAllMatches(const IndexEntry& index, const IndexQuery& query) {
  if (index.spec.partialFilter) {
    if (!bson::Collator::same(index.access->collator(), query.collator)) return false;
    const MatchExpression* const partial = query.indexes->partialFilter(index);
    if (!partial) return false;
    TROUPE_ASSIGN(const bool implied, implies(query.conjuncts, *partial, query.collator, query.work));
    if (!implied) return false;
  }
  if (!index.spec.sparse) return true;
  for (const auto& field : index.spec.fields) {
    for (const QueryPredicate& predicate : query.predicates.on(field.path)) {
      TROUPE_TRY(query.step());
      if (!allowsMissing(*predicate.node, index.multikey())) return true;
    }
  }
  return false;
}

StatusWith<std::optional<IndexPlan>> planIndex(const storage::IndexPtr& index, const IndexQuery& query, bool forced) {
  std::optional<IndexPlan> plan;
  TROUPE_TRY(query.step());
  if (!forced) {
    // An index must narrow the scan by its first field, or give the order.
    if (!query.sort && query.predicates.on(index->spec.fields.front().path).empty()) return plan;
    TROUPE_ASSIGN(const bool holdsAll, holdsAllMatches(*index, query));
    if (!holdsAll) return plan;
  }
  Matcher matcher(index, query);
  TROUPE_ASSIGN(plan, matcher.match());
  if (!forced && !matcher.leads() && !plan->providesSort) plan.reset();
  return plan;
}

}  // namespace troupe::query
