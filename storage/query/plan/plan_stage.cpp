#include "storage/query/plan/plan_stage.hpp"

#include <algorithm>

namespace troupe::query {

namespace {

void addConjuncts(const MatchExpression& node, Conjuncts& out) {
  if (node.kind() == MatchKind::kAlwaysTrue) return;
  if (node.kind() != MatchKind::kAnd) return out.push_back(&node);
  for (const auto& child : node.children()) addConjuncts(*child, out);
}

/// Filters of so many nodes take no time to speak of over a small document.
constexpr size_t kFewNodes = 32;

/// Counts the nodes until they are more than `limit`.
bool exceeds(size_t limit, const MatchExpression& node, size_t& count) {
  return ++count > limit || std::any_of(node.children().begin(), node.children().end(),
                                        [&](const auto& child) { return exceeds(limit, *child, count); });
}

}  // namespace

Conjuncts conjunctsOf(const MatchExpression* filter) {
  Conjuncts out;
  if (filter) addConjuncts(*filter, out);
  return out;
}

RowFilter::RowFilter(Conjuncts conjuncts) : conjuncts_(std::move(conjuncts)) {
  canFail_ = std::any_of(conjuncts_.begin(), conjuncts_.end(), [](const MatchExpression* e) { return e->canFail(); });
  size_t nodes = 0;
  costly_ = canFail_ || std::any_of(conjuncts_.begin(), conjuncts_.end(),
                                    [&](const MatchExpression* e) { return exceeds(kFewNodes, *e, nodes); });
}

StatusWith<bool> RowFilter::passes(bson::View document, QueryWork* work) const {
  MatchDetails details;
  const bool watched = work && (costly_ || document.bytes().size() > storage::MemoryBudget::kFree);
  if (watched) details.work = work;
  const bool canFail = canFail_ || watched;
  for (const MatchExpression* condition : conjuncts_) {
    const bool matched = condition->matches(document, canFail ? &details : nullptr);
    if (canFail) TROUPE_TRY(details.error);
    if (!matched) return false;
  }
  return true;
}

bson::Document RowFilter::toBson() const {
  if (conjuncts_.size() == 1) return conjuncts_.front()->toBson();
  bson::Builder out;
  out.openArray("$and");
  for (const MatchExpression* condition : conjuncts_) out.push(condition->toBson());
  out.close();
  return out.finish();
}

StatusWith<PlanStage::Step> PlanStage::work(Row& row) {
  ++works_;
  auto step = advance(row);
  if (step.isOK()) {
    advanced_ += *step == Step::kRow;
    ended_ = ended_ || *step == Step::kEnd;
  }
  return step;
}

void PlanStage::save() {
  ++saves_;
  onSave();
  for (const auto& input : held()) input->save();
}

Status PlanStage::restore() {
  ++restores_;
  for (const auto& input : held()) TROUPE_TRY(input->restore());
  return onRestore();
}

void PlanStage::describe(bson::Builder&, bool) const {}

FullScan PlanStage::fullScan() const {
  for (const auto& input : inputs_)
    if (const FullScan scan = input->fullScan(); scan != FullScan::kNone) return scan;
  return FullScan::kNone;
}

void PlanStage::summarize(std::string& out) const {
  if (inputs_.empty()) out += name();
  for (const auto& input : inputs_) {
    if (!out.empty()) out += ", ";
    input->summarize(out);
  }
}

void PlanStage::explainCounters(bson::Builder& out) const {
  out.append("nReturned", advanced_).append("executionTimeMillisEstimate", int64_t{0});
  out.append("works", works_).append("advanced", advanced_);
  out.append("needTime", works_ - advanced_ - (ended_ ? 1 : 0)).append("needYield", int64_t{0});
  out.append("saveState", saves_).append("restoreState", restores_).append("isEOF", ended_ ? 1 : 0);
}

void PlanStage::explain(bson::Builder& out, bool counters) const {
  out.append("stage", name());
  if (out.size() > kMostExplained || (plan_.parse.work && !plan_.parse.work->step().isOK())) {
    out.append("warning", "stats tree exceeded BSON size limit for explain");
    return;
  }
  if (const RowFilter* filter = shownFilter(); filter && !filter->empty()) out.append("filter", filter->toBson());
  if (counters) explainCounters(out);
  describe(out, counters);
  if (inputs_.size() == 1) {
    out.openDocument("inputStage");
    inputs_.front()->explain(out, counters);
    out.close();
  } else if (!inputs_.empty()) {
    out.openArray("inputStages");
    for (const auto& input : inputs_) {
      out.pushDocument();
      input->explain(out, counters);
      out.close();
    }
    out.close();
  }
}

}  // namespace troupe::query
