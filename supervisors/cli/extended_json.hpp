#pragma once
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// Reads one document of Extended JSON, canonical or relaxed, with every BSON type (bson::fromJson refuses two of
/// them). Errors: FailedToParse.
StatusWith<bson::Document> parseExtendedJson(std::string_view json);

}  // namespace troupe::supervisors
