#pragma once
#include "actors/replication/fetch_figures.hpp"
#include "actors/replication/oplog_applier.hpp"
#include "actors/replication/oplog_buffer.hpp"
#include "actors/replication/rollback_figures.hpp"

namespace troupe::replication {

/// The figures of a member that fetches, applies and rolls back: serverStatus and the metrics read them. Any thread.
struct MemberFigures {
  const OplogBuffer& buffer;
  const ApplyFigures& applied;
  const FetchFigures& fetched;
  const RollbackFigures& rolledBack;
};

}  // namespace troupe::replication
