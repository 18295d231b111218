#pragma once
#include <cstddef>
#include <vector>

#include "actors/server/request.hpp"
#include "actors/server/session_access.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::commands {
using namespace server;

/// After so many sessions a command gives way to others.
inline constexpr size_t kSessionsAtOnce = 1000;

/// The documents in the command's own array. Errors: TypeMismatch.
StatusWith<std::vector<bson::View>> documentsOf(const Request& request, std::string_view what);
/// The sessions in the command's own array; each has an id. Errors: also those of SessionKey::idOf.
StatusWith<std::vector<bson::View>> namedSessions(const Request& request);

}  // namespace troupe::commands
