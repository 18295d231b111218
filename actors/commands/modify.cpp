#include "actors/commands/modify.hpp"

#include <algorithm>

#include "actors/kernel/node.hpp"
#include "messaging/bson/collation.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/plan/id_lookup.hpp"
#include "storage/query/project/projection.hpp"
#include "storage/records/record_id_set.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// A modification with everything parsed, and the collection held for writing.
class Modifier {
 public:
  Modifier(Request& request, AuthorizedNamespace ns, const Modification& what, WriteTarget target)
      : request_(request),
        ns_(std::move(ns)),
        what_(what),
        target_(std::move(target)),
        writer_(writerOf(request)),
        resources_(request.server(), request.operation()) {}

  Status prepare() {
    resources_.collection = target_.collection;
    TROUPE_TRY(prepareContext(resources_, request_, what_.collation, what_.let));
    resources_.context.clusterTime = newTimestamp(request_.server());
    TROUPE_ASSIGN(filter_, query::parseMatch(what_.filter, resources_.context));
    if (what_.update) {
      TROUPE_ASSIGN(update_, query::parseUpdate(what_.update, what_.arrayFilters, resources_.context, what_.constants));
      if (what_.multi && update_->form() == query::Update::Form::kReplacement) {
        return {ErrorCode::kFailedToParse, "multi update is not supported for replacement-style update"};
      }
    }
    TROUPE_TRY(prepareProjection());
    if (target_.collection) {
      TROUPE_ASSIGN(auto validator,
                    DocumentValidator::of(request_.server(), *target_.collection, what_.bypassValidation, resources_));
      validator_ = std::move(validator);
    }
    return Status::OK();
  }

  Task<Status> run() {
    storage::ConflictRetry retry = writer_.newRetry();
    for (;;) {
      const uint64_t decided = writer_.preparedDecisions();
      const Status status = co_await attempt();
      executor_.reset();
      if (status.isOK()) break;
      outcome_.before.reset();  // kept of a write that did not happen
      outcome_.after.reset();
      unit().abandonSnapshot();
      if (status == ErrorCode::kPreparedTransactionInProgress) {
        target_.lock.reset();
        TROUPE_CO_TRY(co_await writer_.untilDecided(decided));
        TROUPE_CO_TRY(co_await reopen());
        continue;
      }
      const auto delay = retry.next(status);
      if (!delay) co_return status;
      if (delay->count() > 0) {
        target_.lock.reset();
        TROUPE_CO_TRY(co_await writer_.pause(*delay));
      }
      TROUPE_CO_TRY(request_.checkForInterrupt());
      TROUPE_CO_TRY(co_await reopen());
    }
    if (outcome_.matched == 0 && what_.upsert) co_return co_await upsert();
    co_return Status::OK();
  }

  ModificationOutcome takeOutcome() { return std::move(outcome_); }
  query::KeyMatch race() const { return race_; }

 private:
  storage::RecoveryUnit& unit() { return resources_.unit(); }
  const storage::Collection& collection() const { return *target_.collection; }

  Status prepareProjection() {
    if (what_.fields.empty()) return Status::OK();
    TROUPE_ASSIGN(projection_, query::parseProjection(what_.fields, filter_.get(), resources_.context));
    if (what_.keepAfter && projection_->isPositional())
      return {ErrorCode::kBadValue, "cannot use a positional projection and return the new document"};
    return Status::OK();
  }

  /// Whether at most one document matches: no order is needed then, and a sort is not even read.
  bool asksForId() const {
    const bson::Element id = what_.filter.first();
    return id.name() == "_id" && what_.filter.count() == 1 && target_.collection &&
           query::isIdLookup(id, *target_.collection, resources_.context.collator);
  }

  Status open() {
    TROUPE_TRY(resources_.catalog().status());
    query::FindRequest find;
    if (!asksForId()) find.sort = what_.sort;
    find.hint = what_.hint;
    find.forbidCollectionScan = request_.server().parameters.notablescan;
    find.changesResults = true;
    TROUPE_ASSIGN(executor_, query::openScan(target_.collection, *filter_, find, unit(), resources_.context));
    return Status::OK();
  }

  /// Takes the lock again that a pause gave up. The collection may have got another shape, or be gone.
  Task<Status> reopen() {
    const storage::CollectionPtr before = target_.collection;
    if (!before) co_return Status::OK();
    auto again = co_await openForWrite(request_, ns_, IfMissing::kLeave);
    if (!again.isOK()) co_return again.status();
    if (!again->collection || again->collection->uuid() != before->uuid()) {
      co_return Status(ErrorCode::kQueryPlanKilled,
                       "collection " + before->ns().toString() + " was dropped or renamed while it was written to");
    }
    target_ = std::move(*again);
    if (target_.collection == before) co_return Status::OK();
    resources_.collection = target_.collection;
    auto validator = DocumentValidator::of(request_.server(), *target_.collection, what_.bypassValidation, resources_);
    if (!validator.isOK()) co_return validator.status();
    validator_ = std::move(*validator);
    co_return Status::OK();
  }

  /// Goes through the matches, from the beginning after a conflict; skips documents that were changed already.
  Task<Status> attempt() {
    if (Status status = open(); !status.isOK()) co_return status;
    TimePoint lastYield = request_.server().node.environment().now();
    for (;;) {
      auto next = executor_->next();
      if (!next.isOK()) co_return next.status();
      if (next->isEnd()) break;
      if (next->isDocument() && !isDone(executor_->recordId())) {
        const storage::RecordId id = executor_->recordId();
        if (Status status = changeOne(id, next->document); !status.isOK()) co_return status;
        if (!what_.multi) break;
        if (Status status = noteDone(id); !status.isOK()) co_return status;
        if (Status status = resume(); !status.isOK()) co_return status;
      }
      if (Status status = co_await letOthersIn(lastYield); !status.isOK()) co_return status;
    }
    report();
    co_return Status::OK();
  }

  /// Whether the record was updated already. A removed one does not come again.
  bool isDone(const storage::RecordId& id) const { return id <= doneUpTo_ || done_.contains(id); }
  /// A scan in the order of records meets each once: only another attempt begins with those before it again.
  Status noteDone(const storage::RecordId& id) {
    if (!update_) return Status::OK();
    if (executor_->stats().ascending) {
      doneUpTo_ = id;
      return Status::OK();
    }
    done_.insert(id);
    return doneMemory_.set(done_.bytes());
  }

  Status resume() { return executor_->restore(unit(), request_.server().catalog.unguarded()); }

  Task<Status> letOthersIn(TimePoint& lastYield) {
    const TimePoint now = request_.server().node.environment().now();
    if (Status status = request_.operation().checkForInterrupt(now); !status.isOK()) co_return status;
    if (now - lastYield < kSlice) co_return Status::OK();
    executor_->save();
    unit().abandonSnapshot();
    target_.lock.reset();  // an operation that waits for the collection gets it now, and writers do not queue behind it
    if (Status status = co_await giveWay(request_); !status.isOK()) co_return status;
    if (Status status = co_await reopen(); !status.isOK()) co_return status;
    lastYield = request_.server().node.environment().now();
    co_return resume();
  }

  /// Changes or deletes one document within the snapshot it was found in, and commits.
  Status changeOne(const storage::RecordId& id, bson::View found) {
    const bson::Document before(found);
    std::optional<query::UpdateResult> result;
    if (update_) {
      query::UpdateInput input;
      input.document = before;
      if (update_->needsMatchedIndex()) {
        TROUPE_ASSIGN(input.matchedIndex, executor_->matchedArrayIndex());
      }
      TROUPE_ASSIGN(result, update_->apply(input));
      const bson::View shown = before;
      const bool replaces = update_->form() == query::Update::Form::kReplacement;
      if (!result->noop || replaces) TROUPE_TRY(validator_.check(result->document, &shown));
      if (!result->noop) TROUPE_TRY(request_.server().disk.roomFor(result->document.view().size()));
    }
    TROUPE_TRY(keep(before, result ? &result->document : nullptr));
    executor_->save();
    if (!result || !result->noop) {
      TROUPE_TRY(writer_.once([&] {
        return result ? collection().update(unit(), id, before, result->document)
                      : collection().remove(unit(), id, before);
      }));
      ++outcome_.modified;
    }
    ++outcome_.matched;
    return Status::OK();
  }

  /// Keeps what the client is shown; before the write, since a projection may fail.
  Status keep(const bson::Document& before, const bson::Document* after) {
    if (what_.keepBefore) {
      TROUPE_ASSIGN(outcome_.before, shown(before));
    }
    if (what_.keepAfter && after) {
      TROUPE_ASSIGN(outcome_.after, shown(*after));
    }
    return Status::OK();
  }
  StatusWith<bson::Document> shown(bson::View document) const {
    if (!projection_) return bson::Document(document);
    return projection_->apply({.document = document});
  }

  Task<Status> upsert() {
    auto made = query::documentForUpsert(*filter_, *update_, newObjectId(request_.server()));
    if (!made.isOK()) co_return made.status();
    std::deque<bson::Document> owned;
    auto stored = documentToStore(*made, request_.server(), owned, EmptyTimestamps::kKeep);
    if (!stored.isOK()) co_return stored.status();
    if (Status status = validator_.check(*stored); !status.isOK()) co_return status;
    if (Status status = request_.server().disk.roomFor(stored->size()); !status.isOK()) co_return status;
    if (what_.keepAfter) {
      TROUPE_CO_ASSIGN(outcome_.after, shown(*stored));
    }
    auto insert = [&]() -> Status { return collection().insert(unit(), *stored).status(); };
    const Status status = co_await writer_.commit(insert);
    if (!status.isOK()) {
      race_ = raceOf(status, *stored);
      co_return status;
    }
    outcome_.upsertedId = bson::Value((*stored)["_id"]);
    if (!collection().isCapped()) co_return Status::OK();
    target_.lock.reset();
    co_return co_await trimCapped(request_, ns_, target_.collection, stored->size());
  }

  /// Whether the document that stands in the way of an upsert is one that it would have changed, had it been there
  /// before. Any other makes the upsert fail however often it is tried.
  query::KeyMatch raceOf(const Status& failure, bson::View made) const {
    if (failure != ErrorCode::kDuplicateKey || !failure.extra()) return query::KeyMatch::kNo;
    const bson::View extra = *failure.extra();
    if (!extra["keyPattern"].isObjectLike()) return query::KeyMatch::kNo;
    const bson::View pattern = extra["keyPattern"].asDocument();
    const bson::View collation = extra["collation"].isObjectLike() ? extra["collation"].asDocument() : bson::View();
    const auto indexes = collection().accessPaths();
    const bool comparesAlike = std::any_of(indexes.begin(), indexes.end(), [&](const storage::IndexPtr& index) {
      return index->spec.key.view() == pattern && index->spec.collation.view() == collation &&
             bson::Collator::same(index->access->collator(), resources_.context.collator);
    });
    return comparesAlike ? query::matchByKey(*filter_, pattern, made) : query::KeyMatch::kNo;
  }

  void report() {
    storage::OperationMetrics& metrics = request_.operation().metrics;
    const auto& stats = executor_->stats();
    metrics.keysExamined += stats.keysExamined;
    metrics.docsExamined += stats.docsExamined;
    metrics.planSummary = stats.planSummary;
  }

  Request& request_;
  const AuthorizedNamespace ns_;
  const Modification& what_;
  WriteTarget target_;
  CollectionWriter writer_;
  QueryResources resources_;
  std::unique_ptr<query::MatchExpression> filter_;
  std::unique_ptr<query::Update> update_;
  std::unique_ptr<query::Projection> projection_;  ///< of what is kept; null: all of it
  DocumentValidator validator_;
  std::unique_ptr<query::Executor> executor_;
  // Updated already: their new place in an index must not bring them up again, nor another attempt.
  storage::RecordId doneUpTo_;  ///< this record and all before it
  storage::RecordIdSet done_;   ///< and these
  query::HeldMemory doneMemory_{&resources_};
  ModificationOutcome outcome_;
  query::KeyMatch race_ = query::KeyMatch::kNo;
};

/// How often an upsert tries again when a document has its key that need not match the rest of its filter.
constexpr int kFurtherTries = 2;

/// `race`: whether an upsert failed since another one was faster.
Task<StatusWith<ModificationOutcome>> modifyOnce(Request& request, AuthorizedNamespace ns, const Modification& what,
                                                 query::KeyMatch& race) {
  auto target = co_await openForWrite(request, ns, what.upsert ? IfMissing::kCreate : IfMissing::kLeave);
  if (!target.isOK()) co_return target.status();
  Modifier modifier(request, ns, what, std::move(*target));
  if (Status status = modifier.prepare(); !status.isOK()) co_return status;
  const Status status = co_await modifier.run();
  race = modifier.race();
  if (!status.isOK()) co_return status;
  ModificationOutcome outcome = modifier.takeOutcome();
  if (outcome.modified < std::max<int64_t>(outcome.matched, 1) && !outcome.upsertedId)
    request.operation().noteReliance();
  co_return outcome;
}

}  // namespace

Task<StatusWith<ModificationOutcome>> modify(Request& request, AuthorizedNamespace ns, Modification what) {
  CollectionWriter writer = writerOf(request);
  storage::ConflictRetry retry = writer.newRetry();
  for (int tries = 0;; ++tries) {
    query::KeyMatch race = query::KeyMatch::kNo;
    auto outcome = co_await modifyOnce(request, ns, what, race);
    if (race == query::KeyMatch::kNo) co_return outcome;
    // An index that was named need not hold the document.
    const bool isSure = race == query::KeyMatch::kSurely && !what.hint.ok();
    if (!isSure && tries >= kFurtherTries) co_return outcome;
    request.operation().recoveryUnit().abandonSnapshot();
    const Status conflict(ErrorCode::kWriteConflict, outcome.status().reason());
    const auto delay = retry.next(conflict);
    if (!delay) co_return outcome;
    if (delay->count() > 0) TROUPE_CO_TRY(co_await writer.pause(*delay));
    TROUPE_CO_TRY(request.checkForInterrupt());
  }
}

}  // namespace troupe::commands
