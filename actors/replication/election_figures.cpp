#include "actors/replication/election_figures.hpp"

#include <algorithm>

#include "messaging/clock/shown_op_time.hpp"

namespace troupe::replication {

namespace {

using Phase = Topology::Phase;

bool beginsToCatchUp(const machines::Outcome<Topology>& outcome) {
  return std::any_of(outcome.effects.begin(), outcome.effects.end(), [](const auto& effect) {
    const auto* action = std::get_if<machines::Do<Topology>>(&effect);
    return action && std::holds_alternative<CatchUp>(action->action);
  });
}

}  // namespace

void ElectionFigures::count(const Snapshot<Topology>& before, const machines::Outcome<Topology>& outcome) {
  const Topology::Memory &was = before.memory, &is = outcome.next.memory;
  if (is.standing && is.standing != was.standing) {
    standing_ = is.standing;
    ++of(*standing_).called;
  }
  // An only voter stands and wins in one transition.
  const bool won = !leads(was.phase) && leads(is.phase);
  if (won && is.term > was.term && !was.standing) ++of(*(standing_ = ElectionReason::kOnlyVoter)).called;
  if (won && standing_) ++of(*standing_).successful;
  if (won) lastTransition_ = "stepUp";
  if (leads(was.phase) && !leads(is.phase)) {
    lastTransition_ = "stepDown";
    ++stepDowns_;
    stepDownsByHigherTerm_ += is.term > was.term ? 1 : 0;
  }
  if (stateOf(before) != MemberState::kSecondary && stateOf(outcome.next) == MemberState::kSecondary) ++timesSecondary_;
  countCatchUp(before, outcome);
}

/// A node votes for itself when it begins an election, and for another member when that asks. A document that was just
/// read tells of a vote before this start, of which nothing else is known.
void ElectionFigures::noteVote(const Snapshot<Topology>& before, const Snapshot<Topology>& now, bson::Date at) {
  const Topology::Document& is = now.document;
  if (before.document.self.empty() || before.document.lastVote == is.lastVote || !is.config) return;
  const MemberConfig* const self = is.config->member(is.self);
  const MemberConfig* const candidate = is.config->member(is.lastVote.candidate);
  if (!self || !candidate) return;
  Part& part = candidate == self ? candidacy_ : vote_;
  part = {.term = is.lastVote.term,
          .applied = now.memory.applied,
          .priority = self->priority,
          .votesNeeded = is.config->majority(),
          .timeoutMillis = Millis(is.config->settings.electionTimeoutMillis).count(),
          .candidate = candidate->id,
          .at = at};
}

void ElectionFigures::countCatchUp(const Snapshot<Topology>& before, const machines::Outcome<Topology>& outcome) {
  const Topology::Memory &was = before.memory, &is = outcome.next.memory;
  if (beginsToCatchUp(outcome)) {
    catchesUp_ = true;
    ++catchUps_;
  }
  if (is.phase == Phase::kDraining && was.phase != Phase::kDraining) {
    if (!catchesUp_) ++catchUpsSkipped_;
    else if (is.applied >= was.target) ++catchUpsSucceeded_;
    else ++catchUpsTimedOut_;
    catchesUp_ = false;
  } else if (is.phase != Phase::kCatchingUp) {
    catchUpsByNewTerm_ += catchesUp_ ? 1 : 0;
    catchesUp_ = false;
  }
}

void ElectionFigures::countOperations(int64_t killed, int64_t left) {
  killed_ = killed;
  left_ = left;
}

std::string_view ElectionFigures::lastReason() const {
  return standing_ ? machines::EnumNames<ElectionReason>::name(*standing_) : std::string_view();
}

void ElectionFigures::appendElections(bson::Builder& out) const {
  const auto append = [&](const char* name, const Tries& tries) {
    out.append(name, bson::doc("called", tries.called, "successful", tries.successful));
  };
  append("stepUpCmd", {of(ElectionReason::kStepUpCommand).called + of(ElectionReason::kHandoff).called,
                       of(ElectionReason::kStepUpCommand).successful + of(ElectionReason::kHandoff).successful});
  append("priorityTakeover", of(ElectionReason::kPriorityTakeover));
  append("catchUpTakeover", of(ElectionReason::kCatchUpTakeover));
  append("electionTimeout", of(ElectionReason::kElectionTimeout));
  append("freezeTimeout", of(ElectionReason::kOnlyVoter));
  out.append("numStepDownsCausedByHigherTerm", stepDownsByHigherTerm_).append("numStepDowns", stepDowns_);
  out.append("numCatchUps", catchUps_).append("numCatchUpsSucceeded", catchUpsSucceeded_);
  out.append("numCatchUpsAlreadyCaughtUp", catchUpsSkipped_).append("numCatchUpsTimedOut", catchUpsTimedOut_);
  out.append("numCatchUpsFailedWithNewTerm", catchUpsByNewTerm_);
}

void ElectionFigures::appendCandidacy(bson::Builder& out, int64_t term) const {
  if (candidacy_.term == 0 || candidacy_.term != term) return;
  out.append("lastSeenOpTimeAtElection", shownOpTime(candidacy_.applied));
  out.append("numVotesNeeded", candidacy_.votesNeeded).append("priorityAtElection", candidacy_.priority);
  out.append("electionTimeoutMillis", candidacy_.timeoutMillis);
}

/// A refusal is no vote: the last one that was given stays.
void ElectionFigures::appendLastVote(bson::Builder& out) const {
  if (vote_.term == 0) return;
  out.openDocument("electionParticipantMetrics").append("votedForCandidate", true);
  out.append("electionTerm", vote_.term).append("lastVoteDate", vote_.at);
  out.append("electionCandidateMemberId", vote_.candidate).append("voteReason", "");
  if (vote_.applied != OpTime{}) out.append("lastAppliedOpTimeAtElection", shownOpTime(vote_.applied));
  out.append("priorityAtElection", vote_.priority).close();
}

void ElectionFigures::appendStateTransitions(bson::Builder& out) const {
  out.append("lastStateTransition", lastTransition_)
      .append("totalOperationsKilled", killed_)
      .append("totalOperationsRunning", left_);
}

}  // namespace troupe::replication
