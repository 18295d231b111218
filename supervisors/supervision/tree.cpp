#include "supervisors/supervision/tree.hpp"

namespace troupe::supervisors {

ChildSpec::ChildSpec(Tree t) {
  rules.name = t.name;
  rules.restart = t.restart;
  // A supervisor needs the time its children may take, one after the other.
  rules.grace = std::chrono::seconds(1);
  for (const auto& child : t.children) rules.grace += child.rules.grace;
  tree = std::make_shared<const Tree>(std::move(t));
}

}  // namespace troupe::supervisors
