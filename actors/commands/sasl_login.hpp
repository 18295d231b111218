#pragma once
#include "actors/server/request.hpp"

namespace troupe::commands {
using namespace server;

/// hello's `saslSupportedMechs: "db.user"`: the mechanisms the user has credentials for.
void appendSaslMechanisms(Request& request);
/// hello's `speculativeAuthenticate`: begins a log-in within the handshake. A failure is silent: the driver then logs
/// in the ordinary way.
Task<void> speculativeLogin(Request& request, bson::View command);

}  // namespace troupe::commands
