#pragma once
#include <string>
#include <vector>

#include "test/model/space.hpp"

namespace troupe::model {

/// Tells histories of a model as interaction scripts: commands at the margin, what they bring about indented.
///
///     timeout n1 ElectionTimeout
///       n1         : candidate, term=2 votedFor=n1 (journaled)
///       n1 -> n2     VoteRequest term=2 candidate=n1
class Narrator {
 public:
  explicit Narrator(Space& space) : space_(space) {}

  /// How all machines begin, and each step.
  std::string story(const State& first, const std::vector<Happening>& way);
  /// The event, as the command that makes it happen again: "deliver n1 n2 VoteRequest", "timeout n1
  /// ElectionTimeout".
  std::string command(const State& before, const Action& action) const;
  /// Its effects, as indented lines.
  std::string consequences(const Happening& happening);
  /// The initial states of all machines.
  std::string beginning(const State& state) const;
  /// "n1 -> n2     VoteRequest term=2".
  std::string message(FlightId flight) const;

 private:
  const std::string& nodeName(uint8_t node) const { return space_.model().nodes()[node]; }
  std::string who(uint8_t slot) const;
  /// "VoteRequest{term=2, candidate=n1}" -> "VoteRequest term=2 candidate=n1".
  std::string plain(const std::string& text) const;
  /// The fields of `after` that are not the same in `before` (if that is empty: those that say something); without the
  /// phase, which is told by its name.
  std::string changedFields(const std::string& before, const std::string& after) const;
  bool isHidden(const std::string& field) const;
  std::string answersToClient(const StepResult& result, uint8_t node) const;
  std::string change(const Happening& happening, uint8_t slot);

  Space& space_;
};

}  // namespace troupe::model
