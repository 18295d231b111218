#include "actors/replication/rollback_figures.hpp"

#include "actors/replication/rollback_actor.hpp"

namespace troupe::replication {

RollbackFigures::Values RollbackFigures::get() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

void RollbackFigures::note(const RollbackSummary& done) {
  const std::lock_guard lock(mutex_);
  ++values_.rollbacks;
  values_.entries += done.undone;
  values_.savedDocuments += done.savedDocuments;
}

}  // namespace troupe::replication
