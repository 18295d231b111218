#pragma once
#include <cstdint>
#include <vector>

#include "test/model/flat_map.hpp"
#include "test/model/space.hpp"

namespace troupe::model {

/// The states that an exploration has met, by number in the order of discovery. States are told apart by 64 bits of
/// hash. On an everlasting network a state is as good as met if one was met with the same machines and more assets
/// (Space::assets): every behaviour of the one is a behaviour of the other.
class Visited {
 public:
  struct Row {
    uint32_t parent;
    uint16_t ordinal;     ///< among the successors of the parent
    uint16_t edges : 13;  ///< transitions that are no faults
    uint16_t goal : 1;    ///< reached here
    uint16_t open : 1;    ///< a transition leads beyond the bounds
    uint16_t dead : 1;    ///< a state with more messages, as near to the beginning, stands for it
  };
  static_assert(sizeof(Row) == 8);

  Visited(const Space& space, bool sets) : space_(space), sets_(sets) {}

  /// The state that stands for this one, or kNone.
  uint32_t find(const State& state) {
    if (!sets_) return index_.find(keyOf(state));
    const uint64_t hash = state.hash();
    uint32_t at = answers_.find(hash);
    if (at != FlatMap::kNone) return at;
    space_.assets(state, wanted_);
    at = index_.find(keyOf(state));
    while (at != FlatMap::kNone && !holds(at)) at = chains_[at];
    if (at != FlatMap::kNone) answers_.insert(hash, at);
    return at;
  }
  /// Of a state that was just looked for and wasn't found. States from number `since` on are as far from the beginning.
  uint32_t add(const State& state, const Row& row, uint32_t since) {
    const auto number = static_cast<uint32_t>(rows_.size());
    const uint64_t key = keyOf(state);
    rows_.push_back(row);
    if (!sets_) {
      index_.insert(key, number);
      return number;
    }
    answers_.insert(state.hash(), number);
    space_.assets(state, wanted_);
    const uint32_t first = index_.find(key);
    for (uint32_t at = first; at != FlatMap::kNone && at >= since; at = chains_[at])
      if (isWithin(at)) rows_[at].dead = 1;
    chains_.push_back(first);
    assetsAt_.push_back(static_cast<uint32_t>(assets_.size()));
    assets_.push_back(static_cast<uint32_t>(wanted_.size()));
    for (const uint32_t word : wanted_) assets_.push_back(word);
    if (first == FlatMap::kNone) index_.insert(key, number);
    else index_.replace(key, number);
    return number;
  }
  Row& operator[](size_t number) { return rows_[number]; }
  const Row& operator[](size_t number) const { return rows_[number]; }
  size_t size() const { return rows_.size(); }
  /// How many states were told apart by their hashes.
  size_t hashed() const { return sets_ ? answers_.size() : rows_.size(); }
  size_t bytes() const {
    return index_.bytes() + answers_.bytes() + rows_.bytes() + chains_.bytes() + assets_.bytes() + assetsAt_.bytes();
  }

 private:
  uint64_t keyOf(const State& state) const { return sets_ ? space_.placeKey(state) : state.hash(); }
  /// Whether the assets of that state contain the wanted ones.
  bool holds(uint32_t number) const {
    const uint32_t begin = assetsAt_[number] + 1, size = assets_[begin - 1];
    for (uint32_t at = 0; at < wanted_.size(); ++at)
      if (wanted_[at] & ~(at < size ? assets_[begin + at] : 0)) return false;
    return true;
  }
  bool isWithin(uint32_t number) const {
    const uint32_t begin = assetsAt_[number] + 1, size = assets_[begin - 1];
    for (uint32_t at = 0; at < size; ++at)
      if (assets_[begin + at] & ~(at < wanted_.size() ? wanted_[at] : 0)) return false;
    return true;
  }

  const Space& space_;
  const bool sets_;
  FlatMap index_;    ///< from hashes to numbers; of sets: to the newest one of those that differ in their assets
  FlatMap answers_;  ///< of sets: what stands for a state, by its hash, so that the chain is walked once for each
  Chunked<Row> rows_;
  Chunked<uint32_t> chains_;             ///< of sets: to the next older one
  Chunked<uint32_t> assets_, assetsAt_;  ///< of sets: after their number of words, and where they begin
  std::vector<uint32_t> wanted_;
};

}  // namespace troupe::model
