#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/namespace.hpp"

namespace troupe::maintenance {

// What is said to IndexBuilds (kIndexBuildsPath); local payloads.

/// A client wants indexes on a collection that exists: begins a build, or joins the one that makes the same indexes.
/// Answered with BuildOutcome when the build has ended. An answer that is an error is not of a build: IndexBuilds is
/// not there, or stops.
struct BuildIndexes {
  bson::Uuid collection;
  storage::Namespace ns;              ///< its name when this was sent
  std::vector<bson::Document> specs;  ///< elements of createIndexes.indexes, checked
  int64_t waiter = 0;                 ///< id of the operation that waits
};
struct IndexesBuilt {
  int32_t before = 0, after = 0;  ///< indexes of the collection; equal: all of them existed
  OpTime lastOpTime;              ///< of the build's last write
};
struct BuildOutcome {
  StatusWith<IndexesBuilt> indexes;
};

/// The operation has ended before its answer came. A build that nobody waits for any more is aborted.
struct StopWaiting {
  int64_t waiter = 0;
};

/// Ends builds of a collection with `why`, which their clients are told. Answered with BuildsEnded when none of them
/// runs any more.
struct AbortBuilds {
  bson::Uuid collection;           ///< zero: all that are replicated
  std::vector<bson::Uuid> builds;  ///< empty: all of the collection
  Status why;
};
/// Answered with BuildsEnded when these builds have ended.
struct AwaitBuilds {
  std::vector<bson::Uuid> builds;
};
struct BuildsEnded {
  size_t found = 0;  ///< so many of them ran when they were asked for
};

/// From a build to IndexBuilds, before other operations can act on its outcome: from now on a request for the same
/// indexes gets a build of its own.
struct BuildDecided {
  bson::Uuid build;
};
/// From a build to IndexBuilds, as its last message.
struct BuildDone {
  bson::Uuid build;
  StatusWith<IndexesBuilt> outcome;
};

inline constexpr const char* kIndexBuildsPath = "/node/services/index-builds";

}  // namespace troupe::maintenance
