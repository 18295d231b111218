#include "test/simulation/counter_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace troupe::sim {

void CounterModel::begin(int64_t number, bool removes) {
  forgetBranches();
  const size_t count = ways_.size();
  for (size_t i = 0; i < count; ++i) {
    Way way = ways_[i];
    const Found& last = way.back().found;
    State next{number, std::nullopt};
    if (!removes) next.found = Document{(last ? last->n : 0) + 1, number};
    way.push_back(next);
    ways_.push_back(std::move(way));
  }
}

template <class Holds>
bool CounterModel::keep(Holds holds) {
  if (std::ranges::none_of(ways_, holds)) return false;
  std::erase_if(ways_, [&](const Way& way) { return !holds(way); });
  forgetTrunk();
  return true;
}

/// What all ways have in common is certain.
void CounterModel::forgetTrunk() {
  const auto agree = [&](const State& state) {
    return std::ranges::all_of(ways_, [&](const Way& way) { return way.size() > 1 && way[1] == state; });
  };
  while (ways_[0].size() > 1 && agree(ways_[0][1])) {
    past_.push_back(ways_[0][0]);
    for (Way& way : ways_) way.erase(way.begin());
  }
}

/// Ways that part and come together again differ in nothing but what lies between, which is not worth more than a few
/// of them.
void CounterModel::forgetBranches() {
  const State last = ways_[0].back();
  if (ways_.size() <= 8 || std::ranges::any_of(ways_, [&](const Way& way) { return way.back() != last; })) return;
  for (const Way& way : ways_) past_.insert(past_.end(), way.begin(), way.end());
  ways_ = {{last}};
}

std::string CounterModel::failed(int64_t number) {
  if (keep([&](const Way& way) { return way.back().number != number; })) return {};
  return fmt::format("operation {} was refused, and a majority read has shown it", number);
}

std::string CounterModel::done(int64_t number, Tells tells, const Found& told) {
  const auto wasCarriedOut = [&](const Way& way) {
    if (way.back().number != number) return false;
    if (tells == Tells::kNothing) return true;
    if (tells == Tells::kAfter) return told == way.back().found;
    // A read may have shown the operation already, and with it what was before.
    return told == (way.size() > 1 ? way[way.size() - 2] : past_.back()).found;
  };
  if (keep(wasCarriedOut)) return remember(told);
  return fmt::format("operation {} was told {} where {} was possible", number, name(told), possible());
}

std::string CounterModel::shown(const Found& found, int64_t least) {
  const auto isIt = [&](const State& state) { return state.number >= least && state.found == found; };
  const bool isPast = std::ranges::any_of(past_, isIt);
  if (isPast || keep([&](const Way& way) { return std::ranges::any_of(way, isIt); })) return remember(found);
  const auto isOlder = [&](const State& state) { return state.found == found; };
  const bool isStale = std::ranges::any_of(past_, isOlder) ||
                       std::ranges::any_of(ways_, [&](const Way& way) { return std::ranges::any_of(way, isOlder); });
  if (isStale)
    return fmt::format("a majority read shows {}, and operation {} was acknowledged before it", name(found), least);
  return fmt::format("a majority read shows {}, which a majority never had: {} was possible", name(found), possible());
}

std::string CounterModel::left(const Found& found) {
  if (std::ranges::any_of(ways_, [&](const Way& way) { return way.back().found == found; })) return remember(found);
  return fmt::format("stands at {} instead of {}", name(found), possible());
}

std::string CounterModel::remember(const Found& found) {
  if (!found) return {};
  const auto [known, isNew] = times_.try_emplace(found->by, found->at);
  if (isNew || known->second == found->at) return {};
  return fmt::format("operation {} was seen by a majority as of {}, and then as of {}", found->by, known->second,
                     found->at);
}

std::string CounterModel::name(const Found& found) {
  return found ? fmt::format("{} by operation {}", found->n, found->by) : "nothing";
}

std::string CounterModel::possible() const {
  std::set<std::string> names;
  for (const Way& way : ways_)
    for (const State& state : way) names.insert(name(state.found));
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace troupe::sim
