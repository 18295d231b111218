#include "state_machines/replication/voting.hpp"

#include <fmt/format.h>

#include "state_machines/replication/member_views.hpp"
#include "state_machines/replication/roles.hpp"

namespace troupe::replication {

namespace {

bool seesAPrimaryAsGood(const Turn& t, const MemberConfig& candidate) {
  const NodeName primary = primaryOf(t.now());
  return !primary.empty() && primary != candidate.host && t.config().member(primary)->priority >= candidate.priority;
}

/// ELE-016: an arbiter keeps two nodes that can't see each other from taking turns as its primary. In a dry run that is
/// held for want of a primary, the other voters do the same: a member back from a partition asks for votes before
/// it has heard of the primary, and must not win. (ELE-007)
bool defendsItsPrimary(const Turn& t, const VoteRequest& request) {
  return t.self()->arbiterOnly || (request.dryRun && request.leaderless);
}

bool hasVotedIn(const Turn& t, const VoteRequest& request) {
  return t.doc.lastVote.term == request.term && t.doc.lastVote.candidate != request.from;
}

}  // namespace

bool isOfThisSet(const Topology::Document& self, const VoteRequest& request) {
  return request.setName == self.setName &&
         checkSameSet(request.from, self.setName, request.replicaSetId, self.replicaSetId()).isOK();
}

std::string whyNoVote(const Turn& t, const VoteRequest& request) {
  if (request.setName != t.doc.setName)  // ELE-013
    return fmt::format("the candidate's set is {}, mine is {}", request.setName, t.doc.setName);
  if (const Status same = checkSameSet(request.from, t.doc.setName, request.replicaSetId, t.replicaSetId());
      !same.isOK())
    return same.reason();
  if (!t.self()) return "I am not in my config";
  if (request.config != t.config().configVersion())  // ELE-012
    return fmt::format("the candidate's config has version {} and term {}, mine {} and {}", request.config.version,
                       request.config.term, t.config().version, t.config().term);
  const MemberConfig* candidate = t.config().member(request.from);
  if (!candidate || !candidate->isElectable()) return "the candidate can't be elected by my config";
  if (!t.self()->isVoter()) return "I have no vote";
  if (request.term < t.mem.term)  // ELE-011
    return fmt::format("the candidate's term {} is older than mine, {}", request.term, t.mem.term);
  if (!isPlausible(t, request.term)) return fmt::format("the term {} is none that elections lead to", request.term);
  if (request.applied < t.mem.applied) return "the candidate's data is older than mine";  // ELE-014
  if (!request.dryRun && hasVotedIn(t, request))                                          // ELE-015
    return fmt::format("I have voted for {} in term {}", t.doc.lastVote.candidate, request.term);
  if (defendsItsPrimary(t, request) && seesAPrimaryAsGood(t, *candidate))
    return "I see a primary of the same or a higher priority";
  return {};
}

void onVoteRequest(Turn& t, const VoteRequest& request) {
  if (isOfThisSet(t.doc, request)) {
    raiseTerm(t, request.term);
    hear(t, request.from, 0);
  }
  const std::string why = whyNoVote(t, request);
  if (why.empty() && !request.dryRun) t.doc.lastVote = {request.term, request.from};
  // Someone else is about to lead: to stand as well would only split the votes.
  if (why.empty() && t.mem.phase == Topology::Phase::kFollower) armElectionTimeout(t);
  t.send(request.from, VoteReply{t.doc.self, t.mem.term, request.dryRun, why.empty(), why, t.replicaSetId()});
}

}  // namespace troupe::replication
