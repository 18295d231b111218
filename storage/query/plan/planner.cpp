#include "storage/query/plan/planner.hpp"

#include <algorithm>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/compare.hpp"
#include "messaging/errors/invariant.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/query/plan/clustered_scan.hpp"
#include "storage/query/plan/collection_scan.hpp"
#include "storage/query/plan/fetch_stages.hpp"
#include "storage/query/plan/flow_stages.hpp"
#include "storage/query/plan/id_lookup.hpp"
#include "storage/query/plan/index_scan.hpp"
#include "storage/query/plan/plan_trial.hpp"
#include "storage/query/plan/sort_stage.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using storage::IndexPtr;

namespace {

constexpr size_t kMostUnions = 8;
/// Scans of more branches are charged, small as each may be.
constexpr size_t kFewBranches = 16;

}  // namespace

bool isPointId(const Element& id, const storage::Collection& collection, const bson::Collator* collator) {
  switch (id.type()) {
    case Type::kArray:  // also matches elements
    case Type::kRegex:  // matches by pattern
    case Type::kNull:   // also matches missing fields
    case Type::kUndefined: return false;
    case Type::kString:
    case Type::kSymbol:
    case Type::kDocument:
      return collator == collection.collator() || bson::Collator::same(collator, collection.collator());
    default: return true;  // no collation orders these
  }
}

Planner::Planner(PlanContext& plan, const FindRequest& request)
    : plan_(plan), request_(request), indexes_(plan.collection->accessPaths(), plan.parse.work) {}

/// Puts a SORT on top when the query wants an order.
PlannedAccess Planner::sorted(PlanStagePtr root) {
  PlannedAccess access;
  if (!plan_.sort) {
    access.root = std::move(root);
    return access;
  }
  SorterOptions options;
  // A sort that knows its limit keeps only so many rows: top-k instead of all. Skipped rows have to be found first.
  if (request_.limit && *request_.limit > 0) options.limit = static_cast<uint64_t>(*request_.limit + request_.skip);
  options.memoryBytes = plan_.parse.limits.sortMemoryBytes;
  options.work = plan_.parse.work;
  if (request_.allowDiskUse) options.spill = request_.spill;
  access.limited = options.limit > 0;
  access.sorts = true;
  access.root = std::make_unique<SortRows>(plan_, std::move(root), std::move(options));
  return access;
}

StatusWith<PlannedAccess> Planner::collectionScan(bool forward) {
  if (request_.forbidCollectionScan && !request_.tailable) {
    return {ErrorCode::kNoQueryExecutionPlans, "error processing query: ns=" + plan_.collection->ns().toString() +
                                                   " planner returned error :: caused by :: No query solutions"};
  }
  // A tailable cursor follows the order of insertion, which only the records themselves have.
  if (plan_.collection->isClustered() && plan_.collection->idIndex() && !request_.tailable)
    return sorted(scanByIdIndex(forward));
  auto scan = std::make_unique<CollectionScan>(plan_, plan_.filter, forward, request_.tailable);
  scan->beginBehind(request_.behind, request_.fromNearest);
  return sorted(std::move(scan));
}

/// A clustered collection of numbered records: its natural order is that of its `_id` index.
PlanStagePtr Planner::scanByIdIndex(bool forward) {
  IndexPlan access;
  access.index = plan_.collection->indexes().front();
  access.keyRange = true;
  access.forward = forward;
  auto scan = std::make_unique<IndexScan>(plan_, std::make_shared<const IndexPlan>(std::move(access)), false);
  return std::make_unique<FetchRows>(plan_, std::move(scan), query_.conjuncts);
}

/// `$natural` of the hint or the sort.
Element Planner::naturalOrder() const {
  if (request_.hint.is(Type::kDocument)) {
    if (const auto e = request_.hint.asDocument()["$natural"]; e) return e;
  }
  return request_.sort["$natural"];
}

StatusWith<PlannedChoice> Planner::natural(const Element& direction) {
  const double value = direction.toDouble();
  if (!direction.isNumber() || (value != 1 && value != -1))
    return {ErrorCode::kBadValue, "$natural hint must be 1 or -1"};
  if (request_.hint.is(Type::kDocument) && request_.hint.asDocument().has("$natural") &&
      request_.hint.asDocument().count() != 1)
    return {ErrorCode::kBadValue, "a hint of $natural may have no other fields"};
  PlannedChoice choice;
  TROUPE_ASSIGN(choice.winner, collectionScan(value > 0));
  return choice;
}

/// The index a hint names; null without a hint.
StatusWith<IndexPtr> Planner::hinted() const {
  if (!request_.hint.ok()) return IndexPtr();
  for (const IndexPtr& index : plan_.collection->accessPaths()) {
    if (!index->usable()) continue;
    const bool meant = request_.hint.is(Type::kString)
                           ? request_.hint.asString() == plan_.collection->shownName(*index)
                           : bson::compareDocuments(request_.hint.asDocument(), index->spec.key) == 0;
    if (meant) return index;
  }
  if (request_.hint.is(Type::kDocument) && request_.hint.asDocument().empty()) return IndexPtr();
  return {ErrorCode::kBadValue,
          "error processing query: ns=" + plan_.collection->ns().toString() +
              " planner returned error :: caused by :: hint provided does not correspond to an existing index"};
}

StatusWith<PlannedChoice> Planner::byHint() {
  TROUPE_ASSIGN(const IndexPtr index, hinted());
  const bool byRange = !request_.min.empty() || !request_.max.empty();
  if (byRange && !index)
    return {ErrorCode(51173), "When using min()/max() a hint of which index to use must be provided"};
  if (byRange) return byKeyRange(index);
  if (!index) return among();  // the hint {} asks for no index in particular
  TROUPE_ASSIGN(auto access, planIndex(index, query_, true));
  invariant(access.has_value(), "a hinted index is scanned whole where no predicate bounds it");
  PlannedChoice choice;
  choice.winner = build(single(std::move(*access)));
  return choice;
}

/// min and max name whole keys of the hinted index: from <= key < to.
StatusWith<PlannedChoice> Planner::byKeyRange(const IndexPtr& index) {
  const auto key = [&](bson::View values) -> StatusWith<std::string> {
    if (values.empty()) return std::string();
    storage::key_string::Builder out{storage::Ordering(index->spec.descendingMask())};
    auto field = index->spec.fields.begin();
    for (const Element& e : values) {
      if (field == index->spec.fields.end() || field->path != e.name())
        return Status(ErrorCode(51174), "The index chosen is not compatible with min/max");
      out.append(e, index->access->collator());
      ++field;  // all fields in their order: the bounds of a partial key would be ambiguous
    }
    if (field != index->spec.fields.end())
      return Status(ErrorCode(51174), "The index chosen is not compatible with min/max");
    return std::string(out.finish(storage::key_string::Discriminator::kExclusiveBefore).bytes());
  };
  IndexPlan access;
  access.index = index;
  access.keyRange = true;
  access.multikey = index->multikey();
  access.residual = query_.conjuncts;
  TROUPE_ASSIGN(access.from, key(request_.min));
  TROUPE_ASSIGN(access.to, key(request_.max));
  if (!access.from.empty() && !access.to.empty() && access.from >= access.to)
    return {ErrorCode(51175), "The value provided for min() must be less than max()"};
  PlannedChoice choice;
  choice.winner = build(single(std::move(access)));
  return choice;
}

Planner::Candidate Planner::single(IndexPlan access) const {
  Candidate candidate;
  candidate.covered = covers(access);
  candidate.residual = std::move(access.residual);
  candidate.providesSort = access.providesSort;
  candidate.scans.push_back(std::make_shared<const IndexPlan>(std::move(access)));
  return candidate;
}

/// Whether the index covers the query: its keys hold all fields that are filtered, sorted and projected.
bool Planner::covers(const IndexPlan& access) const {
  if (isClusterKey(access)) return false;  // its rows are the documents
  if (!plan_.projection || !plan_.projection->isInclusion() || plan_.refetch || request_.returnKey ||
      request_.showRecordId)
    return false;
  // A multikey index has one key per array element, and a collation's keys are no strings: neither gives the value
  // back.
  if (!access.residual.empty() || access.multikey || access.index->access->collator() ||
      (plan_.sort && !access.providesSort))
    return false;
  const auto& wanted = plan_.projection->requiredPaths();
  const auto& fields = access.index->spec.fields;
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](const std::string& path) {
    // A key does not tell {a: {b: 1}} from {"a.b": 1}, and a hash (a string in the pattern) not its value.
    return path.find('.') == std::string::npos && !access.index->spec.key[path].is(Type::kString) &&
           std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field.path == path; });
  });
}

/// Whether the planner may choose the index.
bool Planner::mayUse(const storage::IndexEntry& index) const {
  return index.usable() && (!plan_.indexFilter || plan_.indexFilter->allows(*plan_.collection, index));
}

StatusWith<std::optional<IndexPlan>> Planner::bestForBranch(const MatchExpression& branch) {
  TROUPE_ASSIGN(const IndexQuery query, IndexQuery::of(&branch, indexes_, plan_.parse));
  std::optional<IndexPlan> best;
  for (const IndexPtr& index : plan_.collection->accessPaths()) {
    if (!mayUse(*index)) continue;
    TROUPE_ASSIGN(auto access, planIndex(index, query, false));
    if (!access || access->bounded == 0) continue;  // a whole index a branch would be worse than one scan of all
    // Branches are not tried out: there would be as many trials as combinations.
    const auto rank = [](const IndexPlan& p) { return std::pair(p.equalities, p.bounded); };
    if (!best || rank(*access) > rank(*best)) best = std::move(access);
  }
  return best;
}

/// A scan for each branch, if every branch has an index.
StatusWith<std::optional<Planner::Candidate>> Planner::unionFor(const MatchExpression& either) {
  Candidate candidate;
  const bool isLarge = either.children().size() > kFewBranches;
  bool exact = query_.conjuncts.size() == 1;  // nothing beside the $or is left to be tested
  for (const auto& branch : either.children()) {
    TROUPE_ASSIGN(auto access, bestForBranch(*branch));
    if (!access) return std::optional<Candidate>();
    TROUPE_TRY(access->charge(plan_.parse.work, isLarge ? 0 : storage::MemoryBudget::kFree));
    exact = exact && access->residual.empty();
    candidate.scans.push_back(std::make_shared<const IndexPlan>(std::move(*access)));
  }
  if (!exact) candidate.residual = query_.conjuncts;
  return std::optional(std::move(candidate));
}

StatusWith<std::vector<Planner::Candidate>> Planner::candidates() {
  std::vector<Candidate> out;
  for (const IndexPtr& index : plan_.collection->accessPaths()) {
    if (!mayUse(*index)) continue;
    StatusWith<std::optional<IndexPlan>> planned = planIndex(index, query_, false);
    // Large bounds may leave no room for a choice; the plans so far will do.
    if (planned.status() == ErrorCode::kExceededMemoryLimit && !out.empty()) break;
    TROUPE_ASSIGN(auto access, std::move(planned));
    if (!access) continue;
    Candidate next = single(std::move(*access));
    // Fewer candidates make shorter trials: each of them reads documents.
    if (std::any_of(out.begin(), out.end(), [&](const Candidate& c) { return dominates(c, next); })) continue;
    std::erase_if(out, [&](const Candidate& c) { return dominates(next, c); });
    out.push_back(std::move(next));
  }
  TROUPE_TRY(addUnions(out));
  return out;
}

/// Each holds all conditions of the query as its rest, and takes part in the trial: of very many the first will do.
Status Planner::addUnions(std::vector<Candidate>& out) {
  size_t left = kMostUnions;
  for (const MatchExpression* conjunct : query_.conjuncts) {
    TROUPE_TRY(query_.step());
    if (conjunct->kind() != MatchKind::kOr) continue;
    if (left-- == 0) break;
    StatusWith<std::optional<Candidate>> planned = unionFor(*conjunct);
    if (planned.status() == ErrorCode::kExceededMemoryLimit && !out.empty()) break;
    TROUPE_ASSIGN(auto candidate, std::move(planned));
    if (candidate) out.push_back(std::move(*candidate));
  }
  return Status::OK();
}

/// Whether `a` is at least as good as `b` in everything known without reading data.
bool Planner::dominates(const Candidate& a, const Candidate& b) const {
  invariant(!a.isUnion() && !b.isUnion(), "unions are added after the indexes, and compared with nothing");
  const IndexPlan& x = *a.scans.front();
  const IndexPlan& y = *b.scans.front();
  return (y.used & ~x.used) == 0 && x.equalities >= y.equalities && x.bounded >= y.bounded &&
         a.residual.size() <= b.residual.size() && (a.providesSort || !b.providesSort) && (a.covered || !b.covered);
}

bool Planner::isClusterKey(const IndexPlan& access) const { return access.index == plan_.collection->clusterKey(); }

PlannedAccess Planner::build(const Candidate& candidate) {
  PlannedAccess access;
  if (!candidate.isUnion() && isClusterKey(*candidate.scans.front())) {
    auto scan = std::make_unique<ClusteredScan>(plan_, candidate.scans.front(), candidate.residual);
    if (plan_.sort && !candidate.providesSort) return sorted(std::move(scan));
    access.root = std::move(scan);
    return access;
  }
  const bool countOnly = request_.rowsOnly && candidate.residual.empty() && !plan_.sort;
  std::vector<PlanStagePtr> scans;
  for (const auto& scan : candidate.scans) {
    if (isClusterKey(*scan)) scans.push_back(std::make_unique<ClusteredScan>(plan_, scan, Conjuncts{}));
    else scans.push_back(std::make_unique<IndexScan>(plan_, scan, countOnly));
  }
  PlanStagePtr root =
      candidate.isUnion() ? std::make_unique<UnionRows>(plan_, std::move(scans)) : std::move(scans.front());
  access.covered = candidate.covered;
  if (candidate.covered) {
    root = std::make_unique<CoveredRows>(plan_, std::move(root), request_.projection, candidate.scans.front()->index);
  } else if (!countOnly) {
    root = std::make_unique<FetchRows>(plan_, std::move(root), candidate.residual);
  }
  if (plan_.sort && !candidate.providesSort) return sorted(std::move(root));
  access.root = std::move(root);
  return access;
}

StatusWith<PlannedChoice> Planner::among() {
  TROUPE_ASSIGN(const std::vector<Candidate> candidates, this->candidates());
  PlannedChoice choice;
  if (candidates.empty()) {
    TROUPE_ASSIGN(choice.winner, collectionScan(true));
    return choice;
  }
  const auto isOneRecord = [](const Candidate& c) {
    const IndexPlan& access = *c.scans.front();
    return !c.isUnion() && access.index->spec.isUnique() &&
           access.equalities == static_cast<int>(access.bounds.size()) &&
           std::all_of(access.bounds.begin(), access.bounds.end(), [](const Intervals& i) { return i.size() <= 1; });
  };
  // At most one record can match: no trial could find anything cheaper.
  size_t best =
      static_cast<size_t>(std::find_if(candidates.begin(), candidates.end(), isOneRecord) - candidates.begin());
  if (best == candidates.size()) {
    TROUPE_ASSIGN(best, tryOut(candidates));
  }
  choice.winner = build(candidates[best]);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i != best) choice.rejected.push_back(build(candidates[i]));
  }
  return choice;
}

StatusWith<size_t> Planner::tryOut(const std::vector<Candidate>& candidates) {
  if (candidates.size() == 1) return size_t{0};
  std::vector<PlannedAccess> entrants;
  for (const Candidate& candidate : candidates) entrants.push_back(build(candidate));
  return mostProductive(plan_, entrants, request_.limit ? *request_.limit + request_.skip : 0);
}

StatusWith<PlannedChoice> Planner::choose() {
  TROUPE_ASSIGN(query_, IndexQuery::of(plan_.filter, indexes_, plan_.parse));
  query_.sort = plan_.sort.get();
  if (const Element direction = naturalOrder(); direction) return natural(direction);
  PlannedChoice choice;
  if (request_.tailable) {
    TROUPE_ASSIGN(choice.winner, collectionScan(true));
    return choice;
  }
  const bool never = std::any_of(query_.conjuncts.begin(), query_.conjuncts.end(),
                                 [](const auto* e) { return e->kind() == MatchKind::kAlwaysFalse; });
  // A hint is checked even when nothing can match: a wrong name is an error with any data.
  if (never && !request_.hint.ok()) {
    choice.winner.root = std::make_unique<NoRows>(plan_);
    return choice;
  }
  // An operator's choice of indexes is stronger than a client's hint.
  const bool free =
      (!request_.hint.ok() || plan_.indexFilter != nullptr) && request_.min.empty() && request_.max.empty();
  if (!free) return byHint();
  // The most frequent query needs no planning: one record, found by its `_id`.
  if (query_.conjuncts.size() == 1 && query_.conjuncts.front()->kind() == MatchKind::kEq &&
      query_.conjuncts.front()->path() == "_id" && plan_.collection->hasIdKey() && !request_.returnKey &&
      isPointId(query_.conjuncts.front()->operand(), *plan_.collection, query_.collator)) {
    choice.winner.root = std::make_unique<IdLookup>(plan_, query_.conjuncts.front()->operand());
    return choice;
  }
  return among();
}

}  // namespace troupe::query
