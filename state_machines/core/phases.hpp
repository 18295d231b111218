#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace troupe::machines {

/// A phase as people see it: in the tree, in documents, in diagrams. Texts are static.
template <class Phase>
struct PhaseRow {
  Phase phase;
  const char* name;
  const char* meaning;  ///< one line: what is true while it lasts
};

/// The phases of a machine, in the order in which they are usually gone through. Made by `phases`.
template <class Phase, size_t N>
struct PhaseList {
  std::array<PhaseRow<Phase>, N> rows;

  constexpr const PhaseRow<Phase>& operator[](Phase phase) const {
    for (const auto& row : rows)
      if (row.phase == phase) return row;
    throw "a phase is missing from its machine's list";  // in a constant expression: does not compile
  }
  constexpr std::optional<Phase> find(std::string_view name) const {
    for (const auto& row : rows)
      if (name == row.name) return row.phase;
    return std::nullopt;
  }
  constexpr auto begin() const { return rows.begin(); }
  constexpr auto end() const { return rows.end(); }
};

/// `static constexpr auto kPhases = phases<Phase>({{Phase::kOffering, "offering", "..."}, ...});`
template <class Phase, size_t N>
constexpr PhaseList<Phase, N> phases(const PhaseRow<Phase> (&rows)[N]) {
  PhaseList<Phase, N> list{};
  for (size_t i = 0; i < N; ++i) list.rows[i] = rows[i];
  return list;
}

}  // namespace troupe::machines
