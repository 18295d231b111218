#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "state_machines/replication/topology.hpp"

namespace troupe::replication {

/// Counters of a member's elections and step-downs since its start (ELE-036), as serverStatus shows them. A value.
class ElectionFigures {
 public:
  /// Counts the election, step-down or catch-up in one transition of the topology machine.
  void count(const Snapshot<Topology>& before, const machines::Outcome<Topology>& outcome);
  /// The node has gone from one state to the next: remembers its vote, if it gave one. `at`: by its clock.
  void noteVote(const Snapshot<Topology>& before, const Snapshot<Topology>& now, bson::Date at);
  /// Operations that a change of role has ended, and that went on.
  void countOperations(int64_t killed, int64_t left);

  /// Why it stood last, as replSetGetStatus names it; empty: it never did.
  std::string_view lastReason() const;
  /// How often it became a secondary.
  int64_t timesSecondary() const { return timesSecondary_; }
  /// `electionMetrics` of serverStatus.
  void appendElections(bson::Builder& out) const;
  /// Fields of `electionCandidateMetrics` in replSetGetStatus of the primary of this term: as they were when it asked
  /// for votes.
  void appendCandidacy(bson::Builder& out, int64_t term) const;
  /// `electionParticipantMetrics` of replSetGetStatus: the last vote that it gave to another member. Nothing if it gave
  /// none.
  void appendLastVote(bson::Builder& out) const;
  /// `metrics.repl.stateTransition` of serverStatus.
  void appendStateTransitions(bson::Builder& out) const;

 private:
  struct Tries {
    int64_t called = 0, successful = 0;
  };
  static constexpr size_t kReasons = 6;
  /// Its own part in an election: as the candidate, or as a voter for another member.
  struct Part {
    int64_t term = 0;  ///< 0: there was none
    OpTime applied;
    double priority = 0;
    int32_t votesNeeded = 0;    ///< as the candidate
    int64_t timeoutMillis = 0;  ///< likewise
    int32_t candidate = 0;      ///< as a voter: the member's id
    bson::Date at;              ///< likewise
  };

  Tries& of(ElectionReason reason) { return tries_[static_cast<size_t>(reason)]; }
  const Tries& of(ElectionReason reason) const { return tries_[static_cast<size_t>(reason)]; }
  void countCatchUp(const Snapshot<Topology>& before, const machines::Outcome<Topology>& outcome);

  std::array<Tries, kReasons> tries_{};
  std::optional<ElectionReason> standing_;  ///< why it stands, or stood last
  int64_t stepDownsByHigherTerm_ = 0, stepDowns_ = 0;
  int64_t catchUps_ = 0, catchUpsSucceeded_ = 0, catchUpsSkipped_ = 0, catchUpsTimedOut_ = 0, catchUpsByNewTerm_ = 0;
  int64_t timesSecondary_ = 0;
  Part candidacy_, vote_;
  bool catchesUp_ = false;  ///< a catch-up is under way
  const char* lastTransition_ = "";
  int64_t killed_ = 0, left_ = 0;
};

}  // namespace troupe::replication
