#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

// In the place of a node's name: the node that is the primary of a replica set when a message is sent. No node can be
// called so: a name of a node has a port.

/// "@rs0"
inline std::string primaryOf(std::string_view set) { return "@" + std::string(set); }
/// The set, if the name is not a node's own but stands for a primary.
inline std::optional<std::string_view> setOfPrimary(std::string_view node) {
  if (node.empty() || node.front() != '@') return std::nullopt;
  return node.substr(1);
}

}  // namespace troupe
