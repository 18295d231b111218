#pragma once
#include <string>

#include "state_machines/replication/turn.hpp"

/// How a voter decides.
namespace troupe::replication {

/// Whether a candidate may be of this node's set, by name and id. Of another one's nothing is taken in, nor is its
/// term.
bool isOfThisSet(const Topology::Document& self, const VoteRequest& request);

/// Why this node does not vote for a candidate; empty: it does. (ELE-011 to ELE-016) The term was raised already.
std::string whyNoVote(const Turn& t, const VoteRequest& request);

/// Answers a candidate. A vote of a real election is persisted before the answer leaves, and is never given twice in a
/// term, also after a crash. (ELE-017)
void onVoteRequest(Turn& t, const VoteRequest& request);

}  // namespace troupe::replication
