#pragma once
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "state_machines/replication/fetching.hpp"

namespace troupe::replication {

/// The fetching machine while it handles one event: a working copy of its document and memory, and the effects that
/// follow. Rules are functions that change a turn; `step` makes it the machine's step.
struct FetchTurn {
  explicit FetchTurn(const Snapshot<Fetching>& now) : before(now), doc(now.document), mem(now.memory) {}

  const Snapshot<Fetching>& before;
  Fetching::Document doc;
  Fetching::Memory mem;
  std::vector<Effect<Fetching>> effects;

  template <class Action>
  void perform(Action action) {
    effects.push_back(Fetching::perform(std::move(action)));
  }
  void done() { effects.push_back(Fetching::reply(Done{})); }
  Snapshot<Fetching> now() const { return {doc, mem}; }
  /// Whether a report is about the present source.
  bool isOf(const NodeName& source) const { return source == mem.source; }
  bool catchesUp() const { return doc.mission == Mission::kCatchUp; }

  Step<Fetching> step() && {
    Step<Fetching> step = Fetching::stay();
    step.effects = std::move(effects);
    if (doc != before.document) step.document = std::move(doc);
    if (mem != before.memory) step.memory = std::move(mem);
    return step;
  }
};

// The sources that are not asked, and for how long: fetching_denials.cpp.

/// Does not ask the present source for a while, or until the end of the catch-up.
void deny(FetchTurn& t, Denial why);
/// Ends the denial of that member, if there is one.
void forgive(FetchTurn& t, const NodeName& host);
void forgetDenials(FetchTurn& t);
/// Takes note of the primary that is known now; a new one is asked again.
void notePrimary(FetchTurn& t, const NodeName& primary);
/// All that are not to be asked now.
std::set<NodeName> deniedHosts(const Fetching::Memory& mem);
/// The next source; absent: none.
std::optional<NodeName> choose(FetchTurn& t, const Candidates& known);
/// Whether the present source is given up if it is silent.
bool isToBeLeft(const FetchTurn& t);

/// Catching up: sources that fail are asked again for `kLongSilence` from now on.
void beginPatience(FetchTurn& t);
/// Before the mission changes.
void leaveCatchUp(FetchTurn& t);

}  // namespace troupe::replication
