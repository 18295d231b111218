#pragma once
#include <filesystem>
#include <string>

#include "messaging/errors/status.hpp"

namespace troupe::auth {

/// Reads the key that the nodes of a cluster share: 6 to 1024 base64 characters, white space ignored. The text itself
/// is the secret (the password of the internal user), it is not decoded. Errors: FileNotOpen; BadValue: readable by
/// group or others, too short or long, other characters.
StatusWith<std::string> readKeyFile(const std::filesystem::path& path);

}  // namespace troupe::auth
