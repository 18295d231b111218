#pragma once
#include "state_machines/replication/turn.hpp"

/// From the election to the first write.
namespace troupe::replication {

/// Elected: announces itself to all with a round of heartbeats (ELE-018) and waits for the answers, to learn which
/// members have applied more. No writes yet (ELE-021).
void win(Turn& t);

/// A member has answered the round.
void onRoundAnswer(Turn& t, const NodeName& host);
/// A member will hardly answer it.
void onMemberGone(Turn& t, const NodeName& host);
/// Enough waited for answers.
void onCatchUpRoundOver(Turn& t, const CatchUpRoundOver&);

/// ELE-019, ELE-020: the target was reached, cannot be, or took too long; in no case does the node step down for it.
void onAppliedAdvanced(Turn& t, const AppliedAdvanced& report);
void onCatchUpDone(Turn& t, const CatchUpDone& report);
void onCatchUpTimeout(Turn& t, const CatchUpTimeout&);
/// REP-038: other members are told when.
void onElected(Turn& t, const Elected& report);
/// ELE-022: all that was fetched is applied; writes may come.
void onDrainDone(Turn& t, const DrainDone& report);

}  // namespace troupe::replication
