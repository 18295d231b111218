#pragma once
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Checks the configuration that a client gives for the tables of a collection, in the engine's own words. Errors:
/// BadValue, FailedToParse (a NUL byte).
Status checkTableConfig(std::string_view config);

}  // namespace troupe::storage
