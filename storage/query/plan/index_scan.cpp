#include "storage/query/plan/index_scan.hpp"

#include <algorithm>

#include "storage/index/document_text.hpp"
#include "storage/keys/key_string.hpp"

namespace troupe::query {

namespace {

/// A single exact key holds a record at most once, however many arrays there are.
bool isOneKey(const IndexPlan& access) {
  return !access.keyRange && access.bounds.size() == 1 && access.bounds.front().size() == 1 &&
         access.bounds.front().front().isPoint();
}

}  // namespace

KeyRanges rangesOf(const IndexPlan& access, QueryWork* work) {
  if (access.keyRange) return {access.from, access.to, access.forward};
  std::vector<bool> descending;
  for (size_t i = 0; i < access.bounds.size(); ++i) descending.push_back(access.isDescending(i));
  return {access.bounds, descending, access.forward, work};
}

IndexScan::IndexScan(PlanContext& plan, std::shared_ptr<const IndexPlan> access, bool countOnly)
    : PlanStage(plan),
      access_(std::move(access)),
      index_(access_->index.get()),
      countOnly_(countOnly),
      filter_(access_->keyFilter),
      ranges_(rangesOf(*access_, plan.parse.work)),
      removesRepeats_(!isOneKey(*access_)) {}

Status IndexScan::open() {
  open_ = true;
  if (plan_.restores > 0) TROUPE_TRY(checkIndex());  // a branch of an $or is not restored before its turn
  if (!plan_.trial) index_->state->accesses.fetch_add(1, std::memory_order_relaxed);
  TROUPE_ASSIGN(cursor_, index_->access->cursor(*plan_.unit, access_->forward));
  target_ = ranges_.start();
  return Status::OK();
}

StatusWith<bool> IndexScan::move() {
  if (target_.empty()) return cursor_.next();
  ++seeks_;
  // No key equals a target; which side of it is meant is clear from the direction.
  auto found = cursor_.seek(target_, access_->forward);
  target_.clear();
  return found;
}

StatusWith<bool> IndexScan::isFresh(const storage::RecordId& id) {
  if (!removesRepeats_ || !index_->multikey()) return true;
  const bool fresh = seen_.insert(id);
  repeats_ += !fresh;
  TROUPE_TRY(memory_.set(seen_.bytes()));
  return fresh;
}

/// Conditions that the values of the key are enough for.
StatusWith<bool> IndexScan::passes() {
  if (filter_.empty()) return true;
  TROUPE_ASSIGN(const bson::Document values,
                storage::key_string::decodeWithNames(cursor_.key(), cursor_.typeBits(), index_->spec.key));
  return filter_.passes(values, plan_.parse.work);
}

StatusWith<PlanStage::Step> IndexScan::advance(Row& row) {
  TROUPE_TRY(ranges_.interrupt());
  if (done_ || ranges_.empty()) return Step::kEnd;
  if (!open_) TROUPE_TRY(open());
  for (; plan_.spend(); ++works_) {
    TROUPE_ASSIGN(const bool found, move());
    const auto verdict = found ? ranges_.check(cursor_.key(), target_) : KeyRanges::Verdict::kEnd;
    if (verdict == KeyRanges::Verdict::kEnd) {
      done_ = true;
      return Step::kEnd;  // the key behind the bounds does not count as examined
    }
    ++keys_;
    ++plan_.stats.keysExamined;
    if (verdict == KeyRanges::Verdict::kSeek) continue;
    TROUPE_ASSIGN(const bool passed, passes());
    if (!passed) continue;
    TROUPE_ASSIGN(const bool fresh, isFresh(cursor_.id()));
    if (!fresh) continue;
    row.document = {};
    row.id = cursor_.id();
    row.key = {cursor_.key(), cursor_.typeBits(), index_};
    return Step::kRow;
  }
  return Step::kAgain;
}

void IndexScan::skipFirstComponent(std::string_view key) { target_ = ranges_.pastFirstComponent(key); }

void IndexScan::onSave() {
  if (!open_) return;
  if (done_) cursor_ = {};  // the session goes back to its pool: not even an idle cursor may stay behind
  else cursor_.save();
}

Status IndexScan::checkIndex() {
  // The index may have been dropped while nobody held a cursor on it.
  const auto current = plan_.collection->indexes();
  const auto it = std::find_if(current.begin(), current.end(),
                               [&](const storage::IndexPtr& index) { return index->ident == index_->ident; });
  if (it == current.end()) return {ErrorCode::kQueryPlanKilled, "index '" + index_->spec.name + "' dropped"};
  if (plan_.testsWholeFilter || !access_->outgrown()) return Status::OK();
  if (countOnly_ || !plan_.filter)
    return {ErrorCode::kQueryPlanKilled, "index '" + index_->spec.name + "' became multikey"};
  plan_.testsWholeFilter = true;
  return Status::OK();
}

Status IndexScan::onRestore() {
  if (done_) return Status::OK();
  TROUPE_TRY(checkIndex());
  if (!open_) return Status::OK();
  return cursor_.restore(*plan_.unit).status();
}

void IndexScan::summarize(std::string& out) const {
  out += name();
  out += ' ';
  out += storage::documentText(index_->spec.key);
}

void IndexScan::describe(bson::Builder& out, bool counters) const {
  const storage::IndexSpec& spec = index_->spec;
  out.append("keyPattern", spec.key).append("indexName", spec.name);
  if (!spec.collation.empty()) out.append("collation", spec.collation);
  out.append("isMultiKey", access_->multikey).openDocument("multiKeyPaths");
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    out.openArray(spec.fields[i].path);
    const std::string& path = spec.fields[i].path;
    const uint64_t arrays = index_->state->path(i);
    for (size_t component = 0, end = 0; end != std::string::npos; ++component) {
      end = path.find('.', end + (component > 0));
      if (arrays >> std::min<size_t>(component, 63) & 1) out.push(path.substr(0, end));
    }
    out.close();
  }
  out.close();
  out.append("isUnique", spec.isUnique())
      .append("isSparse", spec.sparse)
      .append("isPartial", spec.partialFilter.has_value());
  out.append("indexVersion", 2).append("direction", access_->forward ? "forward" : "backward");
  if (!access_->keyRange) access_->explainBounds(out, plan_.parse.work);
  if (counters)
    out.append("keysExamined", keys_)
        .append("seeks", seeks_)
        .append("dupsTested", static_cast<int64_t>(seen_.size()) + repeats_)
        .append("dupsDropped", repeats_);
}

}  // namespace troupe::query
