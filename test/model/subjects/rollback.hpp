#pragma once
#include "state_machines/replication/rollback.hpp"
#include "test/model/model.hpp"

namespace troupe::model {

/// Answers of the node around a rollback, one of which comes.
struct RollbackAnswers {
  std::vector<replication::Rollback::Event> comparing;  ///< empty: two common points, and a source that fails
  bool fails = true;                                    ///< each of its works may fail
  bool isTaken = true;  ///< it may have become primary before it enters the state ROLLBACK
};

/// The member n1, whose fetcher finds `times` times that its log has left that of n2.
Model rollbacks(RollbackAnswers answers = {}, int times = 2);

/// What a comparison of logs gives: entries 1 to `newest` are here, those up to `committed` are committed.
replication::CommonPointFound commonPointAt(uint32_t common, uint32_t newest, uint32_t committed);

}  // namespace troupe::model
