#pragma once
#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

// Stages and options refused under apiStrict with API version 1, besides whole commands and their arguments.
// The failures are APIStrictError.

/// Stages of a pipeline, those within $lookup, $unionWith and $facet too.
Status checkStagesInStableApi(bson::View stages);
/// One specification of createIndexes.
Status checkIndexInStableApi(bson::View specification);

}  // namespace troupe::server
