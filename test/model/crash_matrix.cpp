#include "test/model/crash_matrix.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "test/model/narrator.hpp"
#include "test/model/walker.hpp"

namespace troupe::model {

namespace {

using What = Action::What;

constexpr int kMostSteps = 400;
constexpr const char* kEndless = "(it goes on and on)";

struct FaultKind {
  const char* name;
  Durability survives;
  bool undone;
};
constexpr FaultKind kFaults[] = {{"crash", Durability::kJournaled, true},
                                 {"step-down", Durability::kMajority, true},
                                 {"restart", Durability::kJournaled, false}};

class Run {
 public:
  Run(const Sample& sample, const FaultKind& fault) : sample_(sample), model_(sample.make()) {
    model_.faults = {.crashes = 1};
    model_.survives(fault.survives);
    walker_ = std::make_unique<Walker>(model_);
  }

  Walker& walker() { return *walker_; }
  const char* phase() {
    const Local& local = walker_->space().locals()[walker_->now()[sample_.slot]];
    return walker_->space().locals().kind(sample_.slot).phase(local.now);
  }
  bool isOver() { return model_.goal() && model_.goal()(walker_->space().world(walker_->now())); }
  /// The next step, if there is one.
  std::optional<Happening> next() { return isOver() ? std::nullopt : walker_->usual(); }
  void walk(size_t steps) {
    for (size_t i = 0; i < steps; ++i) walker_->take(*next());
  }
  std::string finish() {
    for (int i = 0; i < kMostSteps; ++i) {
      const auto step = next();
      if (!step) return outcome();
      walker_->take(*step);
    }
    return kEndless;
  }
  std::string story() { return Narrator(walker_->space()).story(walker_->first(), walker_->way()); }
  const Model& model() const { return model_; }

 private:
  std::string outcome() {
    if (sample_.outcome) return sample_.outcome(walker_->space().world(walker_->now()));
    const Local& local = walker_->space().locals()[walker_->now()[sample_.slot]];
    if (local.life == Local::Life::kEnded) return walker_->space().locals().outcomes()[local.outcome];
    return walker_->space().locals().kind(sample_.slot).documentText(local.now);
  }

  const Sample& sample_;
  Model model_;
  std::unique_ptr<Walker> walker_;
};

bool isSameStep(const Action& a, const Action& b) {
  return a.what == b.what && a.slot == b.slot && a.node == b.node && a.flight == b.flight && a.value == b.value &&
         a.cause == b.cause && a.again == b.again;
}

/// What comes out of the sample when nothing goes wrong. One that goes on and on has no outcome, and whatever happened
/// in it would look the same.
std::string undisturbedOutcome(Run& run, const Sample& sample) {
  std::string outcome = run.finish();
  if (outcome == kEndless)
    throw std::invalid_argument("the sample of " + std::string(sample.type) + " on " + sample.node +
                                " never ends: its model needs a goal that is reached");
  return outcome;
}

/// Where the node may die around a step of the machine, as the actions that make it die there.
struct Death {
  const char* point;
  Action action;
  bool stepFirst = false;  ///< the step happens as a whole, and then the node dies
};

bool isAnswer(Run& run, const Action& action) {
  if (action.what != What::kDeliver) return false;
  const auto what = run.walker().space().locals().flight(action.flight).what;
  return what == Flight::What::kAnswer || what == Flight::What::kRefusal || what == Flight::What::kTell;
}

std::vector<Death> deathsAround(Run& run, const Sample& sample, const Happening& step, const FaultKind& fault) {
  std::vector<Death> all;
  const Action crash{What::kCrash, Flight::kNobody, run.model().slots()[sample.slot].node};
  if (isAnswer(run, step.action)) all.push_back({"at a reply", crash});
  all.push_back({"before persist", crash});
  for (const auto& other : run.walker().possible()) {
    if (!isSameStep(other.action, step.action) || other.action.done == Action::kWhole) continue;
    if (other.action.undone && !fault.undone) continue;
    all.push_back({other.action.done == 0 ? "after persist" : "after an effect", other.action});
  }
  all.push_back({"after an effect", crash, true});
  return all;
}

const Happening* find(const std::vector<Happening>& all, const Action& wanted, bool undone) {
  const Happening* found = nullptr;
  for (const auto& h : all)
    if (isSameStep(h.action, wanted) && h.action.done == wanted.done && (!found || h.action.undone == undone))
      found = &h;
  return found;
}

MatrixCell cellOf(const Sample& sample, const FaultKind& fault, size_t steps, const Death& death,
                  const std::string& expected) {
  MatrixCell cell{.point = death.point, .fault = fault.name, .expected = expected};
  Run run(sample, fault);
  try {
    run.walk(steps);
    cell.phase = run.phase();
    if (death.stepFirst || death.action.done == 0) {  // what the document says by then
      Run whole(sample, fault);
      whole.walk(steps + 1);
      cell.phase = whole.phase();
    }
    if (death.stepFirst) run.walker().take(*run.next());
    const auto possible = run.walker().possible();
    const Happening* dying = find(possible, death.action, fault.undone);
    if (!dying) throw machines::BrokenMachine("the node cannot die there");
    run.walker().take(*dying);
    cell.outcome = run.finish();
  } catch (const std::exception& error) {
    cell.outcome = error.what();
  }
  if (!cell.isRight()) cell.story = run.story();
  return cell;
}

}  // namespace

CrashMatrix crashMatrix(const Sample& sample) {
  CrashMatrix matrix;
  for (const FaultKind& fault : kFaults) {
    Run plain(sample, fault);
    const std::string expected = undisturbedOutcome(plain, sample);
    const size_t length = plain.walker().way().size();
    for (size_t at = 0; at < length; ++at) {
      if (plain.walker().way()[at].action.slot != sample.slot) continue;
      Run there(sample, fault);
      there.walk(at);
      const auto step = there.next();
      for (const Death& death : deathsAround(there, sample, *step, fault))
        matrix.cells.push_back(cellOf(sample, fault, at, death, expected));
    }
  }
  std::set<std::string> met;
  for (const auto& cell : matrix.cells) met.insert(cell.phase);
  for (const auto& phase : sample.make().slots()[sample.slot].kind->phases()) {
    const auto named = [&](const auto& row) { return row.first == phase; };
    if (!met.contains(phase) && std::none_of(sample.without.begin(), sample.without.end(), named))
      matrix.phasesWithoutCell.push_back(phase);
  }
  return matrix;
}

std::string CrashMatrix::text() const {
  std::map<std::string, std::pair<int, int>> rows;
  std::string wrong;
  for (const auto& cell : cells) {
    auto& [all, right] = rows[cell.phase + ", " + cell.point + ", " + cell.fault];
    ++all;
    right += cell.isRight() ? 1 : 0;
    if (cell.isRight()) continue;
    wrong += "in phase " + cell.phase + ", " + cell.point + ", " + cell.fault + ": " + cell.outcome +
             "\n  instead of: " + cell.expected + "\n" + cell.story;
  }
  std::string out;
  for (const auto& [name, counts] : rows)
    out += name + ": " + std::to_string(counts.second) + " of " + std::to_string(counts.first) + "\n";
  for (const auto& phase : phasesWithoutCell) out += "never in phase: " + phase + "\n";
  return out + wrong;
}

}  // namespace troupe::model
