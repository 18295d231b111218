#pragma once
#include <cstdint>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

class Request;

/// The members of a replica set that a client wants to read from.
enum class ReadMode : uint8_t { kPrimary, kPrimaryPreferred, kSecondary, kSecondaryPreferred, kNearest };

/// The mode of a read preference, all of which is checked. The other fields are for those who choose a member, and a
/// member that was chosen has no use for them; fields that newer clients may add are accepted. Errors:
/// MissingRequiredField (no mode), TypeMismatch, FailedToParse (an unknown mode; tags or a staleness beside `primary`),
/// MaxStalenessOutOfRange.
StatusWith<ReadMode> parseReadPreference(bson::View preference);

/// Checks the read preference of a request and keeps its mode (Request::readMode). Errors: those of
/// parseReadPreference.
Status takeReadPreference(Request& request);

}  // namespace troupe::server
