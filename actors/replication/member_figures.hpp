#pragma once
#include "actors/replication/fetch_figures.hpp"
#include "actors/replication/oplog_applier.hpp"
#include "actors/replication/oplog_buffer.hpp"

namespace troupe::replication {

/// Where the figures of a member's following are kept, for those who show them. Any thread.
struct MemberFigures {
  const OplogBuffer& buffer;
  const ApplyFigures& applied;
  const FetchFigures& fetched;
};

}  // namespace troupe::replication
