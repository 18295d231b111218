#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::commands {

/// The server version whose behaviour drivers may expect, and this project's own.
inline constexpr std::string_view kServerVersion = "7.0.0";
inline constexpr int32_t kServerVersionParts[] = {7, 0, 0};
inline constexpr std::string_view kTroupeVersion = "0.1.0";

std::string openSslVersion();

}  // namespace troupe::commands
