#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "state_machines/core/machine.hpp"

namespace troupe::machines {

/// Outline of a machine for display: its phases and its table, without its types. Texts are static.
struct MachineOutline {
  struct Phase {
    const char* name;
    const char* meaning;
  };
  struct Row {
    const char* from;  ///< null: any phase
    const char* event;
    std::vector<const char*> targets;  ///< null among them: the end; empty: it stays
  };
  const char* name = "";
  std::vector<Phase> phases;
  std::vector<Row> rows;

  /// Null if the machine has no such phase.
  const Phase* phase(std::string_view phaseName) const;
};

template <MachineType M>
MachineOutline outlineOf() {
  MachineOutline outline;
  outline.name = M::kName;
  for (const auto& row : M::kPhases) outline.phases.push_back({row.name, row.meaning});
  for (const auto& row : M::transitions()) {
    MachineOutline::Row shown{row.from ? M::kPhases[*row.from].name : nullptr, row.eventName, {}};
    for (const auto& target : row.targets)
      shown.targets.push_back(target.phase ? M::kPhases[*target.phase].name : nullptr);
    outline.rows.push_back(std::move(shown));
  }
  return outline;
}

/// A Mermaid state diagram. `current` (a phase's name, or empty) is lit.
std::string toMermaid(const MachineOutline& outline, std::string_view current = {});
/// The same for Graphviz.
std::string toDot(const MachineOutline& outline, std::string_view current = {});
/// Markdown: the list of phases with their meanings, and the table of transitions.
std::string toMarkdown(const MachineOutline& outline);

}  // namespace troupe::machines
