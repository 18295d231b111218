#include "state_machines/core/diagram.hpp"

#include <string>
#include <utility>

namespace troupe::machines {

namespace {

/// Phases are named freely; diagrams want identifiers.
std::string identifier(const char* phase) {
  std::string out;
  for (const char* c = phase; *c; ++c) out += (*c == ' ' || *c == '-') ? '_' : *c;
  return out;
}

/// One arrow for each pair of phases, with the events that lead along it. Null stands for the end.
std::vector<std::pair<std::pair<const char*, const char*>, std::string>> arrows(const MachineOutline& outline) {
  std::vector<std::pair<std::pair<const char*, const char*>, std::string>> all;
  auto add = [&](const char* from, const char* to, const char* event) {
    for (auto& [ends, events] : all) {
      if (ends.first != from || ends.second != to) continue;
      events += std::string(", ") + event;
      return;
    }
    all.push_back({{from, to}, event});
  };
  for (const auto& row : outline.rows)
    for (const char* target : row.targets) {
      if (row.from) {
        add(row.from, target, row.event);
        continue;
      }
      for (const auto& phase : outline.phases)
        if (phase.name != target) add(phase.name, target, row.event);
    }
  return all;
}

std::string joined(const std::vector<const char*>& targets) {
  std::string out;
  for (const char* target : targets) out += (out.empty() ? "" : ", ") + std::string(target ? target : "(end)");
  return out.empty() ? "stays" : out;
}

}  // namespace

const MachineOutline::Phase* MachineOutline::phase(std::string_view phaseName) const {
  for (const Phase& phase : phases)
    if (phaseName == phase.name) return &phase;
  return nullptr;
}

std::string toMermaid(const MachineOutline& outline, std::string_view current) {
  std::string out = "stateDiagram-v2\n";
  for (const auto& phase : outline.phases) out += "  " + identifier(phase.name) + " : " + phase.name + "\n";
  if (!outline.phases.empty()) out += "  [*] --> " + identifier(outline.phases.front().name) + "\n";
  for (const auto& [ends, events] : arrows(outline))
    out += "  " + identifier(ends.first) + " --> " + (ends.second ? identifier(ends.second) : "[*]") + " : " + events +
           "\n";
  if (const auto* lit = outline.phase(current)) {
    out += "  classDef current fill:#2b7,color:#fff\n";
    out += "  class " + identifier(lit->name) + " current\n";
  }
  return out;
}

std::string toDot(const MachineOutline& outline, std::string_view current) {
  std::string out = "digraph \"" + std::string(outline.name) + "\" {\n  node [shape=box, style=rounded];\n";
  for (const auto& phase : outline.phases) {
    out += "  " + identifier(phase.name) + " [label=\"" + phase.name + "\", tooltip=\"" + phase.meaning + "\"";
    if (current == phase.name) out += ", style=\"rounded,filled\", fillcolor=\"#22bb77\"";
    out += "];\n";
  }
  out += "  end [shape=doublecircle, label=\"\"];\n";
  for (const auto& [ends, events] : arrows(outline))
    out += "  " + identifier(ends.first) + " -> " + (ends.second ? identifier(ends.second) : "end") + " [label=\"" +
           events + "\"];\n";
  return out + "}\n";
}

std::string toMarkdown(const MachineOutline& outline) {
  std::string out = "| phase | meaning |\n|---|---|\n";
  for (const auto& phase : outline.phases) out += "| " + std::string(phase.name) + " | " + phase.meaning + " |\n";
  out += "\n| in phase | on | goes to |\n|---|---|---|\n";
  for (const auto& row : outline.rows)
    out += "| " + std::string(row.from ? row.from : "any") + " | " + row.event + " | " + joined(row.targets) + " |\n";
  return out;
}

}  // namespace troupe::machines
