#include "storage/query/plan/plan_trial.hpp"

#include <algorithm>

namespace troupe::query {

namespace {

/// Rows examined by each plan, in rounds; the later ones only when nobody had a result before.
constexpr int kRounds[] = {100, 900};
constexpr int64_t kFirstBatch = 101;

struct Entry {
  int64_t rows = 0;
  int64_t examined = 0;
  bool finished = false;
  Status status;

  double score(const PlannedAccess& access) const {
    if (!status.isOK()) return -1;
    const double productivity = static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(1, examined));
    return productivity + (finished ? 1 : 0) + (access.sorts ? 0 : 2e-4) + (access.covered ? 1e-4 : 0);
  }
};

void run(PlanContext& plan, PlanStage& root, Entry& entry, int budget, int64_t wanted) {
  plan.budget = budget;
  plan.sliceEnd.reset();  // each plan gets the same time
  Row row;
  while (!entry.finished && entry.status.isOK()) {
    const auto step = root.work(row);
    if (!step.isOK()) entry.status = step.status();
    else if (*step == PlanStage::Step::kAgain) break;
    else if (*step == PlanStage::Step::kEnd) entry.finished = true;
    else entry.finished = ++entry.rows >= wanted;
  }
  entry.examined += budget - plan.budget;
}

}  // namespace

StatusWith<size_t> mostProductive(PlanContext& plan, std::vector<PlannedAccess>& entrants, int64_t wanted) {
  const ExecutionStats before = plan.stats;
  plan.trial = true;
  if (wanted <= 0 || wanted > kFirstBatch) wanted = kFirstBatch;
  std::vector<Entry> entries(entrants.size());
  for (const int budget : kRounds) {
    for (size_t i = 0; i < entrants.size(); ++i) run(plan, *entrants[i].root, entries[i], budget, wanted);
    if (std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return e.finished || e.rows > 0; })) break;
  }
  plan.trial = false;
  plan.stats = before;
  size_t best = 0;
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].score(entrants[i]) > entries[best].score(entrants[best])) best = i;
  }
  TROUPE_TRY(entries[best].status);
  return best;
}

}  // namespace troupe::query
