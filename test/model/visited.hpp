#pragma once
#include <cstdint>

#include "test/model/flat_map.hpp"
#include "test/model/space.hpp"

namespace troupe::model {

/// The states that an exploration has met, by number in the order of discovery. States are told apart by 64 bits of hash.
/// On an everlasting network a state is as good as met if one was met that differs only in having more messages.
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

  Visited(bool sets, uint32_t netAt) : sets_(sets), netAt_(netAt) {}

  /// The state that stands for this one, or kNone.
  uint32_t find(const State& state) const {
    uint32_t at = index_.find(keyOf(state));
    if (!sets_) return at;
    while (at != FlatMap::kNone && !holds(at, state)) at = chains_[at];
    return at;
  }
  /// Of a state that wasn't found. States from number `since` on are as far from the beginning as it.
  uint32_t add(const State& state, const Row& row, uint32_t since) {
    const auto number = static_cast<uint32_t>(rows_.size());
    rows_.push_back(row);
    if (!sets_) {
      index_.insert(keyOf(state), number);
      return number;
    }
    const uint32_t first = index_.find(keyOf(state));
    for (uint32_t at = first; at != FlatMap::kNone && at >= since; at = chains_[at])
      if (isWithin(at, state)) rows_[at].dead = 1;
    chains_.push_back(first);
    netsAt_.push_back(static_cast<uint32_t>(nets_.size()));
    nets_.push_back(state.size() - netAt_);
    for (uint32_t at = netAt_; at < state.size(); ++at) nets_.push_back(state[at]);
    if (first == FlatMap::kNone) index_.insert(keyOf(state), number);
    else index_.replace(keyOf(state), number);
    return number;
  }
  Row& operator[](size_t number) { return rows_[number]; }
  const Row& operator[](size_t number) const { return rows_[number]; }
  size_t size() const { return rows_.size(); }
  size_t bytes() const { return index_.bytes() + rows_.bytes() + chains_.bytes() + nets_.bytes() + netsAt_.bytes(); }

 private:
  uint64_t keyOf(const State& state) const { return sets_ ? state.hash(netAt_) : state.hash(); }
  /// Whether the messages of that state contain those of the other one.
  bool holds(uint32_t number, const State& state) const {
    const uint32_t begin = netsAt_[number] + 1, size = nets_[begin - 1];
    if (state.size() - netAt_ > size) return false;
    for (uint32_t at = 0; at < state.size() - netAt_; ++at)
      if (state[netAt_ + at] & ~nets_[begin + at]) return false;
    return true;
  }
  bool isWithin(uint32_t number, const State& state) const {
    const uint32_t begin = netsAt_[number] + 1, size = nets_[begin - 1];
    if (state.size() - netAt_ < size) return false;
    for (uint32_t at = 0; at < size; ++at)
      if (nets_[begin + at] & ~state[netAt_ + at]) return false;
    return true;
  }

  const bool sets_;
  const uint32_t netAt_;
  FlatMap index_;  ///< from hashes to numbers; of sets: to the newest one of those that differ in their messages
  Chunked<Row> rows_;
  Chunked<uint32_t> chains_;         ///< of sets: to the next older one
  Chunked<uint32_t> nets_, netsAt_;  ///< of sets: the messages after their number of words, and where they begin
};

}  // namespace troupe::model
