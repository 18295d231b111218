#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

RowFilter::RowFilter(const MatchExpression* filter) : filter_(filter) {
  if (filter_ && filter_->kind() == MatchKind::kAnd && filter_->children().empty()) filter_ = nullptr;
  canFail_ = filter_ && filter_->canFail();
}

StatusWith<bool> RowFilter::passes(bson::View document) const {
  if (!filter_) return true;
  if (!canFail_) return filter_->matches(document);
  MatchDetails details;
  const bool matched = filter_->matches(document, &details);
  TROUPE_TRY(details.error);
  return matched;
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
  for (const auto& input : inputs_) input->save();
}

Status PlanStage::restore() {
  ++restores_;
  for (const auto& input : inputs_) TROUPE_TRY(input->restore());
  return onRestore();
}

void PlanStage::describe(bson::Builder&, bool) const {}

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
  if (const MatchExpression* filter = shownFilter()) out.append("filter", filter->toBson());
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
