#pragma once
#include "state_machines/replication/fetching.hpp"
#include "test/model/model.hpp"

namespace troupe::model {

/// Member n1 of a set in which p leads and s is a nearer secondary. What the members have and how a fetch ends is left
/// open: everything may come of each action, at any time. The entries themselves are not there: that each follows the
/// one before is for the tests of the actor.
struct FetchingModel {
  replication::Mission mission = replication::Mission::kFollow;  ///< with which it begins
  bool commands = true;   ///< it is told to stop, to follow, to catch up and whom to sync from, any number of times
  bool emptyLog = false;  ///< n1 has no entry
};

/// Its goal: n1 fetches from the primary as a secondary does.
Model fetchingOf(const FetchingModel& options);
/// Everything goes well, but that s turns out to have less than n1.
Model fetchingFromTheSecondChoice();
/// n1 is about to lead, and both others have more than it and give nothing: some do not answer, some send no entry. Its
/// goal: the catch-up is told to end.
Model catchUpFromSilentSources();
/// The same, and they answer with errors.
Model catchUpFromFailingSources();
bool followsThePrimary(const machines::World& world);

}  // namespace troupe::model
