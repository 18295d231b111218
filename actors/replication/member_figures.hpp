#pragma once
#include "actors/replication/fetch_figures.hpp"
#include "actors/replication/oplog_applier.hpp"
#include "actors/replication/oplog_buffer.hpp"

namespace troupe::replication {

/// The figures of a member that fetches and applies: serverStatus and the metrics read them. Any thread.
struct MemberFigures {
  const OplogBuffer& buffer;
  const ApplyFigures& applied;
  const FetchFigures& fetched;
};

}  // namespace troupe::replication
