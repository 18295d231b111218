// The queue of one resource against a model that decides everything anew after each step.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "test/unit/storage/locks/locks_fixture.hpp"

namespace troupe::storage {
namespace {

using enum LockMode;

struct QueueModel {
  struct Pending {
    char who;
    LockMode mode;
    bool converts, overtakes, front;
  };
  std::map<char, LockMode> holders;
  std::vector<Pending> pending;  ///< conversions first

  bool isWaiting(char who) const {
    return std::any_of(pending.begin(), pending.end(), [&](const Pending& p) { return p.who == who; });
  }
  bool fits(const Pending& wanted) const {
    return std::all_of(holders.begin(), holders.end(),
                       [&](const auto& h) { return h.first == wanted.who || compatible(h.second, wanted.mode); });
  }
  void request(char who, LockMode mode, bool atFront, bool overtakes) {
    const bool converts = holders.count(who) > 0;
    if (converts) mode = combined(holders[who], mode);
    if (converts && mode == holders[who]) return;
    const Pending wanted{who, mode, converts, overtakes, atFront};
    // Conversions come first; within each kind those that go to the front.
    const auto rank = [](const Pending& p) { return (p.converts ? 0 : 2) + (p.front ? 0 : 1); };
    const auto place =
        std::find_if(pending.begin(), pending.end(), [&](const Pending& p) { return rank(p) > rank(wanted); });
    pending.insert(place, wanted);
    settle();
  }
  void end(char who) {
    holders.erase(who);
    cancel(who);
  }
  void cancel(char who) {
    std::erase_if(pending, [&](const Pending& p) { return p.who == who; });
    settle();
  }
  /// Grants the first request that may be granted, until none may.
  void settle() {
    const auto mayGo = [&](size_t i) {
      const Pending& p = pending[i];
      if (!fits(p)) return false;
      if (p.converts) return true;
      const bool isBehindX =
          std::any_of(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(i),
                      [](const Pending& b) { return !b.converts && b.front && b.mode == LockMode::kX; });
      return i == 0 || (p.overtakes && !isBehindX);
    };
    for (size_t i = 0; i < pending.size(); ++i) {
      if (!mayGo(i)) continue;
      holders[pending[i].who] = pending[i].mode;
      pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
      return settle();
    }
  }
  std::string shown() const {
    std::string text;
    for (const auto& [who, mode] : holders) text += std::string(1, who) + std::string(nameOf(mode)) + " ";
    text += ";";
    for (const Pending& p : pending) text += " " + std::string(1, p.who) + std::string(nameOf(p.mode));
    return text;
  }
};

std::string shownByManager(Locks& locks) {
  std::map<uint64_t, char> names;
  for (const auto& [name, locker] : locks.lockers) names[locker->id()] = name;
  std::map<char, LockMode> holders;
  std::string waiters;
  for (const ResourceView& view : locks.manager.inspect()) {
    for (const auto& h : view.granted) holders[names[h.locker]] = h.mode;
    for (const auto& w : view.pending) waiters += " " + std::string(1, names[w.locker]) + std::string(nameOf(w.mode));
  }
  std::string text;
  for (const auto& [who, mode] : holders) text += std::string(1, who) + std::string(nameOf(mode)) + " ";
  return text + ";" + waiters;
}

/// Only this may make a request fail at once: two holders would wait for each other to give up what they hold.
bool isConflictOfUpgrades(const Status& failure, const QueueModel& model, char who) {
  return failure == ErrorCode::kWriteConflict && model.holders.contains(who) &&
         std::any_of(model.pending.begin(), model.pending.end(),
                     [&](const auto& p) { return p.who != who && p.converts; });
}

RC_GTEST_PROP(LockQueue, GrantsWhatTheModelGrants, ()) {
  Locks locks;
  QueueModel model;
  const int steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    const char who = *rc::gen::inRange('a', 'g');
    const int action = *rc::gen::inRange(0, 10);
    if (model.isWaiting(who)) {
      if (action < 5) continue;
      if (action < 8) {
        locks.waits[who]->fail({ErrorCode::kInterrupted, ""});
        model.cancel(who);
      } else {
        locks.lockers.erase(who);
        model.end(who);
      }
    } else if (action < 3) {
      locks[who].releaseAll();
      model.end(who);
    } else {
      const LockMode mode = kHeldModes[*rc::gen::inRange<size_t>(0, 4)];
      const bool front = *rc::gen::inRange(0, 5) == 0, overtakes = *rc::gen::inRange(0, 5) == 0;
      locks.failures.erase(who);
      locks.mutex(who, mode, {.compatibleFirst = overtakes, .atFront = front && !overtakes});
      if (locks.failures.count(who) == 0 || locks.failures[who].isOK())
        model.request(who, mode, front && !overtakes, overtakes);
      else RC_ASSERT(isConflictOfUpgrades(locks.failures[who], model, who));
    }
    RC_ASSERT(shownByManager(locks) == model.shown());
  }
  locks.lockers.clear();
  RC_ASSERT(locks.manager.inUse() == 0u);
}

}  // namespace
}  // namespace troupe::storage
