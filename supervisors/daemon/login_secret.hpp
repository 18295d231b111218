#pragma once
#include <string>
#include <string_view>

#include "messaging/auth/random.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// What makes the decoy credentials of users that do not exist (auth::decoyCredentials). A real user's salt stays the
/// same over restarts, and is the same on each member of a set: so have those of decoys to be.

/// Derived from the key that the members share.
std::string loginSecretOfKey(std::string_view key);
/// Of a server without a key: kept in the file `troupe.secret` of the data directory, which is made where it is missing
/// or cannot be read. Requires the directory's lock. Errors: those of writing it.
StatusWith<std::string> loginSecretKeptIn(const std::string& directory, const auth::RandomSource& random);

}  // namespace troupe::supervisors
