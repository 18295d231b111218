#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "messaging/version.hpp"

namespace troupe::server {

/// The server version whose behaviour drivers may expect.
inline constexpr std::string_view kServerVersion = "7.0.0";
inline constexpr int32_t kServerVersionParts[] = {7, 0, 0};
using troupe::kTroupeVersion;

std::string openSslVersion();

}  // namespace troupe::server
