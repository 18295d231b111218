#include "test/model/explorer.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <ostream>
#include <set>

#include "test/model/narrator.hpp"
#include "test/model/reduction.hpp"
#include "test/model/silence.hpp"
#include "test/model/space.hpp"
#include "test/model/visited.hpp"

namespace troupe::model {

namespace {

using Clock = std::chrono::steady_clock;

/// The states of one exploration: each by a number in the order of discovery, with the way to it.
class Explorer final : Space::Visitor {
 public:
  Explorer(const Model& model, const CheckOptions& options)
      : model_(model),
        options_(options),
        space_(model),
        reduction_(space_),
        silence_(space_, reduction_),
        invariants_(model.invariants()),
        sets_(model.network == Network::kEverlasting),
        rows_(space_, sets_) {}

  Report run() {
    std::string why;
    State first = space_.initial(why);
    reduction_.apply(first);
    if (!why.empty()) fail(why, 0);
    else remember(first);
    while (at_ < rows_.size() && report_.broken.empty() && !ended_) {
      if (at_ == levelEnd_) nextLevel();
      if (at_ % 4096 == 0) look();
      if (!ended_) expand();
    }
    report_.exhausted = report_.broken.empty() && !ended_;
    if (report_.exhausted) report_.broken = reduction_.contradiction();
    if (report_.clean() && model_.goal()) sets_ ? checkProgressWithoutMessages() : checkProgress();
    finish();
    return report_;
  }

 private:
  struct Verdict {
    int broken = -1;  ///< the number of an invariant
    bool goal = false;
  };

  void nextLevel() {
    std::swap(current_, coming_);
    coming_.clear();
    readAt_ = 0;
    levelEnd_ = static_cast<uint32_t>(rows_.size());
    if (at_ != 0) ++report_.depth;
    if (model_.bounds.depth && report_.depth >= model_.bounds.depth) ended_ = true;
  }

  void expand() {
    const uint32_t size = current_[readAt_];
    now_ = State(&current_[readAt_ + 1], size);
    readAt_ += size + 1;
    ordinal_ = 0;
    if (rows_[at_].dead) {
      ++at_;
      return;
    }
    space_.successors(now_, *this);
    ++at_;
  }

  // Of each successor.
  void next(const Action& action, const State& state) override {
    const uint16_t ordinal = ordinal_++;
    ++report_.transitions;
    if (!report_.broken.empty()) return;
    State whole = state;
    reduction_.apply(whole);
    uint32_t known = rows_.find(whole);
    if (known == FlatMap::kNone) {
      known = static_cast<uint32_t>(rows_.size());
      if (known >= model_.bounds.states) {
        ended_ = true;
        return;
      }
      ordinalOfNew_ = ordinal;
      remember(whole);
    }
    if (!model_.goal() || sets_ || action.isFault()) return;
    edges_.push_back(known);
    ++rows_[at_].edges;
  }
  void cut(const Action&) override {
    ++ordinal_;
    ++report_.cut;
    rows_[at_].open = true;
  }
  void broken(const Action&, const State&, const std::string& why) override {
    if (!report_.broken.empty()) return;
    fail(why, at_);
    brokenOrdinal_ = ordinal_;
  }

  void remember(const State& state) {
    const Verdict verdict = judged(state);
    const uint32_t number = rows_.add(state, {at_, ordinalOfNew_, 0, verdict.goal, false, false}, levelEnd_);
    if (sets_ && model_.goal()) silence_.note(number, state, verdict.goal);
    coming_.push_back(state.size());
    coming_.insert(coming_.end(), state.data(), state.data() + state.size());
    if (verdict.broken >= 0) fail(invariants_[static_cast<size_t>(verdict.broken)].name, number);
  }

  /// Remembered by the machines' states, for nothing else matters to invariants.
  Verdict judged(const State& state) {
    const uint64_t key = space_.worldKey(state);
    if (const uint32_t known = verdicts_.find(key); known != FlatMap::kNone)
      return {static_cast<int>(known >> 1) - 1, (known & 1) != 0};
    const machines::World world = space_.world(state);
    Verdict verdict;
    for (size_t i = 0; i < invariants_.size() && verdict.broken < 0; ++i)
      if (invariants_[i].broken(world)) verdict.broken = static_cast<int>(i);
    verdict.goal = model_.goal() && model_.goal()(world);
    verdicts_.insert(key, static_cast<uint32_t>(verdict.broken + 1) << 1 | (verdict.goal ? 1 : 0));
    return verdict;
  }

  void fail(const std::string& what, uint32_t state) {
    report_.broken = what;
    brokenAt_ = state;
  }

  /// Backwards from the goals over the transitions that are no faults.
  void checkProgress() {
    const auto count = static_cast<uint32_t>(rows_.size());
    std::vector<uint64_t> into(count + 1, 0);  // where the sources of a state begin
    for (size_t e = 0; e < edges_.size(); ++e) ++into[edges_[e]];
    for (uint32_t i = 0; i < count; ++i) into[i + 1] += into[i];
    std::vector<uint32_t> sources(edges_.size());
    size_t edge = 0;
    for (uint32_t from = 0; from < count; ++from)
      for (uint16_t e = 0; e < rows_[from].edges; ++e) sources[--into[edges_[edge++]]] = from;
    std::vector<uint8_t> reaches(count, 0);
    std::vector<uint32_t> todo;
    auto spread = [&] {
      while (!todo.empty()) {
        const uint32_t state = todo.back();
        todo.pop_back();
        for (uint64_t e = into[state]; e < into[state + 1]; ++e)
          if (!reaches[sources[e]]) (reaches[sources[e]] = 1, todo.push_back(sources[e]));
      }
    };
    auto seed = [&](auto condition) {
      for (uint32_t i = 0; i < count; ++i)
        if (!reaches[i] && condition(rows_[i])) (reaches[i] = 1, todo.push_back(i));
      spread();
    };
    auto reached = [&] {
      uint64_t n = 0;
      for (const uint8_t r : reaches) n += r;
      return n;
    };
    seed([](const Visited::Row& row) { return row.goal; });
    const uint64_t surely = reached();
    seed([](const Visited::Row& row) { return row.open; });
    report_.assumedProgress = reached() - surely;
    memory_ += into.size() * 8 + sources.size() * 4 + reaches.size();
    for (uint32_t i = 0; i < count; ++i)
      if (!reaches[i]) return fail("no way to: " + model_.goalName(), i);
  }

  /// On an everlasting network messages are lost by never arriving; so the goal has to be reachable from every state
  /// even if nothing is under way any more: searched forwards, until a state is met whose machines were seen to get
  /// there.
  void checkProgressWithoutMessages() {
    const uint32_t stuck = silence_.search();
    report_.assumedProgress = silence_.beyond();
    if (stuck != FlatMap::kNone) fail("no way to: " + model_.goalName() + " (all messages were lost)", stuck);
  }

  /// The actions that lead to that state, found again by their places among the successors; and then once more, with
  /// each node called the same from the beginning to the end.
  std::vector<Happening> wayTo(uint32_t state) {
    std::vector<uint32_t> path;
    for (uint32_t at = state; at != 0; at = rows_[at].parent) path.push_back(at);
    std::string why;
    State now = space_.initial(why), named = now;
    reduction_.apply(now);
    std::vector<Happening> way;
    reduction_.applyButNames(named, &way);
    const auto take = [&](Picker& picker, State& from) {
      space_.successors(from, picker);
      from = picker.state;
    };
    const auto tell = [&](Picker& picker) {
      const State before = named;
      take(picker, named);
      steps_.push_back(way.size());
      way.push_back({before, picker.action, picker.state});
      reduction_.applyButNames(named, &way);
    };
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      Picker byPlace, byState;
      byPlace.left = rows_[*at].ordinal;
      take(byPlace, now);
      reduction_.apply(now);
      byState.isWanted = [&](State reached) {
        reduction_.apply(reached);
        return reached == now;
      };
      tell(byState);
    }
    if (brokenOrdinal_ >= 0) {
      Picker last;
      last.wantsBroken = true;
      tell(last);
    }
    return sets_ ? withoutIdleTalk(way) : way;
  }

  /// Picks one of the successors: by its place, by what it is, or the one that is broken.
  struct Picker final : Space::Visitor {
    void next(const Action& a, const State& s) override {
      if (isWanted ? !found && isWanted(s) : left-- == 0) take(a, s);
    }
    void cut(const Action&) override { --left; }
    void broken(const Action& a, const State& s, const std::string&) override {
      if (wantsBroken && !found) take(a, s);
      else if (!isWanted) next(a, s);
    }
    void take(const Action& a, const State& s) { (action = a, state = s, found = true); }
    int left = -1;
    std::function<bool(State)> isWanted;
    bool wantsBroken = false, found = false;
    Action action{};
    State state;
  };

  /// Leaves out the messages that were sent in the meantime and that nobody ever takes.
  std::vector<Happening> withoutIdleTalk(const std::vector<Happening>& way) {
    std::set<FlightId> wanted;
    std::vector<Happening> kept;
    for (size_t at = way.size(); at-- > 0;) {
      const Happening& h = way[at];
      bool matters = std::find(steps_.begin(), steps_.end(), at) != steps_.end();
      space_.eachFlight(h.after, [&](FlightId id) {
        bool isNew = true;
        space_.eachFlight(h.before, [&](FlightId old) { isNew &= old != id; });
        matters |= isNew && wanted.contains(id);
      });
      if (!matters) continue;
      if (h.action.flight != kNoNumber) wanted.insert(h.action.flight);
      kept.push_back(h);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  void look() {
    const double seconds = elapsed();
    if (options_.seconds > 0 && seconds > options_.seconds) ended_ = true;
    if (!options_.showProgress || !isatty(2) || seconds < shown_ + 0.5) return;
    shown_ = seconds;
    std::fprintf(stderr, "\r%u states, %zu known, depth %u, %.0f states/s   ", at_, rows_.size(), report_.depth,
                 at_ / seconds);
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void finish() {
    report_.states = rows_.size();
    const double n = static_cast<double>(rows_.hashed());
    report_.collisions = n * n / std::pow(2.0, 65);
    report_.bytes =
        memory_ + rows_.bytes() + silence_.bytes() + (current_.capacity() + coming_.capacity()) * 4 + edges_.bytes();
    report_.combinations = verdicts_.size();
    report_.localStates = space_.locals().localCount();
    report_.steps = space_.locals().stepCount();
    if (!report_.broken.empty()) {
      const auto way = rows_.size() == 0 ? std::vector<Happening>{} : wayTo(brokenAt_);
      report_.storyLength = static_cast<uint32_t>(way.size());
      std::string why;
      report_.story = Narrator(space_).story(space_.initial(why), way) + "  # " + report_.broken + "\n";
    }
    for (size_t kind = 0; kind < model_.kinds().size(); ++kind) {
      const auto rows = model_.kinds()[kind]->rows();
      for (size_t row = 0; row < rows.size(); ++row)
        if (!space_.locals().rowsTaken()[kind][row])
          report_.rowsNeverTaken.push_back(std::string(model_.kinds()[kind]->name()) + ", " + rows[row]);
    }
    for (const auto& row : space_.untaken()) report_.untaken.push_back(row);
    report_.seconds = elapsed();
    if (shown_ > 0) std::fprintf(stderr, "\r%70s\r", "");
  }

  const Model& model_;
  const CheckOptions options_;
  Space space_;
  Reduction reduction_;
  Silence silence_;
  const std::vector<machines::Invariant> invariants_;
  Report report_;
  const Clock::time_point start_ = Clock::now();
  double shown_ = 0;
  uint64_t memory_ = 0;

  const bool sets_;
  Visited rows_;
  FlatMap verdicts_;
  std::vector<uint32_t> current_, coming_;  ///< the states of this level and of the next, each after its size
  size_t readAt_ = 0;
  uint32_t at_ = 0, levelEnd_ = 0;  ///< the state that is expanded; the first one of the next level
  State now_;
  uint16_t ordinal_ = 0, ordinalOfNew_ = 0;
  Chunked<uint32_t> edges_;  ///< where the transitions that are no faults lead, in the order of the states
  bool ended_ = false;
  uint32_t brokenAt_ = 0;
  int brokenOrdinal_ = -1;
  std::vector<size_t> steps_;  ///< of the way: what is not mere talk
};

std::string grouped(uint64_t number) {
  std::string out = std::to_string(number);
  for (int at = static_cast<int>(out.size()) - 3; at > 0; at -= 3) out.insert(static_cast<size_t>(at), ",");
  return out;
}

}  // namespace

Report check(const Model& model, const CheckOptions& options) { return Explorer(model, options).run(); }

std::string Report::text() const {
  char line[200];
  std::snprintf(line, sizeof line, "%s states, %s transitions, depth %u, %.2f s%s\n", grouped(states).c_str(),
                grouped(transitions).c_str(), depth, seconds, exhausted ? ", exhausted" : "");
  std::string out = line;
  std::snprintf(line, sizeof line,
                "%s steps of machines in %s states; %.0f bytes a state; two states taken for one: p < %.1e\n",
                grouped(steps).c_str(), grouped(localStates).c_str(),
                static_cast<double>(bytes) / static_cast<double>(states ? states : 1), collisions);
  out += line;
  if (cut) out += grouped(cut) + " transitions beyond the bounds\n";
  if (assumedProgress) out += grouped(assumedProgress) + " states make progress only beyond the bounds, if at all\n";
  for (const auto& row : rowsNeverTaken) out += "never taken: " + row + "\n";
  for (const auto& [name, times] : untaken) out += "nobody takes: " + name + " (" + grouped(times) + " times)\n";
  if (!broken.empty()) out += "BROKEN: " + broken + ", after " + std::to_string(storyLength) + " steps:\n" + story;
  return out;
}

std::ostream& operator<<(std::ostream& out, const Report& report) { return out << report.text(); }

}  // namespace troupe::model
