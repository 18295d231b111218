#include "test/model/model.hpp"

#include <stdexcept>

namespace troupe::model {

namespace {
template <class Map, class Key>
auto* found(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}
}  // namespace

std::vector<machines::Invariant> Model::invariants() const {
  std::vector<machines::Invariant> all = invariants_;
  for (const auto& kind : kinds_)
    for (auto& invariant : kind->invariants()) all.push_back(std::move(invariant));
  std::erase_if(all, [this](const auto& invariant) { return invariant.name.find(only_) == std::string::npos; });
  return all;
}

const Model::Choices* Model::answersTo(std::type_index message) const { return found(answers_, message); }
const Model::Choices* Model::outcomesOf(std::type_index machine, std::type_index action) const {
  return found(outcomes_, Pair{machine, action});
}
const Model::Condition* Model::conditionOf(std::type_index machine, std::type_index timer) const {
  return found(conditions_, Pair{machine, timer});
}
const Model::Translation* Model::translation(std::type_index machine, std::type_index message) const {
  return found(translations_, Pair{machine, message});
}

int Model::findNode(const NodeName& node) const {
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i] == node) return static_cast<int>(i);
  return -1;
}

uint8_t Model::nodeNumber(const NodeName& node) {
  if (const int known = findNode(node); known >= 0) return static_cast<uint8_t>(known);
  nodes_.push_back(node);
  return static_cast<uint8_t>(nodes_.size() - 1);
}

uint8_t Model::slotOf(const NodeName& node, std::type_index machine) const {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (nodes_[slots_[i].node] == node && slots_[i].kind->type() == machine) return static_cast<uint8_t>(i);
  throw std::invalid_argument("the model has no such machine on node " + node);
}

}  // namespace troupe::model
