#pragma once
#include <string>

#include "state_machines/replication/turn.hpp"

/// How a voter decides.
namespace troupe::replication {

/// Why this node does not vote for a candidate; empty: it does. (ELE-011 to ELE-016) The term was raised already.
std::string whyNoVote(const Turn& t, const VoteRequest& request);

/// Answers a candidate. A vote of a real election is persisted before the answer leaves, and is never given twice in a
/// term, also after a crash. (ELE-017)
void onVoteRequest(Turn& t, const VoteRequest& request);

}  // namespace troupe::replication
