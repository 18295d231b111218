#pragma once
#include <cstdint>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

class Request;

/// The members of a replica set that a client wants to read from.
enum class ReadMode : uint8_t { kPrimary, kPrimaryPreferred, kSecondary, kSecondaryPreferred, kNearest };

/// Checks all of a read preference and returns its mode. Tags, staleness and hedging steer the choice of a member,
/// which the client has made by then, so they are not kept; unknown fields are accepted. Errors: MissingRequiredField
/// (no mode), TypeMismatch, FailedToParse (an unknown mode; tags or a staleness beside `primary`),
/// MaxStalenessOutOfRange.
StatusWith<ReadMode> parseReadPreference(bson::View preference);

/// Checks the read preference of a request and keeps its mode (Request::readMode). Errors: those of
/// parseReadPreference.
Status takeReadPreference(Request& request);

}  // namespace troupe::server
