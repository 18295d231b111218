#pragma once
#include "state_machines/replication/initial_sync.hpp"
#include "test/model/model.hpp"

namespace troupe::model {

/// Member n1 without data, in a set in which p leads and s is a nearer secondary. Everything may come of each action:
/// sources fail, roll back, or have a log that ends too early. What is copied is not there: that the copy and the log
/// together give the source's data is for the tests of the actor.
replication::BeginningFound beginningAt(uint32_t fetching, uint32_t applying);

struct InitialSyncAnswers {
  bool fails = true;      ///< each attempt may fail wherever it is
  bool isMarked = false;  ///< it finds the mark of an earlier life; else it is told to begin, any number of times
  bool hasData = false;   ///< it is too stale, and may find no source
};
/// Its goal: n1 has its data, or has given up.
Model initialSyncs(const InitialSyncAnswers& answers = {});
/// It finds the mark. The source of its first attempt has rolled back, the second attempt succeeds.
Model initialSyncWithASecondAttempt();
bool hasItsData(const machines::World& world);

}  // namespace troupe::model
